"""The five nodes: each a function from state to update, with the parts it needs passed in.

Selector, agent, judge, reflector, curator. A model's failure ends here as `undecided` with its
reason: nobody is approved, no counter moves, no bullet is born.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from langgraph.runtime import get_runtime

from acegraph.graph.lesson import Lesson
from acegraph.graph.shadow import decide_in_shadow
from acegraph.nodes.agent.custom import Agent
from acegraph.nodes.agent.exploration import lets_through
from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.nodes.judge.judge import Judgement, SimpleJudge
from acegraph.nodes.reflector.custom import Reflecting
from acegraph.nodes.runtime.step import Update
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.nodes.selector.factory import Selecting
from acegraph.nodes.selector.stages import Selection
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    APPROVE,
    DECLINE,
    AceContext,
    AceState,
    Bullet,
    Clock,
    DecisionRecord,
    InvalidTransaction,
    Label,
    ModelError,
    Recorded,
    Shown,
    Transaction,
    UnknownDecision,
    clean_text,
    other,
    parse_verdict,
)
from acegraph.state.run.modes import settle_settings

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


UNDECIDED: Final = "UNDECIDED"

_MAX_ID: Final = 200

NO_BULLETS: Final = Selection(
    (), {}, dict.fromkeys(("context", "quality", "semantic", "score", "diversity"), 0)
)


@dataclass(frozen=True)
class Parts:
    """What the nodes work with; injected by the factory, never in state or context."""

    playbook: BulletPlaybook
    agent: Agent
    judge: SimpleJudge
    reflector: Reflecting
    curator: Curator
    selector_for: Callable[[dict[str, Any]], Selecting]
    """The selector that a run's settings ask for."""
    context: AceContext = field(default_factory=AceContext)
    """The settings that a run does not bring itself."""
    buys_vectors: bool = True
    """Whether the curator buys the vector of a new bullet; False where somebody else does."""
    sight: Callable[[], Any] | None = None
    """The playbook as the selector sees it, where that is not as it is now (lookahead.py)."""
    challengers: dict[tuple[int, str], BulletPlaybook] = field(default_factory=dict)
    """Other versions of the playbook, as they were when first asked for."""
    review: bool = False
    """Whether bullets that are learned wait for a person's approval."""
    behind: Parts | None = None
    """The parts themselves, where these only say what was foreseen with them (lookahead.py)."""

    async def select(self, state: AceState, wait: Wait) -> Update:
        """Take the transaction in, forget the run before, choose bullets in five stages."""
        settings = settle_settings(AceContext.of(get_runtime().context, self.context))
        settings["review"] = self.review
        transaction = Transaction.of(state.get("transaction"))
        case = _new_case(state, transaction)
        seen = self.playbook if self.sight is None else self.sight()
        chosen = NO_BULLETS
        if settings["selects"]:
            chosen = await self.selector_for(settings).select(
                transaction,
                settings["node"],
                seen,
                settings["n_bullets"],
                settings["source"],
                case["id"],
                wait,
            )
        clock = await wait.work(_clock_of, seen) if chosen.clock is None else chosen.clock
        return {
            "case": case,
            "settings": settings,
            "bullets": [_shown(b, chosen.scores[b.id]) for b in chosen.bullets],
            "shadow": [{"id": b.id, "verdict": b.verdict} for b in chosen.shadow],
            "funnel": chosen.funnel,
            "playbook_version": clock.version,
            "playbook_position": clock.position,
            "warnings": list(chosen.warnings),
            **_UNWRITTEN,
        }

    async def decide(self, state: AceState, wait: Wait) -> Update:
        """Decide with the bullets that were shown."""
        bullets = await wait.work(self._look_up, [shown["id"] for shown in state["bullets"]])
        transaction = _transaction(state)
        try:
            found = await self.agent.settle(
                transaction, bullets, wait, state["settings"]["agent_model"], state["case"]["id"]
            )
        except ModelError as error:
            return {"decision": UNDECIDED, "undecided": f"agent: {error}"}
        cited, settings, reasons = found.bullets_used, state["settings"], list(found.reasons)
        if found.decision == DECLINE and lets_through(state["case"], settings):
            settings = {**settings, "let_through": True}
            reasons.append(f"let through for review, as {settings['explore']:g} of declines are")
        used = [
            b.id
            for b in bullets
            if (b.condition and b.condition.holds(state["case"]["fields"]))
            or (cited is None and b.condition is None)  # prose that may have been read
            or b.id in (cited or ())
        ]
        if settings["selects"] and settings["challenger"] is not None:
            settings = {**settings, "shadow": await decide_in_shadow(self, state, wait)}
        return {
            "decision": found.decision,
            "risk_score": found.risk_score,
            "reasons": reasons,
            "bullets_used": used,
            "settings": settings,
        }

    async def judge_decision(self, state: AceState, wait: Wait) -> Update:
        """Say whether the decision was right; write it, and what follows for the counters, once."""
        case, settings = state["case"], state["settings"]
        if state["decision"] == UNDECIDED:
            before = await wait.work(self._decided_before, case["id"])
            if before is None:
                return {"decision_id": case["id"], "verdict": "undecided"}
            # This time the agent failed; what it said once stands.
            state = cast(AceState, {**state, **before})
        judged, undecided = await self._judge(state, wait)
        label = (
            Label(judged.correct_answer, judged.source)
            if judged.correct_answer is not None
            else None
        )
        recorded = await wait.work(self.playbook.record, self._record(state), label)
        # What stands is the first decision given under this id, and the strongest label.
        stands = recorded.label
        is_correct = None if stands is None else recorded.decision == stands.value
        before = None
        if not recorded.first:
            before = await wait.work(self._decided_before, case["id"])
            settings = {**settings, "let_through": bool(before and before.pop("let_through"))}
        right_number = None
        if is_correct and settings["learn"] and settings["learn_every"]:
            right_number = await wait.work(self.playbook.right_number, case["id"], settings["node"])
        return {
            **({**before, "settings": settings} if before else {}),
            "decision_id": case["id"],
            # What the ledger keeps is the agent's own; let through, the payment goes ahead.
            "decision": APPROVE if settings.get("let_through") else recorded.decision,
            "verdict": verdict_word(is_correct, undecided),
            "is_correct": is_correct,
            "confidence": judged.confidence,
            "judge_reasoning": judged.reasoning,
            "correct_answer": stands.value if stands else None,
            "label_source": stands.source if stands else None,
            "undecided": undecided,
            "learning": worth_learning(is_correct, recorded, right_number, settings),
            "new_bullet": (recorded.lesson or {}).get("bullet_id"),
        }

    async def _judge(self, state: AceState, wait: Wait) -> tuple[Judgement, str | None]:
        """The judge's word on the decision, or why there is none."""
        case = state["case"]
        try:
            judged = await self.judge.settle(
                case["text"],
                state["decision"],
                case["ground_truth"],
                wait,
                state["settings"]["judge_model"],
                case["id"],
            )
        except ModelError as error:
            undecided = f"judge: {error}"
            return Judgement(None, None, undecided), undecided
        return judged, None

    async def reflect(self, state: AceState, wait: Wait) -> Update:
        """Write a heuristic from the judged decision, or nothing."""
        try:
            found = await _lesson(state).reflect(self.reflector, self.playbook, wait)
        except ModelError as error:
            return {"undecided": f"reflector: {error}"}
        return {"reflection": dict(found) if found else None}

    async def curate(self, state: AceState, wait: Wait) -> Update:
        """Let the heuristic into the playbook or refuse it, and tend what is there."""
        if state["undecided"]:  # the reflector failed: nothing is concluded, it may be tried again
            failed = Curation("refused", state["undecided"])
            return {"decision_id": state["case"]["id"], "curation": failed.to_json()}
        found = await wait.work(
            _lesson(state).curate, state["reflection"], self.curator, self.playbook
        )
        warnings = list(state["warnings"])
        if found.bullet_id is not None and self.buys_vectors:
            warnings += await self._embed(found.bullet_id, state["settings"], wait)
        return {
            "decision_id": state["case"]["id"],
            "new_bullet": found.bullet_id,
            "curation": found.to_json(),
            "warnings": warnings,
        }

    async def _embed(self, bullet_id: str, settings: dict[str, Any], wait: Wait) -> list[str]:
        """Store the new bullet's vector; should that fail, the selector buys it when it is
        needed.
        """
        model = self.selector_for(settings).embedding
        (bullet,) = await wait.work(self._look_up, [bullet_id])
        try:
            vectors = await model.vectors([bullet.content], wait, self.playbook)
            await wait.work(self.playbook.store_vectors, model.name, {bullet_id: vectors[0]})
        except ModelError as error:
            return [f"no vector yet for {bullet_id}: {error}"]
        return []

    def _look_up(self, bullet_ids: list[str]) -> list[Bullet]:
        return [self.playbook.get_bullet(bullet_id) for bullet_id in bullet_ids]

    def _decided_before(self, decision_id: str) -> Update | None:
        """What was answered under this id before, where something was."""
        try:
            stored = self.playbook.decision(decision_id)
        except UnknownDecision:
            return None
        if stored["decision"] is None:  # labelled history
            return None
        return {
            "decision": stored["decision"],
            "risk_score": stored["risk_score"],
            "reasons": stored["reasons"],
            "bullets_used": stored["bullets_used"],
            "let_through": bool(stored["settings"].get("let_through")),
        }

    def _record(self, state: AceState) -> DecisionRecord:
        case, settings = state["case"], state["settings"]
        used, everyone = set(state["bullets_used"]), settings["credit"] == "selected"
        shown = tuple(
            Shown(
                bullet_number=int(b["id"].removeprefix("b")),
                credited=everyone or b["id"] in used,
                verdict=None if everyone else b["verdict"],
            )
            for b in state["bullets"]
        )
        if not everyone:
            shown += tuple(
                Shown(int(b["id"].removeprefix("b")), True, b["verdict"], selected=False)
                for b in state["shadow"]
            )
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
            shown=shown,
            counted=settings["learn"],
        )


