"""What follows from a judged decision: the word for it, and whether it is learned from."""

from acegraph.state import Recorded
from acegraph.state.run.schema import RunSettings


def verdict_word(is_correct: bool | None, undecided: str | None) -> str:
    """right, wrong, pending or undecided.

    >>> verdict_word(False, None), verdict_word(None, None), verdict_word(None, "judge: timed out")
    ('wrong', 'pending', 'undecided')
    """
    if undecided:
        return "undecided"
    return {True: "right", False: "wrong", None: "pending"}[is_correct]


def is_worth_learning(
    is_correct: bool | None,
    recorded: Recorded,
    right_decisions: int | None,
    settings: RunSettings,
) -> bool:
    """After a mistake, and after every k-th right decision when asked; once per decision."""
    if not settings["learn"] or is_correct is None or recorded.lesson is not None:
        return False
    return not is_correct or bool(
        right_decisions and right_decisions % settings["learn_every"] == 0
    )


def counts_right_decisions(is_correct: bool | None, settings: RunSettings) -> bool:
    """Whether it matters how many right decisions there have been."""
    return bool(is_correct and settings["learn"] and settings["learn_every"])
