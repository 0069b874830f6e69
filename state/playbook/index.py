"""All bullets in memory, and per node the arrays that selection computes on.

A node's shelf has one row for each of its bullets, in the order of their numbers: counters, status,
source, conditions and, per embedding model, the unit vectors. It is made when first asked for; then
a changed bullet changes its row and a new one appends a row. It is made anew only when a bullet
comes out of order, or with another text under a known number (a write that was undone).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from acegraph.state.playbook.growing_arrays import grown
from acegraph.state.playbook.rule_table import Answers, RuleTable
from acegraph.state.playbook.vector_matrix import Vector, VectorMatrix
from acegraph.state.values.bullet import Bullet
from acegraph.state.values.condition import Condition
from acegraph.state.values.decision import Clock
from acegraph.state.values.transaction import Scalar

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
_COLUMNS: Final = ("numbers", "helpful", "harmful", "rates", "is_active", "is_online", "lengths")


class NodeBullets:
    """The bullets of one node as rows."""

    def __init__(self) -> None:
        self.bullets: list[Bullet] = []
        self.numbers = np.zeros(0, np.int64)
        self.helpful: Floats = np.zeros(0)
        self.harmful: Floats = np.zeros(0)
        self.rates: Floats = np.zeros(0)
        """Success rates."""
        self.is_active: Bools = np.zeros(0, bool)
        self.is_online: Bools = np.zeros(0, bool)
        self.lowered: list[str] = []
        """The texts in lower case, for the search for duplicates."""
        self.lengths = np.zeros(0, np.int32)
        """Of the texts in lower case."""
        self.rules = RuleTable()
        self._copies: tuple[Floats, Floats, Floats, Bools] | None = None
        self._matrices: dict[str, VectorMatrix] = {}

    def put(self, bullet: Bullet) -> bool:
        """Write the bullet's row; False where that would move or change what others look at."""
        size, number = len(self.bullets), bullet.number
        row = int(np.searchsorted(self.numbers[:size], number))
        if row < size:
            before = self.bullets[row]
            if before.number != number or before.content != bullet.content:
                return False
            if before.condition != bullet.condition or before.source != bullet.source:
                return False
            self.bullets[row] = bullet
        else:
            self._append(bullet)
        self.helpful[row], self.harmful[row] = bullet.helpful_count, bullet.harmful_count
        self.rates[row] = bullet.get_success_rate()
        self.is_active[row] = bullet.status == "active"
        self._copies = None
        return True

    def copies(self) -> tuple[Floats, Floats, Floats, Bools]:
        """Counters, rates and status as they are now; made once, until a row changes."""
        if self._copies is None:
            size = len(self.bullets)
            self._copies = (
                self.helpful[:size].copy(),
                self.harmful[:size].copy(),
                self.rates[:size].copy(),
                self.is_active[:size].copy(),
            )
        return self._copies

    def _append(self, bullet: Bullet) -> None:
        row = len(self.bullets)
        for name in _COLUMNS:
            setattr(self, name, grown(getattr(self, name), row + 1))
        self.numbers[row], self.is_online[row] = bullet.number, bullet.source == "online"
        self.lowered.append(bullet.content.lower())
        self.lengths[row] = len(self.lowered[row])
        self.rules.put(row, bullet.condition)
        self.bullets.append(bullet)

    def put_vectors(self, model: str, vectors: Iterable[tuple[int, Vector]]) -> None:
        """Write the vectors of some bullets by their numbers; others' numbers are passed over."""
        size = len(self.bullets)
        for number, vector in vectors:
            row = int(np.searchsorted(self.numbers[:size], number))
            if row < size and self.numbers[row] == number:
                matrix = self._matrices.setdefault(model, VectorMatrix(len(vector)))
                matrix.put(row, vector, size)

    def known(self, model: str) -> Bools:
        """Which of the first rows have a vector of a model; nothing is written."""
        matrix = self._matrices.get(model)
        return matrix.is_known if matrix is not None else np.zeros(0, bool)

    def matrix(self, model: str) -> VectorMatrix | None:
        """The vectors of one model, where there are any, with a row for every bullet.

        Room is made where it lacks, which no two threads may do at once.
        """
        matrix = self._matrices.get(model)
        if matrix is not None:
            matrix.reserve(len(self.bullets))
        return matrix