_UNWRITTEN: Final[Update] = {
    "decision": UNDECIDED,
    "risk_score": None,
    "reasons": [],
    "bullets_used": [],
    "undecided": None,
    "verdict": "pending",
    "is_correct": None,
    "confidence": None,
    "judge_reasoning": "",
    "correct_answer": None,
    "label_source": None,
    "learning": False,
    "reflection": None,
    "curation": None,
    "new_bullet": None,
    "usage": {},
    "review": None,
    "approval": None,
}
"""What the first node writes over whatever an earlier run left on the thread."""


def _clock_of(playbook: Any) -> Clock:
    clock: Clock = playbook.clock
    return clock


def _new_case(state: AceState, transaction: Transaction) -> dict[str, Any]:
    given, truth = state.get("decision_id"), state.get("ground_truth")
    if given is not None and not (
        isinstance(given, str) and 0 < len(given) <= _MAX_ID and given == clean_text(given)
    ):
        raise InvalidTransaction(f"a decision_id is plain text of 1 to {_MAX_ID} characters")
    if truth is not None and not str(truth).strip():
        truth = None
    return {
        "id": given or uuid.uuid4().hex,
        "text": transaction.text,
        "given_fields": transaction.fields,
        "fields": read_fields(transaction),
        "digest": transaction.digest(),
        "ground_truth": None if truth is None else parse_verdict(truth),
    }


