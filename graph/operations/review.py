"""Answer a waiting transaction outside its run; inside a run nodes/judge/review.py asks."""

from dataclasses import dataclass

from acegraph.graph.operations.feedback import feedback
from acegraph.nodes.curator.curator import Curation
from acegraph.state import BulletPlaybook
from acegraph.state.playbook.review_queue import HumanVerdict, give_verdict
from acegraph.state.run.review_answers import VerdictAnswer


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
