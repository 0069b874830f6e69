"""The person who judges: a graph node that stops a run until somebody has answered.

It asks where the agent is undecided or its risk is in the band. A wrong answer is asked for again.
The first right one stands, however often the run is resumed. It is in the ledger before the run
goes on, so that a crash loses no answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from acegraph.nodes.judge.outcome import counts_right_decisions, is_worth_learning, verdict_word
from acegraph.nodes.runtime.ask import answer_fields, ask
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import APPROVE, DECLINE, AceState, Case, parse_verdict
from acegraph.state.ledger.redaction import Redaction
from acegraph.state.playbook.review_queue import (
    HumanVerdict,
    first_human_verdict,
    give_verdict,
    open_case,
    reason_to_ask,
)
from acegraph.state.run.review_answers import ANALYST, VerdictAnswer
from acegraph.state.run.schema import Update
from acegraph.state.values.verdict import UNDECIDED

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook


@dataclass(frozen=True)
class ReviewNode:
    """Asks a person for a verdict."""

    playbook: BulletPlaybook

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Ask for a verdict where the agent is undecided, or its risk is in the band."""
        case = state["case"]
        decision = None if state["decision"] == UNDECIDED else state["decision"]
        if state["settings"].get("let_through"):
            decision = DECLINE  # the agent's own
        if decision is None:
            await wait.work(self._keep_case, state)
        why = "answered before"  # from another place, or before a crash
        # Before the band is looked at: a payment that was answered once is not decided again.
        ruled = await wait.work(first_human_verdict, self.playbook, case["id"])
        if ruled is None:
            reason = reason_to_ask(decision, state["risk_score"], state["settings"])
            if not reason:
                return {"decision_id": case["id"]}
            answer = ask(VerdictAnswer, _question(state, decision, reason))
            ruled = await wait.work(give_verdict, self.playbook, case["id"], answer)
            if ruled.is_by(answer):
                why = answer.why
        return await self._after(state, ruled, why, wait)

    def _keep_case(self, state: AceState) -> None:
        case, settings = state["case"], state["settings"]
        kept = Case(case["id"], case["fields"], APPROVE, case["text"], case["digest"])
        if settings["redact"]:
            kept = Redaction.of(kept.fields, settings["redact"]).content(kept)
        open_case(self.playbook, kept, settings["node"], evidence=settings["learn"])

    async def _after(self, state: AceState, ruled: HumanVerdict, why: str, wait: Wait) -> Update:
        """What the run knows now: the person's decision, and whether the agent's was right."""
        settings, recorded = state["settings"], ruled.recorded
        label, own = recorded.label, recorded.decision
        assert label is not None
        is_correct = None if own is None else own == label.value
        undecided = state["undecided"] if own is None else None  # a judge that failed is replaced
        right_decisions = None
        if counts_right_decisions(is_correct, settings):
            right_decisions = await wait.work(
                self.playbook.right_decision_number, state["case"]["id"], settings["node"]
            )
        who = ruled.by.removeprefix(ANALYST)
        return {
            "decision_id": state["case"]["id"],
            "decision": ruled.verdict,
            "reasons": [*state["reasons"], f"{ruled.by}: {why}"],
            "review": {"who": who, "verdict": ruled.verdict, "why": why, "agent": own},
            "verdict": verdict_word(is_correct, undecided),
            "undecided": undecided,
            "is_correct": is_correct,
            "confidence": 1.0,
            "judge_reasoning": f"{label.source} says {label.value}",
            "correct_answer": parse_verdict(label.value),
            "label_source": label.source,
            "learning": is_worth_learning(is_correct, recorded, right_decisions, settings),
        }


def _question(state: AceState, decision: str | None, reason: str) -> dict[str, Any]:
    case = state["case"]
    return {
        "kind": "verdict",
        "decision_id": case["id"],
        "transaction": case["text"],
        "decision": decision,
        "risk_score": state["risk_score"],
        "reasons": state["reasons"],
        "bullets": [{"id": b["id"], "content": b["content"]} for b in state["bullets"]],
        "undecided": state["undecided"],
        "asked_because": reason,
        "answer": answer_fields(VerdictAnswer),
    }
