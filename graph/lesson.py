"""A lesson: one judged decision on its way through reflector and curator, now or when its label
comes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acegraph.graph.collaborators import Reflecting
from acegraph.nodes.curator import Curation, Curator
from acegraph.nodes.reflector import Judged, Reflection
from acegraph.nodes.waiting import Wait
from acegraph.state import BulletPlaybook, Condition, Transaction, Verdict

NOTHING_LEARNED = "the reflector found nothing to learn"


@dataclass(frozen=True)
class Lesson:
    """A decision whose right answer is known."""

    decision_id: str
    transaction: Transaction
    decision: Verdict
    correct: Verdict
    reasons: Sequence[str]
    settings: Mapping[str, Any]
    """Those of the run that decided."""
    label_source: str = "label"
    """Who says what would have been right."""

    async def reflect(
        self, reflector: Reflecting, playbook: BulletPlaybook, wait: Wait
    ) -> Reflection | None:
        """The heuristic that the reflector draws from it, with all the evidence there is."""
        node, source = self.settings["node"], self.settings["source"]
        table = await wait.work(playbook.cases, node)
        bullets = await wait.work(playbook.get_bullets_for_node, node, source)
        judged = Judged(
            self.transaction,
            self.decision,
            self.correct,
            "\n".join(self.reasons),
            table,
            bullets,
        )
        return await reflector.settle(judged, wait, self.settings["reflector_model"])

    def curate(
        self, reflection: Mapping[str, Any] | None, curator: Curator, playbook: BulletPlaybook
    ) -> Curation:
        """Let the heuristic in or refuse it, and note that this decision has been learned from."""
        node = self.settings["node"]
        if self.settings.get("review"):  # a late label takes the same road
            curator = curator.awaiting_approval()
        with playbook.writing():
            learned = playbook.decision(self.decision_id)["lesson"]
            if learned is not None:  # the same decision, delivered twice at once
                return Curation(**{**learned, "retired": tuple(learned["retired"])})
            if reflection is None:
                retired = curator.tend(node, playbook)
                found = Curation("refused", NOTHING_LEARNED, retired=tuple(retired))
            else:
                condition = reflection.get("condition")
                found = curator.curate(
                    reflection["new_bullet"],
                    node,
                    playbook,
                    self.settings["learn_as"],
                    condition=Condition.from_json(condition) if condition else None,
                    problem_types=reflection["problem_types"],
                    confidence=reflection["confidence"],
                    origin={
                        "decision": self.decision_id,
                        "label": self.correct,
                        "label_source": self.label_source,
                        "author": reflection.get("author", ""),
                    },
                )
            playbook.conclude(self.decision_id, found.to_json())
        return found
