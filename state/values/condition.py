"""A condition: up to three comparisons over a transaction's fields and the verdict that follows.

Or one test by degrees: how much speaks for the verdict goes by the value of a field (graded.py).

It is plain data, not code: it can be stored, written as a sentence, read back, and tested on
thousands of past cases at once. It does not know where the fields come from.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from acegraph.state.errors import InvalidCondition
from acegraph.state.values.cases import Columns
from acegraph.state.values.notation import is_number
from acegraph.state.values.plain import Scalar, mentions
from acegraph.state.values.transaction import MAX_PHRASE, folded_words
from acegraph.state.values.verdict import DECLINE, Verdict, parse_verdict

if TYPE_CHECKING:
    from acegraph.state.values.graded import Steps

MAX_COMPARISONS: Final = 3
_ORDER: Final = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt}
_EQUALITY: Final = ("is", "is not")
_PRESENCE: Final = ("is missing", "is known")
MENTIONS: Final = "mentions"
BY: Final = "by"
"""The comparison that holds by degrees: its value is the text of its steps."""
_BARE_FIELD = re.compile(r"[A-Za-z_][\w.]*+")
_QUOTED: Final = r'"(?:[^"\\]|\\.)*+"'
# A comma separates thousands: "3,5" is not a number here, and must not be read as 35.
_NUMBER: Final = r"-?(?:\d{1,3}(?:,\d{3})+(?!,?\d)|\d+(?!,\d))(?:\.\d+)?(?:e[+-]?\d+)?"
_TEST = re.compile(
    rf"(?P<field>{_QUOTED}|{_BARE_FIELD.pattern})\s*"
    r"(?P<op><=|>=|<|>|==|!=|=|is missing\b|is known\b|is not\b|is\b|mentions\b)\s*"
    rf"(?P<value>{_QUOTED}|{_NUMBER}|(?:true|false)\b)?"
    r"(?:\s*,?\s*\band\s+(?=\S)|\s*\.?\s*$)",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"(?:<=|>=|<|>|=)\s*[^\s=]")
OPENING = re.compile(r"\s*(APPROVE|DECLINE)\s+(?:when|if)\s+", re.IGNORECASE)
_GRADED = re.compile(
    rf"\s*(?P<verdict>APPROVE|DECLINE)\s+(?:by\s+(?P<field>{_QUOTED}|{_BARE_FIELD.pattern}):"
    rf"|the\s+more\s+(?P<grows>{_QUOTED}|{_BARE_FIELD.pattern})\s+goes\s)\s*"
    r"(?P<steps>(?:from\s+-?\d|\+?[\d.]+\s*,).*)",
    re.IGNORECASE | re.DOTALL,
)
_ALIASES: Final = {"==": "is", "=": "is", "!=": "is not"}


class ComparisonData(TypedDict):
    """A comparison as it is stored."""

    field: str
    op: str
    value: Scalar


class ConditionData(TypedDict):
    """A condition as it is stored: if all comparisons hold, the verdict follows."""

    verdict: Verdict
    all: list[ComparisonData]


@dataclass(frozen=True)
class Comparison:
    """One test of one field."""

    field: str
    op: str
    value: Scalar = None

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise InvalidCondition(f"a comparison names a field; found {self.field!r}")
        if self.op not in (*_ORDER, *_EQUALITY, *_PRESENCE, MENTIONS, BY):
            raise InvalidCondition(f"unknown comparison {self.op!r} on field {self.field!r}")
        if self.op in _ORDER and not is_number(self.value):
            raise InvalidCondition(f"{self.field} {self.op} wants a number, found {self.value!r}")
        if self.op in _EQUALITY and not isinstance(self.value, str | bool | int | float):
            raise InvalidCondition(f"{self.field} {self.op} wants a value")
        if self.op in _PRESENCE and self.value is not None:
            raise InvalidCondition(f"{self.field} {self.op} takes no value")
        if self.op == BY:
            from acegraph.state.values.graded import steps_of

            steps = steps_of(self.value if isinstance(self.value, str) else "")
            object.__setattr__(self, "value", steps.render())
        if self.op == MENTIONS:
            words = folded_words(self.value) if isinstance(self.value, str) else ""
            if not 1 <= len(words.split()) <= MAX_PHRASE:
                raise InvalidCondition(f"{self.field} mentions wants 1 to {MAX_PHRASE} words")
            object.__setattr__(self, "value", words)
        if isinstance(self.value, int | float) and not abs(self.value) < math.inf:
            raise InvalidCondition(f"{self.field} {self.op} wants a finite number")

    @property
    def key(self) -> tuple[str, str, bool, Scalar]:
        """What tells it from others: true and 1 differ."""
        return self.field, self.op, isinstance(self.value, bool), self.value

    @property
    def is_of_presence(self) -> bool:
        """Whether it asks whether there is a value, and not for one."""
        return self.op in _PRESENCE

    @property
    def steps(self) -> Steps | None:
        """The steps of a test that holds by degrees."""
        from acegraph.state.values.graded import steps_of  # most rules have none

        return steps_of(str(self.value)) if self.op == BY else None

    @property
    def parts(self) -> list[tuple[int, tuple[Comparison, ...]]]:
        """Of a test by degrees: points, each with the tests that hold where these count."""
        return [
            (points, tuple(Comparison(self.field, op, value) for op, value in tests))
            for points, tests in (self.steps.parts() if self.steps else ())
        ]

    def holds(self, fields: Mapping[str, Scalar]) -> bool | None:
        """Whether the test holds; None if the transaction lacks the field.

        One by degrees holds where at least half of the most points count.

        >>> Comparison("amount", ">=", 100).holds({"amount": 250})
        True
        >>> Comparison("amount", ">=", 100).holds({"hour": 3}) is None
        True
        """
        value = fields.get(self.field)
        if self.op == "is missing":
            return value is None
        if self.op == "is known":
            return value is not None
        if self.op == BY and (steps := self.steps):
            is_told = self.field in fields or steps.missing
            return 2 * steps.of(value) >= steps.most if is_told else None
        if self.field not in fields:
            return None
        if value is None:
            return False
        if self.op == MENTIONS:
            return isinstance(value, str) and mentions(value, str(self.value))
        if self.op in _EQUALITY:
            return _is_equal(value, self.value) == (self.op == "is")
        if isinstance(value, bool | str) or not isinstance(self.value, int | float):
            return False
        return bool(_ORDER[self.op](float(value), float(self.value)))

    def holds_over(self, table: Columns) -> NDArray[np.bool_]:
        """For each case of a table, whether the test holds; False if the case lacks the field."""
        if steps := self.steps:
            return 2 * self.points_over(table) >= steps.most
        column = table.column(self.field)
        if column is None:
            return np.full(len(table), self.op == "is missing")
        if self.op == "is missing":
            return ~column.known()
        if self.op == "is known":
            return column.known()
        if self.op == "is":
            return column.equals(self.value)
        if self.op == "is not":
            return column.known() & ~column.equals(self.value)
        if self.op == MENTIONS:
            return column.mentions(str(self.value))
        assert isinstance(self.value, int | float)
        return np.asarray(_ORDER[self.op](column.numbers, float(self.value)), dtype=bool)

    def points_over(self, table: Columns) -> NDArray[np.int64]:
        """For each case of a table, the points of a test by degrees, in hundredths."""
        points = np.zeros(len(table), np.int64)
        for worth, tests in self.parts:
            points += worth * np.logical_and.reduce([test.holds_over(table) for test in tests])
        return points

    def render(self) -> str:
        """The comparison as a phrase that `Condition.parse` reads back."""
        name = written_field(self.field)
        if self.op == BY and (steps := self.steps):
            slope = steps.slope()
            return f"the more {name} goes {slope}" if slope else f"{BY} {name}: {self.value}"
        if self.op in _PRESENCE:
            return f"{name} {self.op}"
        return f"{name} {self.op} {json.dumps(self.value, ensure_ascii=False)}"


@dataclass(frozen=True)
class Condition:
    """Comparisons that must all hold, and the verdict that then follows."""

    comparisons: tuple[Comparison, ...]
    verdict: Verdict
    graded: Comparison | None = field(init=False, default=None, compare=False, repr=False)
    """The test by degrees, if it is one."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.comparisons) <= MAX_COMPARISONS:
            raise InvalidCondition(
                f"a condition has 1 to {MAX_COMPARISONS} comparisons, not {len(self.comparisons)}"
            )
        if self.verdict != DECLINE and any(test.op == MENTIONS for test in self.comparisons):
            raise InvalidCondition(
                "whoever pays writes the text: what it mentions can only DECLINE"
            )
        if len(self.comparisons) > 1 and any(test.op == BY for test in self.comparisons):
            raise InvalidCondition("a rule that goes by the value of a field has no other test")
        if self.comparisons[0].op == BY:
            object.__setattr__(self, "graded", self.comparisons[0])

    @property
    def spelled(self) -> tuple[Comparison, ...]:
        """The comparisons; of a test by degrees those that its steps make."""
        if self.graded is None or self.graded.steps is None:
            return self.comparisons
        op = "is" if self.graded.steps.are_words else ">="
        return tuple(Comparison(self.graded.field, op, one) for one in self.graded.steps.places)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it tests, each once, in order."""
        return tuple(dict.fromkeys(c.field for c in self.comparisons))

    def holds(self, fields: Mapping[str, Scalar]) -> bool | None:
        """Whether all comparisons hold; None if the fields do not tell."""
        answers = [*map(operator.methodcaller("holds", fields), self.comparisons)]
        if False in answers:
            return False
        return None if None in answers else True

    def holds_over(self, table: Columns) -> NDArray[np.bool_]:
        """For each case of a table, whether the condition fires."""
        fired = self.comparisons[0].holds_over(table)
        for comparison in self.comparisons[1:]:
            fired = fired & comparison.holds_over(table)
        return fired

    def same_as(self, other: Condition) -> bool:
        """Whether both are equal, whatever the order of their comparisons."""
        return self.verdict == other.verdict and self.tests() == other.tests()

    def tests(self) -> set[tuple[str, str, bool, Scalar]]:
        """The comparisons as a set, in which true and 1 differ."""
        return {comparison.key for comparison in self.comparisons}

    def render(self) -> str:
        """The condition as its canonical sentence.

        >>> Condition((Comparison("amount", ">=", 1000),), "DECLINE").render()
        'DECLINE when amount >= 1000'
        """
        tests = " and ".join(c.render() for c in self.comparisons)
        return f"{self.verdict} {tests}" if self.graded else f"{self.verdict} when {tests}"

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a sentence that `render` wrote, or one like it; else raise `InvalidCondition`.

        >>> Condition.parse("decline if amount > 1,000 and account_age_days < 60.").render()
        'DECLINE when amount > 1000 and account_age_days < 60'
        """
        if graded := _GRADED.fullmatch(text):
            name = graded["field"] or graded["grows"]
            name = str(_read_value(name)) if name.startswith('"') else name
            return cls((Comparison(name, BY, graded["steps"]),), parse_verdict(graded["verdict"]))
        opening = OPENING.match(text)
        if not opening:
            raise InvalidCondition(f"not a condition: {text[:60]!r}; 'DECLINE when ...' wanted")
        at = opening.end()
        comparisons: list[Comparison] = []
        while at < len(text) or not comparisons:
            test = _TEST.match(text, at)
            if not test:
                raise InvalidCondition(
                    "not a condition: a field and a number, true, false or a word in quotes, "
                    f'as "NG", wanted at {text[at : at + 40]!r}'
                )
            field, word, op = test["field"], test["value"], test["op"].lower()
            name = str(_read_value(field)) if field.startswith('"') else field
            value = None if word is None else _read_value(word)
            comparisons.append(Comparison(name, _ALIASES.get(op, op), value))
            at = test.end()
            if len(comparisons) > MAX_COMPARISONS:
                raise InvalidCondition(
                    f"a condition has 1 to {MAX_COMPARISONS} comparisons, not more"
                )
        return cls(tuple(comparisons), parse_verdict(opening[1]))

    def to_json(self) -> ConditionData:
        """The condition as it is stored."""
        return {
            "verdict": self.verdict,
            "all": [{"field": c.field, "op": c.op, "value": c.value} for c in self.comparisons],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Condition:
        """Read a stored condition, or one that a model proposes."""
        try:
            listed = data["all"]
            if not isinstance(listed, list | tuple):
                raise TypeError("'all' is not a list")
            if len(listed) > MAX_COMPARISONS:
                raise InvalidCondition(
                    f"a condition has 1 to {MAX_COMPARISONS} comparisons, not {len(listed)}"
                )
            parts = tuple(Comparison(c["field"], c["op"], c.get("value")) for c in listed)
            return cls(parts, parse_verdict(data["verdict"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidCondition(f"not a condition: {str(data)[:200]}") from error


def parse_condition(text: str) -> Condition | None:
    """The condition that a bullet's text states, or None if the text is prose."""
    try:
        return Condition.parse(text)
    except InvalidCondition:
        return None


def stated_condition(text: str) -> Condition | None:
    """The condition that a person's text states, None of prose; what only reads like a condition is
    refused, since nobody would use it.
    """
    opening = OPENING.match(text)
    is_meant = _GRADED.fullmatch(text) or (opening and _COMPARED.search(text, opening.end()))
    return Condition.parse(text) if is_meant else parse_condition(text)


def is_meant_as_condition(text: str) -> bool:
    """Whether a text opens like a condition, readable or not."""
    return bool(OPENING.match(text) or _GRADED.fullmatch(text))


def _is_equal(left: Scalar, right: Scalar) -> bool:
    if isinstance(left, bool | str) or isinstance(right, bool | str):
        return left == right and isinstance(left, bool) == isinstance(right, bool)
    return float(left or 0) == float(right or 0)


def written_field(name: str) -> str:
    """The name of a field as a sentence has it: in quotes where it could be misread."""
    is_bare = _BARE_FIELD.fullmatch(name) and name.lower() not in {"and", "is", "not"}
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def _read_value(word: str) -> Scalar:
    plain = word.lower().replace(",", "")
    try:
        if word.startswith('"'):
            return str(json.loads(word))
        if plain in ("true", "false"):
            return plain == "true"
        return int(plain) if plain.lstrip("-").isdigit() else float(plain)
    except ValueError as error:  # a bad escape, or a number of thousands of digits
        raise InvalidCondition(f"not a condition: {error}") from None
