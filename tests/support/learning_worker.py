"""A process that decides and learns in the background, and ends at some moment of its writes."""

import os

from ledger_worker import until_it_answers

from acegraph.graph import create_ace_graph, learn_waiting
from acegraph.nodes import Curator
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.database.writer import LedgerWriter

WRONG = 3
"""Each of so many decisions is wrong."""


class Mortal(BulletPlaybook):
    """The process ends before or after the commit of one of its writes."""

    moments_left = 0

    def _live_on(self) -> None:
        self.moments_left -= 1
        if self.moments_left == 0:
            os._exit(9)

    def flush(self, writer: LedgerWriter) -> None:
        """The commit comes next."""
        super().flush(writer)
        self._live_on()

    def settle(self, writer: LedgerWriter) -> None:
        """The commit is done."""
        super().settle(writer)
        self._live_on()


def decide_and_learn(url: str, moments: int = 0) -> None:
    """Decide wrongly, and learn a bullet of its own from each decision; with `moments` die then."""
    with until_it_answers(lambda: Mortal(url)) as playbook:
        playbook.moments_left = moments
        graph = create_ace_graph(
            playbook=playbook, agent=lambda given: "APPROVE", context=AceContext(learn_later=True)
        ).compile()
        for number in range(WRONG):
            given = {
                "transaction": {"amount": 10.0 + number},
                "ground_truth": "DECLINE",
                "decision_id": f"d{number}",
            }
            graph.invoke(given)
        learn_waiting(
            playbook,
            reflector=lambda given: {"new_bullet": f"Heuristic of {given['query']}"},
            curator=Curator(gate="off", screen=None, similarity_threshold=1),
        )
