"""One walk over a ruleset, for every language that it is written in.

A language says how it asks for a value (`compared`), how it asks whether there is one, and how it
joins answers. Every test is true or false, never neither. The kinds of fields are known, so what
no value of a field can be is written as such.
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from acegraph.nodes.rules.points import UNIT, weight_of
from acegraph.nodes.rules.ruleset import Ruleset, Scored
from acegraph.state import InvalidSettings
from acegraph.state.task.field import Field
from acegraph.state.values import Comparison, Scalar, is_number

Written = TypeVar("Written")
_PARTS: Final = {"hour": "number", "month": "number", "weekday": "category"}
LEFT_OUT: Final = (
    "nothing is recorded, and nothing is learned: labels, evidence and history stay in the ledger"
)


@dataclass(frozen=True)
class Source:
    """What is written down: a ruleset, and the fields that its decisions depend on."""

    ruleset: Ruleset
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        matter = self.ruleset.that_matter
        between = {one.name for one in self.ruleset.task.differences} & matter
        if between:
            raise InvalidSettings(f"{min(between)} is computed from two times; only tables have it")

    @property
    def kinds(self) -> dict[str, str]:
        """What a fitted value of each name is: number, flag or category; also of parts of times."""
        kinds: dict[str, str] = {}
        for one in self.fields:
            kinds[one.name] = one.kind if one.kind in ("number", "flag") else "category"
            kinds |= {f"{one.name}.{part}": _PARTS[part] for part in one.parts}
        return kinds

    @property
    def limit(self) -> int:
        """The points above which is declined, where that does not depend on the amount."""
        low, high = self.ruleset.scale.limits_of_all
        if self.ruleset.scale.costs and low != high:
            raise InvalidSettings(
                "the limit goes by the amount, which wants a logarithm: export --to python or sql"
            )
        return self.ruleset.scale.limit({})

    @property
    def checksum(self) -> str:
        """The same for everything that decides the same, whatever language it is written in."""
        told = [self.ruleset.to_json(), self.ruleset.undecided, [*map(repr, self.fields)]]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def sentences(self) -> Iterator[tuple[Scored, str, str]]:
        """All that is added up, each with its name and what it says."""
        for one in self.ruleset.scored:
            bullet = one.bullet or (
                None if one.part_of is None else self.ruleset.rules[one.part_of]
            )
            if bullet and bullet.condition:
                graded = "" if bullet.is_graded else f" {weight_of(bullet):+.2f}"
                yield one, bullet.id, f"{bullet.id}{graded}: {bullet.condition.render()}"
            else:
                told = one.tests[0].render()
                yield one, "", f"scorecard {one.points / UNIT:+.2f}: {told}"


class Walk(ABC, Generic[Written]):
    """Writes tests in one language."""

    language: str

    def __init__(self, source: Source) -> None:
        self.kinds = source.kinds

    def all_of(self, tests: Sequence[Comparison]) -> Written:
        """Whether all of them hold."""
        return self._both([self.test(one) for one in tests])

    def test(self, test: Comparison) -> Written:
        """Whether a test holds."""
        if steps := test.steps:
            parts = (tests for points, tests in test.parts if 2 * points >= steps.most)
            return self._either([self.all_of(tests) for tests in parts])
        kind, value = self.kinds.get(test.field), test.value
        if kind is None:
            return self._always(test.op == "is missing")
        if test.op == "mentions":
            return self._mentioned(test.field, str(value))
        if test.is_of_presence:
            return self._known(test.field, test.op == "is known")
        wanted = "flag" if isinstance(value, bool) else "number" if is_number(value) else "category"
        if kind == wanted:
            return self._compared(test.field, test.op, value)
        return self._known(test.field, True) if test.op == "is not" else self._never(test.field)

    def unclear(self, source: Source) -> Written:
        """Whether nothing is known of a payment, or a value is not of its kind."""
        asked = source.ruleset.tested | {source.ruleset.scale.amount_name or ""}
        nothing = [self._known(name, False) for name in sorted(asked & self.kinds.keys())]
        odd = [self._odd(name) for name in self.kinds]
        return self._either([self._both(nothing or [self._always(True)]), *odd])

    def _mentioned(self, name: str, phrase: str) -> Written:
        """Whether a text has the words of a phrase."""
        raise InvalidSettings(
            f"{self.language} cannot say what a text mentions ({name}, {phrase!r}); score a file "
            "instead, or export --to python"
        )

    def _never(self, name: str) -> Written:
        """What no value of a field is."""
        return self._always(False)

    def _odd(self, name: str) -> Written:
        """Whether a value is not of its kind, where what reads it does not see to that."""
        return self._always(False)

    @abstractmethod
    def _always(self, holds: bool) -> Written:
        """True or false."""

    @abstractmethod
    def _known(self, name: str, wanted: bool) -> Written:
        """Whether a field has a value, or has none."""

    @abstractmethod
    def _compared(self, name: str, op: str, value: Scalar) -> Written:
        """Whether a field has a value, and it compares so with another one of its kind."""

    @abstractmethod
    def _both(self, parts: list[Written]) -> Written:
        """Whether all hold."""

    @abstractmethod
    def _either(self, parts: list[Written]) -> Written:
        """Whether one holds."""
