"""A person in the loop: two nodes that stop a run until somebody has answered.

`review` asks for a verdict where the agent is unsure, `approval` before a bullet becomes active. A
wrong answer is asked again; the first right one stands, however often the run is resumed or sent
again. Who said what is in the ledger before the run goes on, so that a crash loses no answer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph.config import get_config
from langgraph.types import interrupt

from acegraph.graph.operations.feedback import feedback
from acegraph.graph.steps import UNDECIDED, Parts, verdict_word, worth_learning
from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.nodes.runtime.step import Update
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import (
    APPROVE,
    DECLINE,
    AceState,
    Bullet,
    BulletPlaybook,
    Case,
    InvalidAnswer,
    Status,
)
from acegraph.state.ledger.redaction import Redaction
from acegraph.state.playbook.review_queue import Ruled, give_verdict, open_case, ruling, unsure
from acegraph.state.run.review_answers import (
    ANALYST,
    AnyAnswer,
    ApprovalAnswer,
    VerdictAnswer,
    check_four_eyes,
    read_answer,
)


@dataclass(frozen=True)
class Review:
    """The two nodes."""

    parts: Parts

    async def review(self, state: AceState, wait: Wait) -> Update:
        """Ask for a verdict where the agent is undecided, or its risk is in the band."""
        decided = None if state["decision"] == UNDECIDED else state["decision"]
        if state["settings"].get("let_through"):
            decided = DECLINE  # the agent's own
        playbook, case = self.parts.playbook, state["case"]
        if decided is None:
            await wait.work(_open, playbook, state)
        said = "answered before"  # from another place, or before a crash
        # Before the band is looked at: a payment that was answered once is not decided anew.
        ruled = await wait.work(ruling, playbook, case["id"])
        if ruled is None:
            why = unsure(decided, state["risk_score"], state["settings"])
            if not why:
                return {"decision_id": case["id"]}
            answer = ask(VerdictAnswer, _question(state, decided, why))
            ruled = await wait.work(give_verdict, playbook, case["id"], answer)
            if ruled.is_by(answer):
                said = answer.why
        return await self._after(state, ruled, said, wait)

    async def _after(self, state: AceState, ruled: Ruled, why: str, wait: Wait) -> Update:
        """What the run knows now: the person's decision, and whether the agent's was right."""
        settings, recorded = state["settings"], ruled.recorded
        label, own = recorded.label, recorded.decision
        assert label is not None
        is_correct = None if own is None else own == label.value
        undecided = state["undecided"] if own is None else None  # a judge that failed is replaced
        right_number = None
        if is_correct and settings["learn"] and settings["learn_every"]:
            right_number = await wait.work(
                self.parts.playbook.right_number, state["case"]["id"], settings["node"]
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
            "correct_answer": label.value,
            "label_source": label.source,
            "learning": worth_learning(is_correct, recorded, right_number, settings),
        }

    async def approve(self, state: AceState, wait: Wait) -> Update:
        """Ask whether the bullet that was learned may act."""
        decision_id = state["case"]["id"]
        bullet_id = (state["curation"] or {}).get("bullet_id")
        if bullet_id is None:
            return {"decision_id": decision_id}
        playbook = self.parts.playbook
        bullet = await wait.work(playbook.get_bullet, bullet_id)
        said: dict[str, Any] = {}
        if bullet.status == "candidate":
            answer = ask(
                ApprovalAnswer, _proposal(bullet), lambda said: check_four_eyes(bullet, said.who)
            )
            curator = self.parts.curator
            bullet = await wait.work(give_approval, playbook, bullet_id, answer, curator)
            said = answer.model_dump()
        is_active = bullet.status == "active"
        if said.get("approve") != is_active:
            said = {"approve": is_active, "why": "answered before"}
        return {
            "decision_id": decision_id,
            "approval": {**said, "bullet": bullet_id, "status": bullet.status},
            "new_bullet": bullet_id if is_active else None,
        }


def ask(
    form: type[AnyAnswer],
    question: dict[str, Any],
    check: Callable[[AnyAnswer], None] = lambda answer: None,
) -> AnyAnswer:
    """Stop the run until there is an answer of this form; a wrong one is asked again."""

    def check_all(answer: AnyAnswer) -> None:
        # A server with users knows who resumes, and auth.py whose thread it is.
        config = get_config()
        user = config.get("configurable", {}).get("langgraph_auth_user_id")
        if user and answer.who != user:
            raise InvalidAnswer(f"signed in as {user}, the answer is signed {answer.who}")
        is_own = user and config.get("metadata", {}).get("owner") == user
        if is_own and isinstance(answer, ApprovalAnswer) and answer.approve:
            raise InvalidAnswer(
                f"the thread is {user}'s own: what it taught is for somebody else to approve, "
                "with acegraph review"
            )
        check(answer)

    given = interrupt(question)
    while True:
        try:
            return read_answer(form, given, check_all)
        except InvalidAnswer as error:
            given = interrupt({**question, "error": str(error)})


@dataclass(frozen=True)
class Answered:
    """What an answer outside a run did."""

    ruled: Ruled
    learned: Curation | None
    """What was learned, where the agent had been wrong; a bullet waits for approval."""


def rule(playbook: BulletPlaybook, decision_id: str, answer: VerdictAnswer) -> Answered:
    """Answer a waiting transaction without its run; a mistake of the agent is learned from."""
    ruled = give_verdict(playbook, decision_id, answer)
    label = ruled.recorded.label
    assert label is not None
    # Known by now: it counts nothing, and learns what has not been learned.
    learned = feedback(playbook, decision_id, label.value, source=label.source).curation
    return Answered(ruled, learned)


def give_approval(
    playbook: BulletPlaybook, bullet_id: str, answer: ApprovalAnswer, curator: Curator
) -> Bullet:
    """Let a waiting bullet act, or retire it; the first answer stands."""
    with playbook.writing():
        bullet = playbook.get_bullet(bullet_id)
        if bullet.status == "candidate":
            check_four_eyes(bullet, answer.who)
            status: Status = "active" if answer.approve else "retired"
            word = "approved" if answer.approve else "rejected"
            playbook.set_status(bullet_id, status, f"{word}: {answer.why}", answer.source)
            if answer.approve:
                curator.tend(bullet.node, playbook, keep=bullet_id)
        return playbook.get_bullet(bullet_id)


def _open(playbook: BulletPlaybook, state: AceState) -> None:
    case, settings = state["case"], state["settings"]
    kept = Case(case["id"], case["fields"], APPROVE, case["text"], case["digest"])
    if settings["redact"]:
        kept = Redaction.of(kept.fields, settings["redact"]).content(kept)
    open_case(playbook, kept, settings["node"], evidence=settings["learn"])


def _question(state: AceState, decided: str | None, why: str) -> dict[str, Any]:
    case = state["case"]
    return {
        "kind": "verdict",
        "decision_id": case["id"],
        "transaction": case["text"],
        "decision": decided,
        "risk_score": state["risk_score"],
        "reasons": state["reasons"],
        "bullets": [{"id": b["id"], "content": b["content"]} for b in state["bullets"]],
        "undecided": state["undecided"],
        "asked_because": why,
        "answer": _fields_of(VerdictAnswer),
    }


def _proposal(bullet: Bullet) -> dict[str, Any]:
    return {
        "kind": "approval",
        "bullet": bullet.id,
        "content": bullet.content,
        "proof": bullet.proof,
        "evidence": dict(bullet.evidence),
        "origin": dict(bullet.origin),
        "answer": _fields_of(ApprovalAnswer),
    }


def _fields_of(form: type[VerdictAnswer] | type[ApprovalAnswer]) -> dict[str, str]:
    return {name: field.description or "" for name, field in form.model_fields.items()}
