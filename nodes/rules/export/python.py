"""A ruleset as one Python module that knows the standard library alone.

The rules stand above, readable; below them the file that decides (alone.py) and the one that fits
values to fields (state/values/plain.py) are carried as they are.
"""

from __future__ import annotations

import hashlib
import inspect
import keyword
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Final

import acegraph.state.values.plain as plain
from acegraph.nodes.rules.export import alone
from acegraph.nodes.rules.export.walk import LEFT_OUT, Source, Walk
from acegraph.nodes.rules.points import UNIT
from acegraph.state.task.field import Field
from acegraph.state.values import CostMatrix, Scalar

_HEAD: Final = '''\
"""Decides payments by version {version} of a playbook of acegraph, with the standard library alone.

    from this_module import decide
    decide({{"amount": 20.0}})["decision"]

`fit` reads a row, `ruling` decides on fitted fields, `decide` does both. Left out: {left_out}.
CHECKSUM is the SHA-256 of all lines below it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

CHECKSUM = "{checksum}"
'''
_REFUSED: Final = '''\
class InvalidTransaction(ValueError):
    """A row that cannot be read at all."""
'''
_TAKEN: Final = {*keyword.kwlist, "fields", "held", "says", "OPEN"}
_PLAIN: Final = Field("x", "number")
_TAIL: Final = """\
_alone = Alone(globals())
fit, ruling, decide = _alone.fit, _alone.ruling, _alone.decide
"""


class Python(Walk[str]):
    """Tests as Python over local variables, also where one of them is OPEN."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.names: dict[str, str] = {}
        for place, name in enumerate(self.kinds):
            plain_name = name.replace(".", "_")
            is_free = plain_name.isidentifier() and plain_name not in _TAKEN
            is_free = is_free and plain_name not in self.names.values()
            self.names[name] = plain_name if is_free else f"field_{place}_"

    def _always(self, holds: bool) -> str:
        return str(holds)

    def _never(self, name: str) -> str:
        """Where a field is in doubt nobody knows."""
        return f"{self.names[name]} is OPEN"

    def _known(self, name: str, wanted: bool) -> str:
        """What is open is no None, and is equal to it."""
        return f"{self.names[name]} is not None" if wanted else f"{self.names[name]} == None"

    def _mentioned(self, name: str, phrase: str) -> str:
        """Whether a text has the words of a phrase."""
        return f"says({self.names[name]}, {phrase!r})"

    def _compared(self, name: str, op: str, value: Scalar) -> str:
        """None is equal to nothing, and cannot be compared otherwise."""
        if op == "is":
            return f"{self.names[name]} == {value!r}"
        sign = "!=" if op == "is not" else op
        return f"{self._known(name, True)} and {self.names[name]} {sign} {value!r}"

    def _both(self, parts: list[str]) -> str:
        return " and ".join(f"({one})" if " or " in one else one for one in parts)

    def _either(self, parts: list[str]) -> str:
        return " or ".join(parts)


def to_python(source: Source) -> str:
    """The module."""
    sections = [
        "# ruff: noqa",
        *_constants(source),
        "\n".join(_holding(source)),
        _REFUSED,
        _carried(plain),
        _carried(alone),
        _TAIL,
    ]
    below = "\n\n".join(sections)
    head = _HEAD.format(
        version=source.ruleset.version,
        left_out=LEFT_OUT,
        checksum=hashlib.sha256(below.encode()).hexdigest(),
    )
    return head + below


def _constants(source: Source) -> Iterator[str]:
    """The data of the module."""
    ruleset, scale = source.ruleset, source.ruleset.scale
    yield f"VERSION = {ruleset.version}"
    yield _listed("FIELDS", "{}", (f"{one.name!r}: {_field(one)!r}" for one in source.fields))
    rules = (
        (one.points, (*sorted(one.fields),), one.bullet.id if one.bullet else "", part_of)
        for one in ruleset.scored
        for part_of in ["" if one.part_of is None else ruleset.rules[one.part_of].id]
    )
    yield "# points, the fields that are tested, the id of a rule, that of which it is a step\n" + (
        _listed("RULES", "[]", map(repr, rules))
    )
    ways = ((name, [sorted(way) for way in ruleset.ways[name]]) for name in sorted(ruleset.tested))
    yield "# by field, what may hold together if it is in doubt\n" + (
        _listed("WAYS", "{}", (f"{name!r}: {found!r}" for name, found in ways))
    )
    is_by_amount = bool(scale.costs and scale.amount_name and scale.fixed is None)
    limit = scale.limit({})
    shares = [
        {tests[0].field: ruleset.shares.get(key, 0.0) for key, tests in one.by_field.items()}
        for one in ruleset.scored
    ]
    said = {
        "start": ruleset.start,
        "limits": scale.limits_of_all if is_by_amount else (limit, limit),
        "costs": _lines(scale.costs) if is_by_amount and scale.costs else None,
        "amount": scale.amount_name,
        "shift": scale.shift,
        "highest": scale.highest,
        "unit": UNIT,
        "matter": sorted(ruleset.that_matter),
        "refuses": ruleset.task.unknown == "refuse",
        "shares": shares if ruleset.undecided == "expect" else None,
    }
    yield _listed("SCALE", "{}", (f"{name!r}: {value!r}" for name, value in said.items()))


def _lines(costs: CostMatrix) -> tuple[tuple[float, float], ...]:
    """What mistakes cost: a share of the amount and a fee, of a fraud and of an honest payment."""
    of_fraud = (costs.missed_fraud - costs.caught_fraud, costs.missed_fee)
    return of_fraud, (costs.false_decline - costs.approved_honest, costs.decline_fee)


def _field(one: Field) -> dict[str, object]:
    """What is not as usual of a field, and what is wanted of its values."""
    names = ("usual", "words", "closed", "least", "most", "zone", "epoch", "parts")
    said = {name: value for name in names if (value := getattr(one, name)) != getattr(_PLAIN, name)}
    role = {"role": one.role} if one.role in ("amount", "currency") else {}
    return {"kind": one.kind, **role, **said, "wanted": one.wanted}


def _holding(source: Source) -> Iterator[str]:
    """The function that tells which rules hold."""
    walk = Python(source)
    yield "def holding(fields):"
    yield '    """Which RULES hold on fitted fields, by their places."""'
    yield "    held = []"
    for name in sorted(source.ruleset.tested & walk.names.keys()):
        yield f"    {walk.names[name]} = fields.get({name!r})"
    for place, (one, _, said) in enumerate(source.sentences()):
        yield f"    # {' '.join(said.split())}"
        yield f"    if {walk.all_of(one.tests)}:"
        yield f"        held.append({place})"
    yield "    return held"


def _listed(name: str, brackets: str, items: Iterable[str]) -> str:
    lines = "".join(f"    {item},\n" for item in items)
    return f"{name} = {brackets[0]}\n{lines}{brackets[1]}"


def _carried(module: ModuleType) -> str:
    """The source of a module from the marked line on."""
    return inspect.getsource(module).partition("\n# ---- ")[2].partition("\n")[2]