def _shown(bullet: Bullet, scores: dict[str, float]) -> dict[str, Any]:
    return {
        "id": bullet.id,
        "content": bullet.content,
        "verdict": bullet.verdict,
        "source": bullet.source,
        "scores": {name: round(score, 6) for name, score in scores.items()},
    }


def _transaction(state: AceState) -> Transaction:
    return Transaction(state["case"]["text"], state["case"]["given_fields"])


def _lesson(state: AceState) -> Lesson:
    correct = parse_verdict(state["correct_answer"])
    return Lesson(
        decision_id=state["case"]["id"],
        transaction=_transaction(state),
        # The agent's own: what the run answers may be a person's by now.
        decision=correct if state["is_correct"] else other(correct),
        correct=correct,
        reasons=state["reasons"],
        settings=state["settings"],
        label_source=state["label_source"] or "label",
    )


def verdict_word(is_correct: bool | None, undecided: str | None) -> str:
    """How the verdict on a decision is said."""
    if undecided:
        return "undecided"
    return {True: "right", False: "wrong", None: "pending"}[is_correct]


def worth_learning(
    is_correct: bool | None,
    recorded: Recorded,
    right_number: int | None,
    settings: dict[str, Any],
) -> bool:
    """After a mistake, and after every k-th right decision when asked; once per decision."""
    if not settings["learn"] or is_correct is None or recorded.lesson is not None:
        return False
    return not is_correct or bool(right_number and right_number % settings["learn_every"] == 0)
