"""All bullets in memory, and per node the arrays that selection computes on.

A `View` has one row for each bullet of a node, in the order of their numbers: counters, status,
source, conditions and, per embedding model, the unit vectors. It is made at first use; then a
changed bullet changes its row and a new bullet appends a row. It is made again only when a bullet
comes out of order, or with another text under a known number (a write that was undone).
"""

from collections.abc import Iterable, Mapping
from copy import copy
from typing import Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.playbook.rule_table import Answers, RuleTable
from acegraph.state.values import APPROVE, DECLINE, Bullet, Clock, Condition, Scalar, grown

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
Vector = NDArray[np.float32]
_LEANING: Final = {DECLINE: 1, APPROVE: -1, None: 0}
"""A rule that declines, one that approves, and prose."""
_STATE: Final = np.dtype(
    [
        ("number", np.int64),
        ("helpful", np.float64),
        ("harmful", np.float64),
        ("rate", np.float64),
        ("is_active", np.bool_),
        ("is_on_trial", np.bool_),
        ("is_online", np.bool_),
        ("length", np.int32),
        ("leaning", np.int8),
    ]
)
"""What is computed on of a bullet: its success rate and the length of its text among others."""


def unit(vectors: Vector) -> Vector:
    """The vectors scaled to length 1; a zero vector stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).round(3).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    wide = vectors.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=-1, keepdims=True))
    return np.asarray(wide / np.where(lengths > 0, lengths, 1), np.float32)


class VectorMatrix:
    """The unit vectors of one model for the bullets of one node; it grows in place."""

    def __init__(self, size: int) -> None:
        self.rows: Vector = np.zeros((0, size), np.float32)
        self.is_known = np.zeros(0, bool)

    def put(self, row: int, vector: Vector, expected: int = 0) -> None:
        """Write one row; room for `expected` rows is made at once."""
        self.reserve(max(row + 1, expected))
        self.rows[row] = unit(vector)
        self.is_known[row] = True

    def reserve(self, rows: int) -> None:
        """Make room for so many rows."""
        self.rows = grown(self.rows, rows)
        self.is_known = grown(self.is_known, rows)


class View:
    """The bullets of one node as rows of arrays, as they are now or were at one moment."""

    def __init__(self) -> None:
        self.rows: list[Bullet] = []
        self.clock = Clock(0, 0)
        """The moment."""
        self._states = np.zeros(0, _STATE)
        self._rules = RuleTable()
        self._matrices: dict[str, VectorMatrix] = {}
        self._copies: tuple[list[Bullet], NDArray[np.void]] | None = None

    def at(self, clock: Clock) -> "View":
        """The bullets as they are now: later changes do not show.

        They are copied once, until a row changes; conditions and vectors of a row never change.
        """
        if self._copies is None:
            self._copies = self.rows.copy(), self._states[: self.size].copy()
        view = copy(self)
        (view.rows, view._states), view.clock = self._copies, clock
        return view

    def put(self, bullet: Bullet) -> bool:
        """Write the bullet's row; False if that would move or change what another view shows."""
        row, number = self._row_of(bullet.number), bullet.number
        if row < self.size:
            before = self.rows[row]
            fixed = (before.number, before.content, before.condition, before.source)
            if fixed != (number, bullet.content, bullet.condition, bullet.source):
                return False
            self.rows[row] = bullet
        else:
            self._states = grown(self._states, row + 1)
            self._rules.put(row, bullet.condition)
            self.rows.append(bullet)
        self._states[row] = (
            number,
            bullet.helpful_count,
            bullet.harmful_count,
            bullet.get_success_rate(),
            bullet.status == "active",
            bullet.is_on_trial,
            bullet.source == "online",
            len(bullet.content.lower()),
            _LEANING[bullet.verdict],
        )
        self._copies = None
        return True

    def _row_of(self, number: int) -> int:
        return int(np.searchsorted(self._states["number"][: self.size], number))

    def put_vectors(self, model: str, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Write vectors by bullet number; numbers of bullets of other nodes are ignored."""
        for number, vector in vectors:
            row = self._row_of(number)
            if row < self.size and self.rows[row].number == number:
                matrix = self._matrices.setdefault(model, VectorMatrix(len(vector)))
                matrix.put(row, vector, self.size)

    def matrix(self, model: str) -> VectorMatrix | None:
        """The vectors of one model, with a row for every bullet; None if there are no vectors.

        It may make room for rows, which two threads must not do at once.
        """
        matrix = self._matrices.get(model)
        if matrix is not None:
            matrix.reserve(self.size)
        return matrix

    @property
    def size(self) -> int:
        """How many bullets there are, whatever their status."""
        return len(self.rows)

    @property
    def active(self) -> int:
        """How many bullets are active."""
        return int(np.count_nonzero(self._states["is_active"]))

    @property
    def tested_derived(self) -> frozenset[str]:
        """The fields derived from earlier payments that conditions test."""
        return frozenset(self._rules.tested_derived)

    def in_context(self, source: str | None) -> Bools:
        """Which bullets are active or rules on trial; only the offline or online ones if `source`
        is set.
        """
        may_be_shown = self._states["is_active"] | self._states["is_on_trial"]
        if source is not None:
            may_be_shown &= self._states["is_online"] == (source == "online")
        return np.asarray(may_be_shown)

    def records(self, odds: float) -> tuple[Floats, Floats, Floats]:
        """Helpful and harmful outcomes and success rates, as they would be at even odds of fraud.

        Where there are `odds` frauds to an honest payment, the outcomes of the more frequent label
        count less: a rule that is right 20 times as often as chance is good at any rate of fraud.
        With as many frauds as honest payments nothing changes.
        """
        helpful, harmful = self._states["helpful"], self._states["harmful"]
        if odds == 1:
            return helpful, harmful, self._states["rate"]
        fraud, honest, leaning = min(1.0, 1 / odds), min(1.0, odds), self._states["leaning"]
        helpful = helpful * np.select([leaning > 0, leaning < 0], [fraud, honest], 1.0)
        harmful = harmful * np.select([leaning > 0, leaning < 0], [honest, fraud], 1.0)
        judged = helpful + harmful
        rates = np.divide(helpful, judged, out=np.full(self.size, 0.5), where=judged > 0)
        return helpful, harmful, rates

    def holds(self, fields: Mapping[str, Scalar]) -> Answers:
        """What each condition says of the fields of a transaction."""
        return self._rules.holds(fields, self.size)

    def of_length(self, low: float, high: float) -> Rows:
        """The rows whose texts, in lower case, have from `low` to `high` characters."""
        lengths = self._states["length"]
        return np.flatnonzero((lengths >= low) & (lengths <= high))

    def same_tests(self, condition: Condition) -> Rows:
        """The rows whose conditions test the same; their verdicts may differ."""
        return self._rules.same_tests(condition, self.size)

    def lacking(self, model: str, wanted: Bools) -> Rows:
        """Those of the wanted rows that have no vector of a model in memory."""
        lacking, matrix = wanted.copy(), self._matrices.get(model)
        if matrix is not None:
            has_vector = matrix.is_known[: self.size]
            lacking[: len(has_vector)] &= ~has_vector
        return np.flatnonzero(lacking)

    def bullets(self, rows: Rows) -> tuple[Bullet, ...]:
        """The bullets of some rows."""
        return tuple(map(self.rows.__getitem__, rows.tolist()))


class BulletIndex(dict[int, Bullet]):
    """All bullets by number, and by node for the nodes that were asked for."""

    def __init__(self, bullets: Mapping[int, Bullet] | None = None) -> None:
        super().__init__(bullets or {})
        self._nodes: dict[str, View] = {}
        self._copy: BulletIndex | None = None

    def __setitem__(self, number: int, bullet: Bullet) -> None:
        self._copy = None
        before = self.get(number)
        if before is not None and before.node != bullet.node:  # undone; the number is used again
            self._nodes.pop(before.node, None)
        super().__setitem__(number, bullet)
        of_node = self._nodes.get(bullet.node)
        if of_node is not None and not of_node.put(bullet):
            del self._nodes[bullet.node]

    def of_node(self, node: str) -> View:
        """The bullets of one node."""
        if node not in self._nodes:
            self._nodes[node] = View()
            for _, bullet in sorted(self.items()):
                if bullet.node == node:
                    self._nodes[node].put(bullet)
        return self._nodes[node]

    def at(self, clock: Clock, node: str) -> "BulletIndex":
        """All bullets, and those of one node as a view, as they are now.

        They are copied once, until one changes.
        """
        if self._copy is None:
            self._copy = BulletIndex(self)
        self._copy._nodes[node] = self.of_node(node).at(clock)
        return self._copy

    def forget_vectors(self) -> None:
        """Forget all vectors; they are read again when they are needed."""
        self._nodes.clear()

    def put_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Write vectors, by bullet number, for the nodes that were asked for."""
        for of_node in self._nodes.values():
            of_node.put_vectors(model, vectors.items())
