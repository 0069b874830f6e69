"""What a person does outside a run: answer a waiting transaction, switch a bullet off and on.

Inside a run nodes/judge/review.py asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from acegraph.graph.operations.feedback import feedback
from acegraph.nodes.curator.approval import give_approval
from acegraph.nodes.curator.curator import Curation, Curator
from acegraph.state import BulletPlaybook
from acegraph.state.errors import InvalidInput
from acegraph.state.maintenance.people.review_queue import HumanVerdict, give_verdict
from acegraph.state.maintenance.people.second_person import acts_on_one_word
from acegraph.state.run.review_answers import ApprovalAnswer, VerdictAnswer, read_answer
from acegraph.state.values import Status


@dataclass(frozen=True)
class Answered:
    """What an answer outside a run did."""

    human_verdict: HumanVerdict
    learned: Curation | None
    """What was learned, if the agent had been wrong; a new bullet waits for approval."""
    is_first: bool
    """Whether it is the answer that counts."""

    def to_json(self) -> dict[str, object]:
        """What was said, by whom, which label stands, and what was learned."""
        label = self.human_verdict.recorded.label
        return {
            "verdict": self.human_verdict.verdict,
            "by": self.human_verdict.by,
            "stands": label and {"label": label.value, "source": label.source},
            "curation": self.learned and self.learned.to_json(),
        }


def answer_outside_run(
    playbook: BulletPlaybook, decision_id: str, given: Mapping[str, object]
) -> Answered:
    """Answer a waiting transaction without its run, with `who`, `verdict` and `why`; a mistake of
    the agent is learned from.
    """
    answer = read_answer(VerdictAnswer, given, stored=playbook.task().stored)
    human_verdict = give_verdict(playbook, decision_id, answer)
    label = human_verdict.recorded.label
    assert label is not None
    # The label is stored by now: feedback counts nothing twice, and learns if nobody has yet.
    waiting = Curator().awaiting_approval(lowering_only=True)
    learned = feedback(
        playbook, decision_id, label.value, source=label.source, curator=waiting
    ).curation
    return Answered(human_verdict, learned, human_verdict.is_by(answer))


def approve_outside_run(
    playbook: BulletPlaybook, bullet_id: str, given: Mapping[str, object], *, alone: bool = False
) -> Status:
    """Let a bullet act or retire it, with `who`, `approve` and `why`; gives its status."""
    answer = read_answer(ApprovalAnswer, given)
    return give_approval(playbook, bullet_id, answer, Curator(), alone=alone).status


def switch(
    playbook: BulletPlaybook,
    bullet_id: str,
    status: str,
    reason: str,
    by: str,
    *,
    alone: bool = False,
) -> bool:
    """Switch a bullet off (retired) or on again (active); False if it was so before.

    One that does not decline waits for a second person before it acts again.
    """
    if status not in ("active", "retired"):
        raise InvalidInput(f"a bullet is set active or retired, not {status[:20]!r}")
    with playbook.writing():
        bullet, after = playbook.get_bullet(bullet_id), cast(Status, status)
        if bullet.status == status:
            return False
        if status == "active":
            if bullet.status == "candidate":
                raise InvalidInput(f"{bullet_id} waits for approval: 'acegraph review {bullet_id}'")
            if not acts_on_one_word(playbook.database, bullet, by, reason, alone=alone):
                after = "candidate"
        playbook.set_status(bullet_id, after, f"alone: {reason}" if alone else reason, by)
        return True
