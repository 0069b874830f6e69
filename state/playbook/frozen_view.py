"""A playbook as it was at one moment, for decisions made while other decisions are learned from.

Bullets and cases are those of that moment; vectors are those of the playbook itself.
"""

from collections.abc import Iterable

from acegraph.state.playbook.index import View
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.task.policy import Policy
from acegraph.state.task.task import Task
from acegraph.state.values.bullet import Bullet, Status
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.decision import Clock


class FrozenPlaybook:
    """What selector, agent and reflector read of a playbook, as it was when this was made."""

    def __init__(self, playbook: BulletPlaybook, node: str) -> None:
        self._playbook, self._view = playbook, playbook.view(node)
        self._bullets = {b.id: b for b in playbook.get_bullets_for_node(node, status=None)}
        self._cases, self._policy = playbook.cases(node), playbook.policy(node)
        # A payment sees what was paid before it, whichever decisions are learned from meanwhile.
        self.sighting_columns, self.past = playbook.sighting_columns, playbook.past
        self.tested_derived = playbook.tested_derived
        # Vectors follow from a text and a model, and not from the moment.
        self.matrix = playbook.matrix
        self.store_vectors = playbook.store_vectors
        self.text_vectors = playbook.text_vectors
        self.store_text_vectors = playbook.store_text_vectors

    @property
    def embedding_model(self) -> str | None:
        """The model whose vectors the bullets got last."""
        return self._playbook.embedding_model

    @property
    def clock(self) -> Clock:
        """The moment at which the playbook was frozen."""
        return self._view.clock

    def get_bullet(self, bullet_id: str) -> Bullet:
        """One bullet by its id."""
        return self._bullets[bullet_id]

    def get_bullets(self, bullet_ids: Iterable[str]) -> list[Bullet]:
        """Several bullets by their ids."""
        return [self._bullets[bullet_id] for bullet_id in bullet_ids]

    def get_bullets_for_node(
        self, node: str, source: str | None = None, *, status: Status | None = "active"
    ) -> list[Bullet]:
        """The node's bullets with a status; only the offline or online ones if `source` is set."""
        return [
            b
            for b in self._bullets.values()
            if (source is None or b.source == source) and (status is None or b.status == status)
        ]

    def cases(self, node: str) -> CaseTable:
        """The labelled cases."""
        return self._cases

    def task(self, node: str) -> Task:
        """What the cases of the node are."""
        assert self._cases.task is not None
        return self._cases.task

    def policy(self, node: str) -> Policy:
        """What is wanted of the node's decisions."""
        return self._policy

    def view(self, node: str) -> View:
        """The bullets as arrays."""
        return self._view


ReadablePlaybook = BulletPlaybook | FrozenPlaybook
"""What selector and reflector read: the playbook as it is now, or as it was at one moment."""
