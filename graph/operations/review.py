"""Answer a waiting transaction outside its run, as `acegraph review` does."""

from dataclasses import dataclass

from acegraph.graph.operations.feedback import feedback
from acegraph.nodes.curator.curator import Curation
from acegraph.state import BulletPlaybook
from acegraph.state.playbook.review_queue import HumanVerdict, give_verdict
from acegraph.state.run.review_answers import VerdictAnswer


@dataclass(frozen=True)
class Answered:
    """What an answer outside a run did."""

    ruled: HumanVerdict
    learned: Curation | None
    """What was learned, where the agent had been wrong; a bullet waits for approval."""


def answer_outside_run(
    playbook: BulletPlaybook, decision_id: str, answer: VerdictAnswer
) -> Answered:
    """Answer a waiting transaction without its run; a mistake of the agent is learned from."""
    ruled = give_verdict(playbook, decision_id, answer)
    label = ruled.recorded.label
    assert label is not None
    # Known by now: it counts nothing, and learns what has not been learned.
    learned = feedback(playbook, decision_id, label.value, source=label.source).curation
    return Answered(ruled, learned)
