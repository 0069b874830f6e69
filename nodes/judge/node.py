"""The judge as a graph node: say whether the decision was right, and record it once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from acegraph.nodes.judge.judge import Judgement, SimpleJudge
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import AceState, ModelError, UnknownDecision
from acegraph.state.errors import DecisionConflict, PlaybookError, PrunedDecision
from acegraph.state.run.lesson import has_failed
from acegraph.state.run.schema import CaseData, RunSettings, Update
from acegraph.state.values import (
    APPROVE,
    GIVEN_LABEL,
    UNDECIDED,
    Case,
    Data,
    DecisionRecord,
    Label,
    Recorded,
    Shown,
    Sighting,
    Verdict,
    is_in_share,
    number_of,
    parse_verdict,
)

if TYPE_CHECKING:
    from acegraph.nodes.judge.agreement import JudgeRecord
    from acegraph.state import BulletPlaybook

logger = logging.getLogger(__name__)

REFUSED: Final = (DecisionConflict, PrunedDecision)
"""The errors of a playbook that are about one decision."""


@dataclass(frozen=True)
class JudgeNode:
    """Judges the decision of a run, and records decision and label in the ledger."""

    playbook: BulletPlaybook
    judge: SimpleJudge

    @cached_property
    def record(self) -> JudgeRecord:
        """How often models were right, as far as they were asked."""
        from acegraph.nodes.judge.agreement import JudgeRecord

        return JudgeRecord(self.playbook)

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Say whether the decision was right; record it and move the counters, once."""
        (update,) = await self.judge_many([state], wait)
        if isinstance(update, PlaybookError):
            raise update
        return update

    async def judge_many(
        self, states: Sequence[AceState], wait: Wait
    ) -> list[Update | PlaybookError]:
        """What the node writes for each state, or why the ledger refuses the decision; all are
        recorded in one write.
        """
        # If a person will be asked, what the agent said is judged all the same.
        states = [
            {**state, "decision": state["held"], "undecided": None} if state["held"] else state
            for state in states
        ]
        decided = [state for state in states if state["decision"] != UNDECIDED]
        judged = [await self._judged(state, wait) for state in decided]
        recorded = await wait.work(self._record, judged) if judged else []
        ended, updates = zip(judged, recorded, strict=True), list[Update | PlaybookError]()
        for state in states:
            if state["decision"] == UNDECIDED:
                updates.append(await self._left_open(state, wait))
            else:
                updates.append(await self._concluded(*next(ended), wait))
        return updates

    async def _left_open(self, state: AceState, wait: Wait) -> Update | PlaybookError:
        """What the node writes where the agent gave no decision: an earlier one under this id
        stands.
        """
        earlier = await wait.work(self._earlier_decision, state["case"]["id"])
        try:
            if earlier is None:
                return await wait.work(self._keep_undecided, state)
            return await self({**state, **earlier[0]}, wait)
        except REFUSED as error:
            return error

    async def _judged(self, state: AceState, wait: Wait) -> _Judged:
        """The judgement; where the judge failed, a pending one and the reason."""
        case, settings = state["case"], state["settings"]
        try:
            judgement = await self.judge.judge_with(
                case["text"],
                state["decision"],
                case["ground_truth"],
                wait,
                settings["judge_model"],
                case["id"],
                partial(self.playbook.task, settings["node"]),
            )
        except ModelError as error:
            logger.warning("judge undecided: %s", type(error).__name__)
            undecided = f"judge: {error}"
            return _Judged(state, Judgement(None, None, undecided), undecided)
        if judgement.judge and judgement.correct_answer:
            return await wait.work(self._weighed, state, judgement, judgement.correct_answer)
        return _Judged(state, judgement)

    def _weighed(self, state: AceState, judgement: Judgement, answer: Verdict) -> _Judged:
        """The opinion of a judge is noted with the decision; it counts if the judge is believed."""
        case, settings = state["case"], state["settings"]
        settings = {**settings, "opinion": {"by": judgement.judge, "verdict": answer}}
        if not self.record.counts(judgement.judge, case["id"], settings.get("judge_bar", 0.0)):
            judgement = replace(judgement, is_correct=None, correct_answer=None)
        return _Judged({**state, "settings": settings}, judgement)

    def _keep_undecided(self, state: AceState) -> Update:
        """Keep a case without a decision: a label may come later, a person can answer, and later
        cases look back on it. With its label it is learned from, unless the agent failed: whoever
        knows the label sends it again.
        """
        case, settings = state["case"], state["settings"]
        failed = has_failed(state, "agent")
        update: Update = {"decision_id": case["id"], "verdict": "undecided"}
        is_awaited = settings.get("review") or self._stored(case["id"])
        teaches = settings["learn"] and not failed
        if case["ground_truth"] and not (teaches or sighting_in(case) or is_awaited):
            return update
        with self.playbook.writing():
            recorded = keep_undecided(self.playbook, state)
            if failed or recorded is None or recorded.label is None:
                return update
            learning = learns_now(self.playbook, case["id"], recorded, settings)
        label = recorded.label
        update |= {"correct_answer": label.value, "label_source": label.source}
        return {**update, "confidence": 1.0, "learning": learning}

    def _record(self, judged: Sequence[_Judged]) -> list[Recorded | PlaybookError]:
        """Record decisions and labels; what is learned later is queued in the same write."""
        given, is_any_later = [], False
        for one in judged:
            answer = one.judgement.correct_answer
            label = Label(answer, one.judgement.source) if answer else None
            given.append((record_of(one.state), label))
            is_any_later |= one.state["settings"].get("learn_later", False)
        if not is_any_later:
            return self.playbook.record_many(given)
        with self.playbook.writing():
            results = self.playbook.record_many(given)
            for (record, _), result, one in zip(given, results, judged, strict=True):
                if isinstance(result, Recorded):
                    learns_now(self.playbook, record.id, result, one.state["settings"])
        return results

    async def _concluded(
        self, judged: _Judged, recorded: Recorded | PlaybookError, wait: Wait
    ) -> Update | PlaybookError:
        """What the node writes when decision and label are recorded."""
        if isinstance(recorded, PlaybookError):
            return recorded
        state, judgement, undecided = judged.state, judged.judgement, judged.undecided
        case, settings = state["case"], state["settings"]
        # The first decision under an id stands, and the strongest label.
        label, is_correct = recorded.label, recorded.is_correct
        first_answer: Update = {}
        if not recorded.is_new_decision:
            earlier = await wait.work(self._earlier_decision, case["id"])
            settings = {**settings, "let_through": bool(earlier and earlier[1])}
            if earlier:
                first_answer = {**earlier[0], "settings": settings}
        learning = False
        if not settings.get("learn_later"):  # else it was queued when it was recorded
            learning = await wait.work(learns_now, self.playbook, case["id"], recorded, settings)
        update: Update = {
            **first_answer,
            "decision_id": case["id"],
            # The ledger keeps the agent's DECLINE; a payment that is let through is approved.
            "decision": APPROVE if settings.get("let_through") else recorded.decision or UNDECIDED,
            "verdict": verdict_word(is_correct, undecided),
            "is_correct": is_correct,
            "confidence": judgement.confidence,
            "judge_reasoning": judgement.reasoning,
            "correct_answer": label.value if label else None,
            "label_source": label.source if label else None,
            "undecided": undecided,
            "learning": learning,
            "new_bullet": (recorded.lesson or {}).get("bullet_id"),
        }
        if settings.get("review"):
            from acegraph.nodes.runtime.ask import held_for_review

            risk = first_answer.get("risk_score", state["risk_score"])
            update |= held_for_review(recorded.decision, risk, settings)
        return update

    def _stored(self, decision_id: str) -> Data | None:
        try:
            return self.playbook.decision(decision_id)
        except UnknownDecision:
            return None

    def _earlier_decision(self, decision_id: str) -> tuple[Update, bool] | None:
        """The answer given under this id before, and whether it was let through."""
        stored = self._stored(decision_id)
        if stored is None or stored["decision"] is None:  # labelled history, never decided
            return None
        answer: Update = {
            "decision": stored["decision"],
            "risk_score": stored["risk_score"],
            "reasons": stored["reasons"],
            "bullets_used": stored["bullets_used"],
        }
        return answer, bool(stored["settings"].get("let_through"))


