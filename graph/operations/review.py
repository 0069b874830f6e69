"""What a person does outside a run: answer a waiting transaction, switch a bullet off and on.

Inside a run nodes/judge/review.py asks.
"""

from dataclasses import dataclass

from acegraph.graph.operations.feedback import feedback
from acegraph.nodes.curator.curator import Curation
from acegraph.state import BulletPlaybook
from acegraph.state.errors import InvalidInput
from acegraph.state.playbook.review_queue import HumanVerdict, give_verdict
from acegraph.state.run.review_answers import VerdictAnswer
from acegraph.state.values.bullet import Status


@dataclass(frozen=True)
class Answered:
    """What an answer outside a run did."""

    human_verdict: HumanVerdict
    learned: Curation | None
    """What was learned, if the agent had been wrong; a new bullet waits for approval."""


def answer_outside_run(
    playbook: BulletPlaybook, decision_id: str, answer: VerdictAnswer
) -> Answered:
    """Answer a waiting transaction without its run; a mistake of the agent is learned from."""
    human_verdict = give_verdict(playbook, decision_id, answer)
    label = human_verdict.recorded.label
    assert label is not None
    # The label is stored by now: feedback counts nothing twice, and learns if nobody has yet.
    learned = feedback(playbook, decision_id, label.value, source=label.source).curation
    return Answered(human_verdict, learned)


def retire(playbook: BulletPlaybook, bullet_id: str, reason: str, by: str) -> bool:
    """Switch a bullet off; False if it was off before."""
    return _switch(playbook, bullet_id, "retired", reason, by)


def restore(playbook: BulletPlaybook, bullet_id: str, reason: str, by: str) -> bool:
    """Switch a retired bullet on; one that waited for approval waits again. False if it was on."""
    with playbook.writing():
        if playbook.get_bullet(bullet_id).status == "candidate":
            raise InvalidInput(f"{bullet_id} waits for approval: 'acegraph review {bullet_id}'")
        statuses: list[Status] = [row["status"] for row in playbook.history(bullet_id)]
        in_use = (status for status in reversed(statuses) if status in ("active", "candidate"))
        return _switch(playbook, bullet_id, next(in_use, "active"), reason, by)


def _switch(playbook: BulletPlaybook, bullet_id: str, status: Status, reason: str, by: str) -> bool:
    with playbook.writing():
        is_new = playbook.get_bullet(bullet_id).status != status
        if is_new:
            playbook.set_status(bullet_id, status, reason, by)
        return is_new
