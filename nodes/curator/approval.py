"""The approval by a person: a graph node that stops a run until somebody lets a bullet act."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.runtime.ask import ask
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import AceState, BulletPlaybook
from acegraph.state.errors import InvalidAnswer
from acegraph.state.maintenance.people.second_person import acts_on_one_word, looked_at, to_look_at
from acegraph.state.run.review_answers import ApprovalAnswer, check_subject, is_same_name
from acegraph.state.run.schema import ApprovalData, Update
from acegraph.state.values import DECLINE, Bullet, Status, giver_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ApprovalNode:
    """Asks a person about a new bullet."""

    playbook: BulletPlaybook
    curator: Curator

    async def __call__(self, state: AceState, wait: Wait) -> Update:
        """Ask whether the bullet that was learned may act."""
        decision_id, curation = state["case"]["id"], state["curation"]
        bullet_id = curation["bullet_id"] if curation else None
        if bullet_id is None:
            return {"decision_id": decision_id}
        bullet = await wait.work(self.playbook.get_bullet, bullet_id)
        answer = None
        if bullet.status == "candidate":
            answer = ask(
                ApprovalAnswer,
                _question(bullet),
                lambda reply: _check_answer(self.playbook, bullet_id, reply),
            )
            bullet = await wait.work(give_approval, self.playbook, bullet_id, answer, self.curator)
        is_active = bullet.status == "active"
        approval: ApprovalData = {
            "approve": is_active,
            "why": "answered before",
            "bullet": bullet_id,
            "status": bullet.status,
        }
        if answer is not None and answer.approve == is_active:
            approval |= {"who": answer.who, "why": answer.why}
        return {
            "decision_id": decision_id,
            "approval": approval,
            "new_bullet": bullet_id if is_active else None,
        }


def give_approval(
    playbook: BulletPlaybook,
    bullet_id: str,
    answer: ApprovalAnswer,
    curator: Curator,
    *,
    alone: bool = False,
) -> Bullet:
    """Let a waiting bullet act, or retire it; an answer to one that no longer waits is ignored.

    Whoever proposed a rule that declines may let it act, and a second person looks at it then.
    """
    with playbook.writing():
        bullet, database = playbook.get_bullet(bullet_id), playbook.database
        if bullet.status == "candidate" or bullet_id in to_look_at(database):
            part = _check_answer(playbook, bullet_id, answer, alone=alone)
            if answer.approve and part:
                acts_on_one_word(database, bullet, answer.source, answer.why, alone=alone)
            else:
                looked_at(database, bullet_id)
            status: Status = "active" if answer.approve else "retired"
            word = ("approved alone" if alone else "approved") if answer.approve else "rejected"
            playbook.set_status(bullet_id, status, f"{word}: {answer.why}", answer.source)
            logger.info("bullet %s %s by a person", bullet_id, word)
            if answer.approve:
                curator.tend(bullet.node, playbook, keep=bullet_id)
        return playbook.get_bullet(bullet_id)


def _check_answer(
    playbook: BulletPlaybook, bullet_id: str, answer: ApprovalAnswer, *, alone: bool = False
) -> str:
    """What part the person had in the bullet; refused where it wants somebody else."""
    check_subject(answer.bullet, bullet_id)
    bullet = playbook.get_bullet(bullet_id)
    waits = bullet.status == "candidate"
    parts = {
        "wrote it": bullet.origin.get("author"),
        "gave the label it was learned from": bullet.origin.get("label_source"),
        "wanted it back" if waits else "let it act": playbook.history(bullet_id)[-1]["source"],
    }
    names = {part: giver_of(str(who or "")) for part, who in parts.items()}
    part = next((part for part, who in names.items() if is_same_name(who, answer.who)), "")
    if part and not (alone or (waits and bullet.verdict == DECLINE)):
        raise InvalidAnswer(
            f"{answer.who} {part} and cannot approve {bullet_id}: ask somebody else"
        )
    return part


def _question(bullet: Bullet) -> dict[str, object]:
    return {
        "kind": "approval",
        "bullet": bullet.id,
        "content": bullet.content,
        "rule": bullet.condition.render() if bullet.condition else None,
        "proof": bullet.proof,
        "evidence": dict(bullet.evidence),
        "origin": dict(bullet.origin),
    }
