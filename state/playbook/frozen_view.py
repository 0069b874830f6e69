"""A playbook as it stood at one moment: what decisions see that are made while others are learned
from.

Bullets and cases are those of that moment. Vectors are looked up and kept in the playbook itself:
they follow from a text and a model, whenever they are bought.
"""

from collections.abc import Iterable, Mapping

from acegraph.state.playbook.index import Bools, View
from acegraph.state.playbook.playbook import BulletPlaybook
from acegraph.state.playbook.vector_matrix import Vector, VectorMatrix
from acegraph.state.values.bullet import Bullet, Status
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.decision import Clock


class FrozenPlaybook:
    """What selector, agent and reflector read of a playbook, standing still."""

    def __init__(self, playbook: BulletPlaybook, node: str) -> None:
        self._playbook = playbook
        self._view = playbook.view(node)
        everyone = playbook.get_bullets_for_node(node, status=None)
        self._bullets = {b.id: b for b in everyone}
        self._cases = playbook.cases(node)

    @property
    def clock(self) -> Clock:
        """Which moment that was."""
        return self._view.clock

    def get_bullet(self, bullet_id: str) -> Bullet:
        """One bullet by its id."""
        return self._bullets[bullet_id]

    def get_bullets_for_node(
        self, node: str, source: str | None = None, *, status: Status | None = "active"
    ) -> list[Bullet]:
        """The node's bullets: active ones, of one source if asked."""
        return [
            b
            for b in self._bullets.values()
            if (source is None or b.source == source) and (status is None or b.status == status)
        ]

    def cases(self, node: str) -> CaseTable:
        """The labelled cases."""
        return self._cases

    def view(self, node: str) -> View:
        """The bullets as arrays."""
        return self._view

    def matrix(self, view: View, model: str, wanted: Bools) -> VectorMatrix | None:
        """The unit vectors of bullets."""
        return self._playbook.matrix(view, model, wanted)

    def store_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of bullets."""
        self._playbook.store_vectors(model, vectors)

    def text_vectors(self, model: str, texts: Iterable[str]) -> dict[str, Vector]:
        """The stored vectors of any texts."""
        return self._playbook.text_vectors(model, texts)

    def store_text_vectors(self, model: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of any texts."""
        self._playbook.store_text_vectors(model, vectors)


ReadablePlaybook = BulletPlaybook | FrozenPlaybook
"""What selector and reflector read: the playbook as it is now, or as it stood."""
