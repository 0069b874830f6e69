"""The two answers, the words that people use for them, and who gave one as a label, under which id.

Other texts are allowed as a source, and are no more than names.
"""

import math
import re
from typing import Final, Literal

from acegraph.state.errors import InvalidInput, InvalidTransaction, quoted
from acegraph.state.values.plain import clean_text

Verdict = Literal["APPROVE", "DECLINE"]
APPROVE: Final = "APPROVE"
DECLINE: Final = "DECLINE"
UNDECIDED: Final = "UNDECIDED"
"""The decision of a run that came to no verdict."""
_APPROVED = frozenset("approve approved accept accepted allow allowed".split())
_DECLINED = frozenset("decline declined deny denied reject rejected block blocked".split())
_APPROVE_WORDS = _APPROVED.union(
    "legit legitimate genuine good normal safe "
    "valid non-fraud nonfraud not_fraud no false 0 0.0".split()
)
_DECLINE_WORDS = _DECLINED.union("fraud fraudulent bad suspicious yes true 1 1.0".split())

GIVEN_LABEL: Final = "label"
"""The label came with the transaction, or its giver is not named."""
JUDGE: Final = "judge"
"""The label is a model's opinion: weaker than any other label, and never part of a backtest."""
NO_CHARGEBACK: Final = "no_chargeback"
"""The label is the absence of a complaint: it proves nothing where the payment was declined."""
ANALYST: Final = "analyst:"
"""A person gave the label; the name of the person follows."""
_KIND: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,59}")
_SOURCE: Final = re.compile(
    rf"{_KIND.pattern}(@[A-Za-z0-9_-]{{1,64}})?|{ANALYST}[A-Za-z0-9][A-Za-z0-9 ._@+-]{{0,99}}"
)
_MAX_ID: Final = 200
BY_ITSELF: Final = ("curator", "offline", "online")
"""The signatures of changes that no person made: the curator, or the source of a learned bullet."""


def parse_verdict(word: object) -> Verdict:
    """APPROVE or DECLINE from a label as data sets write it; anything else is refused.

    >>> parse_verdict(" decline "), parse_verdict("Legit"), parse_verdict(1)
    ('DECLINE', 'APPROVE', 'DECLINE')
    """
    try:
        text = str(word).strip().lower()
    except ValueError:  # a whole number of thousands of digits
        text = ""
    if text in _APPROVE_WORDS:
        return APPROVE
    if text in _DECLINE_WORDS:
        return DECLINE
    raise InvalidInput(
        f"unknown label {quoted(word)}; APPROVE or DECLINE (or fraud/legit, 1/0) wanted"
    )


def parse_decision(word: object) -> Verdict:
    """APPROVE or DECLINE from a word that says what becomes of a payment; not from one that says
    what it is: `no` is "no fraud" in a data set, but who decides may mean "do not approve".

    >>> parse_decision("Approved"), parse_decision("reject")
    ('APPROVE', 'DECLINE')
    """
    text = word.strip().lower() if isinstance(word, str) else ""
    if text in _APPROVED:
        return APPROVE
    if text in _DECLINED:
        return DECLINE
    raise InvalidInput(f"APPROVE or DECLINE wanted, not {quoted(word)}")


def sign_of(verdict: Verdict | None) -> float:
    """The direction in which a verdict moves the log-odds of fraud."""
    return 1.0 if verdict == DECLINE else -1.0


def other(verdict: Verdict) -> Verdict:
    """The verdict that is not this one."""
    return APPROVE if verdict == DECLINE else DECLINE


def is_absence(source: str) -> bool:
    """Whether a label only says that no complaint came.

    >>> is_absence("No chargeback"), is_absence("chargeback")
    (True, False)
    """
    return folded_source(source) == NO_CHARGEBACK


def folded_source(source: str) -> str:
    """A source without differences in writing, and without who sent the label."""
    return "_".join(kind_of(source).lower().replace("-", " ").replace("_", " ").split())


def check_id(decision_id: object) -> str:
    """The id of a decision, wherever it comes from."""
    text = decision_id if isinstance(decision_id, str) else ""
    if 0 < len(text) <= _MAX_ID and text.isprintable() and text == clean_text(text):
        return text
    raise InvalidTransaction(f"a decision_id is one line of plain text, 1 to {_MAX_ID} characters")


def check_source(source: object, sender: str | None = None) -> str:
    """The source of a label, wherever it comes from. What a client sent is signed with its name,
    `sender`, if it has one; a client speaks neither for a judge nor for a person.

    >>> check_source("analyst:ann"), check_source("chargeback", "shop")
    ('analyst:ann', 'chargeback@shop')
    """
    text = source.strip() if isinstance(source, str) else ""
    if not (_SOURCE if sender is None else _KIND).fullmatch(text):
        raise InvalidInput(f"a source is 1 to 60 letters, digits, spaces or _.-; {quoted(source)}")
    if sender is not None and folded_source(text) == JUDGE:
        raise InvalidInput("the source judge is not for a client to give")
    return f"{text}@{sender}" if sender else text


def giver_of(source: str) -> str:
    """The person or the user whom a source names; without one the source itself.

    >>> giver_of("analyst:ann"), giver_of("chargeback@shop"), giver_of("file")
    ('ann', 'shop', 'file')
    """
    is_person = source.startswith(ANALYST)
    return source.removeprefix(ANALYST) if is_person else source.rpartition("@")[2]


def kind_of(source: str) -> str:
    """A source without the user who sent the label."""
    return source if source.startswith(ANALYST) else source.partition("@")[0]


def log_odds_of(risk: float) -> float:
    """The log-odds of a probability; certainty is one in a billion short of it."""
    risk = min(max(risk, 1e-9), 1 - 1e-9)
    return math.log(risk / (1 - risk))
