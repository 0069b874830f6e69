"""What follows from a recorded decision: is it right, how is that called, is it learned from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from acegraph.state import APPROVE, AceState, Case, Label
from acegraph.state.ledger.hidden_fields import HiddenFields
from acegraph.state.run.schema import CaseData, RunSettings
from acegraph.state.values.decision import Recorded, Sighting
from acegraph.state.values.draw import is_in_share
from acegraph.state.values.verdict import GIVEN_LABEL

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


def verdict_word(is_correct: bool | None, undecided: str | None) -> str:
    """right, wrong, pending or undecided.

    >>> verdict_word(False, None), verdict_word(None, None), verdict_word(None, "judge: timed out")
    ('wrong', 'pending', 'undecided')
    """
    if undecided:
        return "undecided"
    return {True: "right", False: "wrong", None: "pending"}[is_correct]


def learns_now(
    playbook: BulletPlaybook, case_id: str, recorded: Recorded, settings: RunSettings
) -> bool:
    """After a mistake, where a case was left open, and after one of k right decisions when asked;
    once per case.

    With `learn_later` the decision is queued instead.
    """
    if not settings["learn"] or recorded.label is None or recorded.lesson is not None:
        return False
    every = settings["learn_every"]
    is_lesson = not recorded.is_correct or (every > 0 and is_in_share(case_id, 1 / every))
    if is_lesson and settings.get("learn_later"):
        playbook.queue_lesson(case_id)
        return False
    return is_lesson


def sighting_in(case: CaseData) -> Sighting | None:
    """What later payments see of a run's transaction, where fields are derived from it."""
    columns = case.get("sighting_columns")
    if not columns:
        return None
    from acegraph.nodes.evidence.sightings.columns import sighting_of

    return sighting_of(case["fields"], columns)


def keep_undecided(playbook: BulletPlaybook, state: AceState) -> Recorded | None:
    """Keep a transaction without a decision, so that a person or a label can answer it later; and
    the right answer, if it came with the transaction: then it gives what is recorded.
    """
    from acegraph.state.maintenance.people.review_queue import (
        open_case,  # loads the database library
    )

    case, settings = state["case"], state["settings"]
    seen = sighting_in(case)
    kept = Case(case["id"], case["fields"], APPROVE, case["text"], case["digest"], sighting=seen)
    kept = replace(kept, came=case.get("came", ""))
    if settings["redact"]:
        kept = HiddenFields.of(kept.fields, settings["redact"], kept.came).content(kept)
    with playbook.writing():
        open_case(playbook, kept, settings["node"], evidence=settings["learn"])
        if not (truth := case["ground_truth"]):
            return None
        return playbook.label_many({case["id"]: Label(truth, GIVEN_LABEL)})[case["id"]]
