"""A playbook as it was at one moment, for decisions made while other decisions are learned from.

Bullets, cases, task and policy are those of that moment. What was paid before a payment, and the
vectors, are those of the playbook itself: they do not follow from the moment.
"""

from contextlib import AbstractContextManager

from acegraph.state.database.writer import LedgerWriter
from acegraph.state.playbook.playbook import BulletPlaybook


class FrozenPlaybook(BulletPlaybook):
    """What selector, agent and reflector read of a playbook, as it was when this was made."""

    def __init__(self, playbook: BulletPlaybook, node: str) -> None:
        with playbook.database.lock:
            cases, _ = playbook.cases(node), playbook.policy(node)
            self.__dict__.update(playbook.__dict__)
            self._playbook, self._set = playbook, playbook._set.copy()
            self._bullets = playbook._bullets.at(self._clock, node)
            self._cases = {node: cases}

    def _read_news(self) -> None:
        """Nothing: it stays as it was."""

    def writing(self) -> AbstractContextManager[LedgerWriter]:
        """Vectors that are fetched on the way are written to the playbook itself."""
        return self._playbook.writing()