@dataclass(frozen=True)
class _Judged:
    """A judged decision that is to be recorded."""

    state: AceState
    judgement: Judgement
    undecided: str | None = None
    """Why the judge failed, if it did."""


def record_of(state: AceState) -> DecisionRecord:
    """The decision of a run as the ledger records it."""
    case, settings = state["case"], state["settings"]
    acted, bullets, rules = state["bullets_used"], state["bullets"], state["held_back"]
    counts = "listed" not in settings  # what a person said of somebody tells nothing of a rule
    if settings["credit"] == "selected":
        shown = [Shown(number_of(b["id"]), counts, None) for b in bullets]
    else:
        used = acted if counts else []
        shown = [Shown(number_of(b["id"]), b["id"] in used, b["verdict"]) for b in bullets]
        shown += [
            Shown(number_of(r["id"]), counts, r["verdict"], False, r["id"] in acted) for r in rules
        ]
    return DecisionRecord(
        id=case["id"],
        node=settings["node"],
        text=case["text"],
        fields=case["fields"],
        digest=case["digest"],
        decision=parse_verdict(state["decision"]),
        risk_score=state["risk_score"],
        reasons=tuple(state["reasons"]),
        settings=settings,
        playbook_version=state["playbook_version"],
        seen=state["playbook_position"],
        shown=tuple(shown),
        counted=settings["learn"],
        policy_version=settings.get("policy_version"),
        sighting=sighting_in(case),
        came=case.get("came", ""),
    )


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
    # It loads the database library.
    from acegraph.state.maintenance.people.review_queue import open_case

    case, settings = state["case"], state["settings"]
    seen = sighting_in(case)
    kept = Case(case["id"], case["fields"], APPROVE, case["text"], case["digest"], sighting=seen)
    kept = replace(kept, came=case.get("came", ""))
    if settings["redact"]:
        from acegraph.state.ledger.hidden_fields import HiddenFields  # few hide anything

        kept = HiddenFields.of(kept.fields, settings["redact"], kept.came).content(kept)
    with playbook.writing():
        open_case(playbook, kept, settings["node"], evidence=settings["learn"])
        if not (truth := case["ground_truth"]):
            return None
        return playbook.label_many({case["id"]: Label(truth, GIVEN_LABEL)})[case["id"]]