@dataclass(frozen=True)
class View:
    """A node's bullets as they were at one moment: what others do meanwhile does not change it."""

    clock: Clock
    """Which moment."""
    shelf: NodeBullets
    size: int
    helpful: Floats
    harmful: Floats
    rates: Floats
    is_active: Bools
    is_online: Bools

    @classmethod
    def of(cls, shelf: NodeBullets, clock: Clock) -> "View":
        """What a shelf holds now. Numbers, conditions and vectors need no copy: a row keeps its
        own.
        """
        size = len(shelf.bullets)
        return cls(clock, shelf, size, *shelf.copies(), shelf.is_online[:size])

    def in_context(self, source: str | None) -> Bools:
        """Which bullets are active, and of the source where one is asked for."""
        if source is None:
            return self.is_active
        of_source = self.is_online if source == "online" else ~self.is_online
        return self.is_active & of_source

    @property
    def has_rules(self) -> bool:
        """Whether any bullet carries a condition."""
        return self.shelf.rules.has_any

    @property
    def is_rule(self) -> Bools:
        """Which bullets carry a condition."""
        return self.shelf.rules.is_rule[: self.size]

    def holds(self, fields: Mapping[str, Scalar]) -> Answers:
        """What each condition says of a transaction."""
        return self.shelf.rules.holds(fields, self.size)

    def of_length(self, low: float, high: float) -> NDArray[np.intp]:
        """The rows whose texts, in lower case, have so many characters."""
        lengths = self.shelf.lengths[: self.size]
        return np.flatnonzero((lengths >= low) & (lengths <= high))

    def same_tests(self, condition: Condition) -> NDArray[np.intp]:
        """The rows whose conditions test the same; their verdicts may differ."""
        return self.shelf.rules.same_tests(condition, self.size)

    def lacking(self, model: str, wanted: Bools) -> NDArray[np.intp]:
        """The rows of those wanted that have no vector of a model in memory."""
        lacking = wanted.copy()
        known = self.shelf.known(model)[: self.size]
        lacking[: len(known)] &= ~known
        return np.flatnonzero(lacking)

    def bullets(self, rows: NDArray[Any]) -> tuple[Bullet, ...]:
        """The bullets of some rows."""
        return tuple(self.shelf.bullets[row] for row in rows.tolist())


class BulletIndex(dict[int, Bullet]):
    """All bullets by number, and the shelves of their nodes."""

    def __init__(self) -> None:
        super().__init__()
        self._shelves: dict[str, NodeBullets] = {}

    def __setitem__(self, number: int, bullet: Bullet) -> None:
        before = self.get(number)
        if before is not None and before.node != bullet.node:  # it was undone; another has it now
            self._shelves.pop(before.node, None)
        super().__setitem__(number, bullet)
        shelf = self._shelves.get(bullet.node)
        if shelf is not None and not shelf.put(bullet):
            del self._shelves[bullet.node]

    def __delitem__(self, number: int) -> None:
        self._shelves.pop(self[number].node, None)
        super().__delitem__(number)

    def shelf(self, node: str) -> NodeBullets:
        """The rows of one node."""
        if node not in self._shelves:
            shelf = NodeBullets()
            for bullet in sorted(
                (b for b in self.values() if b.node == node), key=lambda b: b.number
            ):
                shelf.put(bullet)
            self._shelves[node] = shelf
        return self._shelves[node]

    def put_vectors(self, model: str, vectors: Mapping[int, Vector]) -> None:
        """Write vectors into the shelves that are there."""
        for shelf in self._shelves.values():
            shelf.put_vectors(model, vectors.items())
