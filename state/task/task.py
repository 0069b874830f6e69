"""A task: the fields of a node's cases, the words of its answers, and its prior.

It says what things are, once; graph, service, tables, pages and prompts read it and guess nothing.
A person writes it in task.json, or `guess.py` proposes it from data.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import ClassVar, Final, Literal

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.field import Field
from acegraph.state.task.form import Form
from acegraph.state.task.reading import as_json, read_as, read_json
from acegraph.state.values import (
    APPROVE,
    DECLINE,
    SIGHTED,
    Comparison,
    Data,
    Evidence,
    Fields,
    is_named,
)
from acegraph.state.values.plain import Misfit, fit_case, fold

Unknown = Literal["ignore", "refuse", "grow"]
What = Literal[
    "count", "sum", "to_usual", "is_new", "hours_since", "km_since", "minus", "ratio", "evidence"
]
Window = Literal["", "hour", "day", "week"]
MAX_FIELDS: Final = 1_000
MAX_ENTITIES: Final = 6
FIRST_LOOKS: Final = (12, 20)
READERS: Final = ("", "card_payments")
ANSWERS: Final = (APPROVE, DECLINE)
_STRICT: Final = {"extra": "forbid"}
_VERDICTS: Final = re.compile(rf"\b(?:{APPROVE}|{DECLINE})\b")
_COMPATIBLE: Final = frozenset({"words", "least", "most", "usual", "meaning", "since", "closed"})
"""What may change in a field without harm to the evidence for rules over it."""


@dataclass(frozen=True)
class PriorRule:
    """What is believed before a case is known: a test, and the points that it adds if it holds."""

    __pydantic_config__: ClassVar = _STRICT

    points: int
    test: Comparison | None = None
    """None for the points of every case."""


@dataclass(frozen=True)
class Derived:
    """A field that is computed from others, or from earlier cases of the same entity."""

    __pydantic_config__: ClassVar = _STRICT

    name: str
    what: What
    of: tuple[str, ...] = ()
    window: Window = ""
    """The time that it looks back; of `minus`, the unit of the time between two times."""
    evidence: Evidence | None = None
    """Of `evidence`, how it counts what labels said."""

    def between(self, times: Iterable[object]) -> float | None:
        """The time from the second to the first of two fitted times; None if one is missing."""
        texts = [one for one in times if isinstance(one, str)]
        if len(texts) < 2:
            return None
        first, second = (datetime.fromisoformat(one).replace(tzinfo=UTC) for one in texts)
        return round((first - second) / timedelta(**{f"{self.window or 'day'}s": 1}), 2)


@dataclass(frozen=True)
class Fitted:
    """A case in the words of a task."""

    fields: Fields
    """The fields of the task, as they are kept; parts of times included."""
    misfits: tuple[Misfit, ...] = ()
    unknown: Fields = field(default_factory=dict)
    """What no field of the task has, under readable names."""

    @property
    def doubts(self) -> dict[str, str]:
        """Why fields are in doubt."""
        return dict(map(attrgetter("field", "doubt"), self.misfits))


@dataclass(frozen=True)
class Task:
    """What the cases of a node are."""

    __pydantic_config__: ClassVar = _STRICT

    name: str
    fields: tuple[Field, ...] = ()
    derived: tuple[Derived, ...] = ()
    answers: tuple[str, str] = ANSWERS
    """The words that people see; stored verdicts stay APPROVE and DECLINE."""
    unknown: Unknown = "ignore"
    """What happens to a key that no field has: it is left out, the case is refused, or it is kept
    until labelled cases tell what it is."""
    reader: str = ""
    """The reader of sentences; without one a sentence is the field `text`."""
    prior: tuple[PriorRule, ...] = ()
    about: str = ""
    """What a model is told about the domain."""
    forms: dict[str, Form] = field(default_factory=dict)
    """By column how files write it, where that is not plain: tomorrow's file is written alike."""
    version: int = 1

    def __post_init__(self) -> None:
        for fault in self._faults():
            raise InvalidSettings(f"task {self.name!r}: {fault}")

    def _faults(self) -> Iterator[str]:
        """What contradicts itself, in words."""
        if len(self.fields) > MAX_FIELDS:
            yield f"{len(self.fields):,} fields; at most {MAX_FIELDS:,} are accepted"
        seen: dict[str, str] = {}
        for one in self.fields:
            if other := seen.get(fold(one.name)):
                yield f"{other!r} and {one.name!r} are one name"
            seen[fold(one.name)] = one.name
        for role in ("time", "amount", "currency"):
            named = [one.name for one in self.fields if one.role == role]
            if len(named) > 1:
                yield f"two fields of role {role}: {', '.join(named)}"
        entities = [one.entity for one in self.fields if one.entity]
        if len(entities) > MAX_ENTITIES:
            yield f"{len(entities)} fields name an entity; at most {MAX_ENTITIES} may"
        if taken := set(entities).intersection(SIGHTED):
            yield f"an entity has another name than {', '.join(sorted(taken))}"
        times = {one.name for one in self.fields if one.kind == "time"}
        for derived in self.differences:
            if len(derived.of) != 2 or not times.issuperset(derived.of):
                yield f"{derived.name} is the time between two fields of kind time, named in `of`"
        if self.reader not in READERS:
            yield f"no reader {self.reader!r}; there is {READERS[1]}, and none at all"
        if len(set(self.answers)) != 2 or not all(self.answers):
            yield "two answers wanted, for what is let through and for what is not"

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """The fields by their names."""
        return {one.name: one for one in self.fields}

    @cached_property
    def _by_folded_name(self) -> dict[str, Field]:
        return {fold(one.name): one for one in self.fields}

    @cached_property
    def folded_part_names(self) -> frozenset[str]:
        """The names of the fields that times give besides, folded."""
        parts = [name for one in self.fields for name in one.part_names]
        return frozenset(map(fold, [*parts, *(one.name for one in self.differences)]))

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name that a rule may test: of fields, their parts, and derived fields."""
        tested = [one for one in self.fields if one.is_tested]
        parts = [name for one in tested for name in one.part_names]
        return frozenset([*(one.name for one in tested), *parts, *(d.name for d in self.derived)])

    @cached_property
    def differences(self) -> tuple[Derived, ...]:
        """The derived fields that a case has of itself: from one of its times to another."""
        return tuple(one for one in self.derived if one.what == "minus")

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """The fields that are not stored."""
        return tuple(one.name for one in self.fields if not one.stored)

    @cached_property
    def hidden_names(self) -> tuple[str, ...]:
        """What is not written down: those fields, times of which a part is hidden, and what is
        derived from any of them, except from whom a field names.
        """
        if not self.hidden:
            return ()
        times = (
            one.name
            for one in self.fields
            if any(is_named(part, name) for part in one.part_names for name in self.hidden)
        )
        names = dict.fromkeys([*self.hidden, *times])
        telling = names.keys() - {one.name for one in self.fields if one.role == "entity"}
        return (*names, *(one.name for one in self.derived if not telling.isdisjoint(one.of)))

    def hiding(self, names: Iterable[str]) -> "Task":
        """The task with fields that are not stored, nor any of their values; one that it lacks
        becomes a category.
        """
        found = {one.name: one for one in self.fields}
        for name in names:
            one = self.field_of(name) or Field(name, "category")
            found[one.name] = one.not_stored()
        return replace(self, fields=tuple(found.values()))

    def of_role(self, role: str) -> Field | None:
        """The field of a role that at most one field has."""
        for one in self.fields:
            if one.role == role:
                return one
        return None

    @cached_property
    def entities(self) -> dict[str, str]:
        """By kind of entity the field that names it."""
        return {one.entity: one.name for one in self.fields if one.entity}

    @cached_property
    def sighting_columns(self) -> dict[str, str]:
        """The fields that derived fields come from, by what they hold; or nothing."""
        if len(self.derived) == len(self.differences):
            return {}
        found = {str(one.role): one.name for one in self.fields if one.role in SIGHTED}
        return self.entities | found

    @cached_property
    def evidence(self) -> dict[str, Evidence]:
        """By kind of entity how what labels said of it counts."""
        return {one.name.partition(".")[0]: one.evidence for one in self.derived if one.evidence}

    def shown(self, text: str) -> str:
        """A text as people see it: with the task's words for APPROVE and DECLINE.

        >>> Task("posts", answers=("KEEP", "REMOVE")).shown("DECLINE when links >= 3")
        'REMOVE when links >= 3'
        """
        if self.answers == ANSWERS:
            return text
        return _VERDICTS.sub(lambda word: self.answers[ANSWERS.index(word[0])], text)

    def stored(self, said: object) -> object:
        """What somebody said, with APPROVE or DECLINE for an answer in the task's words; also where
        a rule opens with one.

        >>> Task("posts", answers=("KEEP", "REMOVE")).stored("remove when links >= 3")
        'DECLINE when links >= 3'
        """
        if self.answers == ANSWERS or not isinstance(said, str):
            return said
        for answer, verdict in zip(self.answers, ANSWERS, strict=True):
            opening = rf"\s*{re.escape(answer)}(?=\s*$|\s+(?:when|if)\b)"
            if found := re.match(opening, said, re.IGNORECASE):
                return verdict + said[found.end() :].rstrip()
        return said

    def without(self, names: Collection[str]) -> "Task":
        """The task without these fields, and without what is derived from them."""
        return replace(
            self,
            fields=tuple(one for one in self.fields if one.name not in names),
            derived=tuple(one for one in self.derived if not set(names) & set(one.of)),
        )

    def field_of(self, name: str) -> Field | None:
        """The field that a caller's name means; names fold by case and separators alone."""
        return self.by_name.get(name) or self._by_folded_name.get(fold(name))

    def fit(self, given: Mapping[str, object]) -> Fitted:
        """The fields of a case as they are kept, with what does not fit.

        >>> task = Task("t", (Field("tx_count", "number", usual=True), Field("new", "flag")))
        >>> task.fit({"TX-count": "3", "new": None, "other": 1})
        Fitted(fields={'tx_count': 3.0, 'new': None}, misfits=(), unknown={'other': 1})
        """
        return Fitted(*fit_case(self, given))

    def differs(self, older: "Task") -> dict[str, str]:
        """The fields that are something else than in an older version, and what changed in each:
        evidence for rules over them is no evidence any more.
        """
        changed = {}
        for was in older.fields:
            now = self.by_name.get(was.name)
            if now is None:
                changed[was.name] = "is gone"
                continue
            other = [
                name
                for name, value in vars(was).items()
                if name not in _COMPATIBLE
                and not name.startswith("_")
                and value != getattr(now, name)
            ]
            if other:
                changed[was.name] = f"has another {', '.join(other)}"
        return changed

    def to_json(self) -> Data:
        """The task as plain data; what is as usual is left out."""
        return as_json(self)

    @classmethod
    def from_json(cls, content: object, where: str = "task") -> "Task":
        """The task that plain data says, or one line about its first fault with its place."""
        return read_as(cls, content, where)

    @classmethod
    def from_text(cls, text: str, where: str = "task") -> "Task":
        """The task that a text in JSON says."""
        return cls.from_json(read_json(text, where), where)


def cases_to_look_at(cases: int) -> int:
    """How many of the first cases were looked at last: 12, 20, 40, 80 and so on; 0 of fewer.

    >>> [cases_to_look_at(n) for n in (11, 12, 39, 41, 200)]
    [0, 12, 20, 40, 160]
    """
    first, second = FIRST_LOOKS
    if cases < second:
        return first if cases >= first else 0
    return second << ((cases // second).bit_length() - 1)
