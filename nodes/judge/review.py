"""The review by a person: a graph node that stops a run until somebody gives a verdict.

It asks where the agent is undecided or its risk is in the band, until the answer is valid. The
first answer stands; it is in the ledger before the run goes on, so that a crash loses none.
"""

from __future__ import annotations

from dataclasses import dataclass

from acegraph.nodes.judge.node import keep_undecided, learns_now, verdict_word
from acegraph.nodes.runtime.ask import ask
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import AceState, BulletPlaybook
from acegraph.state.maintenance.people import review_queue
from acegraph.state.maintenance.people.review_queue import HumanVerdict
from acegraph.state.run.lesson import has_failed
from acegraph.state.run.review_answers import VerdictAnswer, check_subject
from acegraph.state.run.schema import Update
from acegraph.state.values import ANALYST, DECLINE, UNDECIDED, parse_verdict


@dataclass(frozen=True)
class ReviewNode:
    """Asks a person for a verdict."""

    playbook: BulletPlaybook

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Ask for a verdict where the agent is undecided, or its risk is in the band."""
        case, settings = state["case"], state["settings"]
        decision = state["held"] or (None if state["decision"] == UNDECIDED else state["decision"])
        if settings.get("let_through"):
            decision = DECLINE  # the agent's decision; the run answers APPROVE
        if decision is None:
            await wait.work(keep_undecided, self.playbook, state)
        why = "answered before"  # outside this run, or before a crash
        # The ledger comes before the band: a payment that a person has judged is not asked again.
        human = await wait.work(review_queue.first_human_verdict, self.playbook, case["id"])
        if human is None:
            reason = review_queue.reason_to_ask(decision, state["risk_score"], settings)
            if not reason:
                return {"decision_id": case["id"]}
            answer = ask(
                VerdictAnswer,
                _question(state, decision, reason),
                lambda reply: check_subject(reply.decision_id, case["id"]),
                (await wait.work(self.playbook.task, settings["node"])).stored,
            )
            human = await wait.work(review_queue.give_verdict, self.playbook, case["id"], answer)
            if human.is_by(answer):
                why = answer.why
        return await self._after(state, human, why, wait)

    async def _after(self, state: AceState, human: HumanVerdict, why: str, wait: Wait) -> Update:
        """The state after the answer: the person's decision, and whether the agent was right."""
        decision_id, recorded = state["case"]["id"], human.recorded
        label, decision, is_correct = recorded.label, recorded.decision, recorded.is_correct
        assert label is not None
        # Where the agent has decided, the person replaces a judge that failed.
        undecided = state["undecided"] if decision is None else None
        settings = state["settings"]
        learning = not has_failed(state, "agent") and await wait.work(
            learns_now, self.playbook, decision_id, recorded, settings
        )
        who = human.by.removeprefix(ANALYST)
        return {
            "decision_id": decision_id,
            "decision": human.verdict,
            "reasons": [*state["reasons"], f"{human.by}: {why}"],
            "review": {"who": who, "verdict": human.verdict, "why": why, "agent": decision},
            "verdict": verdict_word(is_correct, undecided),
            "undecided": undecided,
            "is_correct": is_correct,
            "confidence": 1.0,
            "judge_reasoning": f"{label.source} says {label.value}",
            "correct_answer": parse_verdict(label.value),
            "label_source": label.source,
            "learning": learning,
        }


def _question(state: AceState, decision: str | None, reason: str) -> dict[str, object]:
    case, undecided = state["case"], state["undecided"]
    if state["held"]:  # then it says that the run waits; the judge may have failed all the same
        undecided = state["judge_reasoning"] if state["verdict"] == UNDECIDED.lower() else None
    return {
        "kind": "verdict",
        "decision_id": case["id"],
        "transaction": case["text"],
        "decision": decision,
        "risk_score": state["risk_score"],
        "reasons": state["reasons"],
        "bullets": [{"id": b["id"], "content": b["content"]} for b in state["bullets"]],
        "undecided": undecided,
        "known_label": case["ground_truth"],
        "asked_because": reason,
    }
