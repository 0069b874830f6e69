"""The two answers, the words that people use for them, and who gave one as a label.

Other texts are allowed as a source, and are no more than names.
"""

import math
from typing import Final, Literal

from acegraph.state.errors import InvalidInput, quoted

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
    """A source without differences in writing."""
    return "_".join(source.lower().replace("-", " ").replace("_", " ").split())


def log_odds_of(risk: float) -> float:
    """The log-odds of a probability; certainty is one in a billion short of it."""
    risk = min(max(risk, 1e-9), 1 - 1e-9)
    return math.log(risk / (1 - risk))
