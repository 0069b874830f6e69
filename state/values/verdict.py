"""The two answers, and the words people use for them. It knows nothing else."""

from typing import Final, Literal

from acegraph.state.errors import InvalidInput

Verdict = Literal["APPROVE", "DECLINE"]
APPROVE: Final = "APPROVE"
DECLINE: Final = "DECLINE"
UNDECIDED: Final = "UNDECIDED"
"""What is said where there is no verdict."""
JUDGE: Final = "judge"
"""The source of an outcome that is a model's opinion: weaker than a label, never in a backtest."""


NO_CHARGEBACK: Final = "no_chargeback"
"""The source of a label that is the absence of a complaint: no proof where a payment was declined.
"""


_APPROVE_WORDS = frozenset(
    "approve approved accept accepted allow allowed legit legitimate genuine good normal safe "
    "valid non-fraud nonfraud not_fraud no false 0 0.0".split()
)
_DECLINE_WORDS = frozenset(
    "decline declined deny denied reject rejected block blocked fraud fraudulent bad suspicious "
    "yes true 1 1.0".split()
)


def parse_verdict(word: object) -> Verdict:
    """APPROVE or DECLINE from a label as data sets write it; anything else is refused.

    >>> parse_verdict(" decline "), parse_verdict("Legit"), parse_verdict(1)
    ('DECLINE', 'APPROVE', 'DECLINE')
    """
    text = str(word).strip().lower()
    if text in _APPROVE_WORDS:
        return APPROVE
    if text in _DECLINE_WORDS:
        return DECLINE
    raise InvalidInput(f"unknown label {word!r}; APPROVE or DECLINE (or fraud/legit, 1/0) wanted")


def is_absence(source: str) -> bool:
    """Whether a label's source is that nothing was heard.

    >>> is_absence("No chargeback"), is_absence("chargeback")
    (True, False)
    """
    return "_".join(source.lower().replace("-", " ").replace("_", " ").split()) == NO_CHARGEBACK


def other(verdict: Verdict) -> Verdict:
    """The verdict that is not this one."""
    return APPROVE if verdict == DECLINE else DECLINE
