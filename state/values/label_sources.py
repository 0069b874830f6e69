"""Who gave a label, or signed a change of a bullet: the names that have a meaning of their own.

Other texts are allowed as a source, and are no more than names. The answers are in verdict.py.
"""

from typing import Final

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


def is_absence(source: str) -> bool:
    """Whether a label only says that no complaint came.

    >>> is_absence("No chargeback"), is_absence("chargeback")
    (True, False)
    """
    return folded_source(source) == NO_CHARGEBACK


def folded_source(source: str) -> str:
    """A source without differences in writing."""
    return "_".join(source.lower().replace("-", " ").replace("_", " ").split())
