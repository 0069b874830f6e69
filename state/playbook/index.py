"""All bullets in memory, and per node the arrays that selection computes on.

`NodeBullets` has one row for each bullet of a node, in the order of their numbers: counters,
status, source, conditions and, per embedding model, the unit vectors. It is made at first use; then
a changed bullet changes its row and a new bullet appends a row. It is made again only when a bullet
comes out of order, or with another text under a known number (a write that was undone).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.playbook.rule_table import Answers, RuleTable
from acegraph.state.playbook.vector_matrix import Vector, VectorMatrix, grown
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.condition import Condition
from acegraph.state.values.decision import Clock
from acegraph.state.values.transaction import Scalar
from acegraph.state.values.verdict import APPROVE, DECLINE

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
_COLUMNS: Final = (
    *("numbers", "helpful", "harmful", "rates", "is_active", "is_on_trial", "is_online"),
    *("lengths", "leaning"),
)


class NodeBullets:
    """The bullets of one node as rows of arrays."""

    def __init__(self) -> None:
        self.bullets: list[Bullet] = []
        self.numbers = np.zeros(0, np.int64)
        self.helpful: Floats = np.zeros(0)
        self.harmful: Floats = np.zeros(0)
        self.rates: Floats = np.zeros(0)
        """Success rates."""
        self.is_active: Bools = np.zeros(0, bool)
        self.is_on_trial: Bools = np.zeros(0, bool)
        self.is_online: Bools = np.zeros(0, bool)
        self.lowered: list[str] = []
        """The texts in lower case, for the search for duplicates."""
        self.lengths = np.zeros(0, np.int32)
        """The lengths of the texts in lower case."""
        self.leaning = np.zeros(0, np.int8)
        """1 for a rule that declines, -1 for one that approves, 0 for prose."""
        self.rules = RuleTable()
        self._copies: tuple[Floats, Floats, Floats, Bools, Bools] | None = None
        self._matrices: dict[str, VectorMatrix] = {}

    def put(self, bullet: Bullet) -> bool:
        """Write the bullet's row; False if that would move or change what a `View` shows."""
        size, number = len(self.bullets), bullet.number
        row = int(np.searchsorted(self.numbers[:size], number))
        if row < size:
            before = self.bullets[row]
            fixed = (before.number, before.content, before.condition, before.source)
            if fixed != (number, bullet.content, bullet.condition, bullet.source):
                return False
            self.bullets[row] = bullet
        else:
            self._append(bullet)
        self.helpful[row], self.harmful[row] = bullet.helpful_count, bullet.harmful_count
        self.rates[row] = bullet.get_success_rate()
        self.is_active[row] = bullet.status == "active"
        self.is_on_trial[row] = bullet.is_on_trial
        self._copies = None
        return True

    def copies(self) -> tuple[Floats, Floats, Floats, Bools, Bools]:
        """Counters, success rates and status as they are now; copied once, until a row changes."""
        if self._copies is None:
            size = len(self.bullets)
            self._copies = (
                self.helpful[:size].copy(),
                self.harmful[:size].copy(),
                self.rates[:size].copy(),
                self.is_active[:size].copy(),
                self.is_on_trial[:size].copy(),
            )
        return self._copies

    def _append(self, bullet: Bullet) -> None:
        row = len(self.bullets)
        for name in _COLUMNS:
            setattr(self, name, grown(getattr(self, name), row + 1))
        self.numbers[row], self.is_online[row] = bullet.number, bullet.source == "online"
        self.lowered.append(bullet.content.lower())
        self.lengths[row] = len(self.lowered[row])
        self.leaning[row] = {DECLINE: 1, APPROVE: -1, None: 0}[bullet.verdict]
        self.rules.put(row, bullet.condition)
        self.bullets.append(bullet)

    def put_vectors(self, model: str, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Write vectors by bullet number; numbers of bullets of other nodes are ignored."""
        size = len(self.bullets)
        for number, vector in vectors:
            row = int(np.searchsorted(self.numbers[:size], number))
            if row < size and self.numbers[row] == number:
                matrix = self._matrices.setdefault(model, VectorMatrix(len(vector)))
                matrix.put(row, vector, size)

    def has_vector(self, model: str) -> Bools:
        """Which of the first rows have a vector of a model; nothing is written."""
        matrix = self._matrices.get(model)
        return matrix.is_known if matrix is not None else np.zeros(0, bool)

    def matrix(self, model: str) -> VectorMatrix | None:
        """The vectors of one model, with a row for every bullet; None if there are no vectors.

        It may make room for rows, which two threads must not do at once.
        """
        matrix = self._matrices.get(model)
        if matrix is not None:
            matrix.reserve(len(self.bullets))
        return matrix


@dataclass(frozen=True)
class View:
    """A node's bullets as they were at one moment: later changes do not show."""

    clock: Clock
    """The moment."""
    node_bullets: NodeBullets
    size: int
    helpful: Floats
    harmful: Floats
    rates: Floats
    is_active: Bools
    is_on_trial: Bools
    is_online: Bools

    @classmethod
    def of(cls, node_bullets: NodeBullets, clock: Clock) -> "View":
        """The bullets as they are now; numbers, conditions and vectors of a row never change."""
        size = len(node_bullets.bullets)
        is_online = node_bullets.is_online[:size]
        return cls(clock, node_bullets, size, *node_bullets.copies(), is_online)

    def in_context(self, source: str | None) -> Bools:
        """Which bullets are active or rules on trial; only the offline or online ones if `source`
        is set.
        """
        may_be_shown = self.is_active | self.is_on_trial
        if source is None:
            return may_be_shown
        return may_be_shown & (self.is_online if source == "online" else ~self.is_online)

    def records(self, odds: float) -> tuple[Floats, Floats, Floats]:
        """Helpful and harmful outcomes and success rates, as they would be at even odds of fraud.

        Where there are `odds` frauds to an honest payment, the outcomes of the more frequent label
        count less: a rule that is right 20 times as often as chance is good at any rate of fraud.
        With as many frauds as honest payments nothing changes.
        """
        if odds == 1:
            return self.helpful, self.harmful, self.rates
        fraud, honest = min(1.0, 1 / odds), min(1.0, odds)
        leaning = self.node_bullets.leaning[: self.size]
        helpful = self.helpful * np.select([leaning > 0, leaning < 0], [fraud, honest], 1.0)
        harmful = self.harmful * np.select([leaning > 0, leaning < 0], [honest, fraud], 1.0)
        judged = helpful + harmful
        rates = np.divide(helpful, judged, out=np.full(self.size, 0.5), where=judged > 0)
        return helpful, harmful, rates

    @property
    def has_rules(self) -> bool:
        """Whether any bullet carries a condition."""
        return self.node_bullets.rules.has_any

    @property
    def is_rule(self) -> Bools:
        """Which bullets carry a condition."""
        return self.node_bullets.rules.is_rule[: self.size]

    def holds(self, fields: Mapping[str, Scalar]) -> Answers:
        """What each condition says of the fields of a transaction."""
        return self.node_bullets.rules.holds(fields, self.size)

    def of_length(self, low: float, high: float) -> Rows:
        """The rows whose texts, in lower case, have from `low` to `high` characters."""
        lengths = self.node_bullets.lengths[: self.size]
        return np.flatnonzero((lengths >= low) & (lengths <= high))

    def same_tests(self, condition: Condition) -> Rows:
        """The rows whose conditions test the same; their verdicts may differ."""
        return self.node_bullets.rules.same_tests(condition, self.size)

    def lacking(self, model: str, wanted: Bools) -> Rows:
        """Those of the wanted rows that have no vector of a model in memory."""
        lacking = wanted.copy()
        has_vector = self.node_bullets.has_vector(model)[: self.size]
        lacking[: len(has_vector)] &= ~has_vector
        return np.flatnonzero(lacking)

    def bullets(self, rows: Rows) -> tuple[Bullet, ...]:
        """The bullets of some rows."""
        return tuple(self.node_bullets.bullets[row] for row in rows.tolist())


class BulletIndex(dict[int, Bullet]):
    """All bullets by number, and by node for the nodes that were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self._nodes: dict[str, NodeBullets] = {}

    def __setitem__(self, number: int, bullet: Bullet) -> None:
        before = self.get(number)
        if before is not None and before.node != bullet.node:  # undone; the number is used again
            self._nodes.pop(before.node, None)
        super().__setitem__(number, bullet)
        node_bullets = self._nodes.get(bullet.node)
        if node_bullets is not None and not node_bullets.put(bullet):
            del self._nodes[bullet.node]

    def __delitem__(self, number: int) -> None:
        self._nodes.pop(self[number].node, None)
        super().__delitem__(number)

    def of_node(self, node: str) -> NodeBullets:
        """The bullets of one node."""
        if node not in self._nodes:
            node_bullets = NodeBullets()
            for _, bullet in sorted(self.items()):
                if bullet.node == node:
                    node_bullets.put(bullet)
            self._nodes[node] = node_bullets
        return self._nodes[node]

    def forget_vectors(self) -> None:
        """Forget all vectors; they are read again when they are needed."""
        self._nodes.clear()

    def put_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Write vectors, by bullet number, for the nodes that were asked for."""
        for node_bullets in self._nodes.values():
            node_bullets.put_vectors(model, vectors.items())
