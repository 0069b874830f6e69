"""A ruleset as JSONLogic, and as a decision model of GoRules (JDM): data for their engines.

Both take fitted fields: the values as `fit` of the exported Python, or `TableRules.read`, gives
them. What is in doubt of a payment they do not ask, and they give no risk.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any, Final

from acegraph.nodes.rules.export.walk import LEFT_OUT, Source, Walk
from acegraph.state import InvalidSettings
from acegraph.state.values import APPROVE, DECLINE, UNDECIDED, Data, Scalar

Tree = Any
"""JSON as an engine wants it."""
_LEFT_OUT: Final = (
    "values are not read: fields come fitted, each of its kind, null where there is none",
    "a field that is in doubt counts as one that is missing; a value of another kind is UNDECIDED",
    "the risk",
)
_AS: Final = {"number": "+", "category": "cat"}
_TYPES: Final = {"number": "number", "category": "string", "flag": "bool"}
_BARE: Final = re.compile(r"(?!(?:not|and|or|in|true|false|null)$)[A-Za-z_]\w*", re.ASCII)
_EXACT: Final = (1e-11, 1e17)
"""A decision model counts in decimals: numbers between these are what they are."""


class JsonLogic(Walk[Tree]):
    """Tests as JSONLogic, in which a dot of a name would be a step into an object."""

    language = "JSONLogic"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.names = {name: name.replace(".", "_") for name in self.kinds}
        if len({*self.names.values()}) < len(self.names):
            twice = next(n for n, other in self.names.items() if n != other and other in self.names)
            raise InvalidSettings(f"JSONLogic has no dots in names, and {twice!r} without is taken")

    def var(self, name: str) -> Tree:
        """The value of a field."""
        return {"var": self.names[name]}

    def _always(self, holds: bool) -> Tree:
        return holds

    def _known(self, name: str, wanted: bool) -> Tree:
        """Null is none; what is not there is null, too."""
        return {"!==" if wanted else "===": [self.var(name), None]}

    def _compared(self, name: str, op: str, value: Scalar) -> Tree:
        """In JavaScript null is less than 6, so that null is asked for before."""
        sign = {"is": "===", "is not": "!=="}.get(op, op)
        return {"and": [self._known(name, True), {sign: [self.var(name), value]}]}

    def _odd(self, name: str) -> Tree:
        """There is no type of: what stays itself as a number is one, and so with a text."""
        var, kind = self.var(name), self.kinds[name]
        if kind == "flag":
            return {"and": [{"!==": [var, one]} for one in (None, True, False)]}
        return {"and": [self._known(name, True), {"!==": [var, {_AS[kind]: [var]}]}]}

    def _both(self, parts: list[Tree]) -> Tree:
        return parts[0] if len(parts) == 1 else {"and": parts}

    def _either(self, parts: list[Tree]) -> Tree:
        return parts[0] if len(parts) == 1 else {"or": parts}


def to_jsonlogic(source: Source) -> Data:
    """Three expressions over a payment: its points, the rules that hold, and the decision."""
    walk, ruleset = JsonLogic(source), source.ruleset
    holds = [(one, walk.all_of(one.tests)) for one in ruleset.scored]
    points = [{"if": [test, one.points, 0]} for one, test in holds if one.points]
    names = [{"if": [test, [one.bullet.id], []]} for one, test in holds if one.bullet]
    total = {"+": [ruleset.start, *points]}
    above = {"if": [{">": [total, source.limit]}, DECLINE, APPROVE]}
    return {
        **_said(source),
        "variables": walk.names,
        "points": total,
        "rules": {"merge": names},
        "decision": {"if": [walk.unclear(source), UNDECIDED, above]},
    }


class Jdm(Walk[str]):
    """Tests in the expression language of a decision model."""

    language = "JDM"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._names = {
            name: name if _BARE.fullmatch(name) else f"$root[{self._text(name)}]"
            for name in self.kinds
        }

    def _text(self, text: str) -> str:
        """A text in quotes; there is no way to write one that has both kinds."""
        if '"' in text and "'" in text:
            raise InvalidSettings(f"JDM cannot write {text!r}: it has both kinds of quotes")
        return f'"{text}"' if '"' not in text else f"'{text}'"

    def _always(self, holds: bool) -> str:
        return str(holds).lower()

    def _known(self, name: str, wanted: bool) -> str:
        """Null is none; what is not there is null, too."""
        return f"{self._names[name]} {'!=' if wanted else '=='} null"

    def _compared(self, name: str, op: str, value: Scalar) -> str:
        """Null cannot be compared, so it is asked for before."""
        sign = {"is": "==", "is not": "!="}.get(op, op)
        if isinstance(value, str):
            written = self._text(value)
        else:
            low, high = _EXACT
            if value and not low <= abs(value) <= high:
                raise InvalidSettings(f"JDM counts in decimals and cannot write {value!r}")
            written = json.dumps(value)
        return f"{self._known(name, True)} and {self._names[name]} {sign} {written}"

    def _odd(self, name: str) -> str:
        """Whether a value is of another kind."""
        return f"type({self._names[name]}) not in ['{_TYPES[self.kinds[name]]}', 'null']"

    def _both(self, parts: list[str]) -> str:
        return " and ".join(f"({one})" for one in parts) if len(parts) > 1 else parts[0]

    def _either(self, parts: list[str]) -> str:
        return " or ".join(f"({one})" for one in parts)


def to_jdm(source: Source) -> Data:
    """A decision model: a table that collects what holds, and what follows from the sum."""
    walk, start = Jdm(source), str(source.ruleset.start)
    rows = [{"_id": "start", "when": "true", "rule": '""', "points": start}]
    for place, (one, name, said) in enumerate(source.sentences()):
        told = {"_id": f"r{place}", "_description": said, "when": walk.all_of(one.tests)}
        rule = f'"{name}"' if one.bullet else '""'
        rows.append(told | {"rule": rule, "points": str(one.points)})
    decision = f"$.points > {source.limit} ? '{DECLINE}' : '{APPROVE}'"
    sums = {
        "points": "sum(map(held, #.points))",
        "rules": "map(filter(held, #.rule != ''), #.rule)",
        "decision": f"{walk.unclear(source)} ? '{UNDECIDED}' : {decision}",
    }
    columns = {name: [{"id": name, "name": name, "field": name}] for name in ("rule", "points")}
    table = {
        "hitPolicy": "collect",
        "inputs": [{"id": "when", "name": "when"}],
        "outputs": [*columns["rule"], *columns["points"]],
        "rules": rows,
        "passThrough": True,
        "outputPath": "held",
    }
    listed = [{"id": key, "key": key, "value": value} for key, value in sums.items()]
    nodes: list[Data] = [
        {"type": "inputNode", "name": "payment"},
        {"type": "decisionTableNode", "name": "rules", "content": table},
        {"type": "expressionNode", "name": "decision", "content": {"expressions": listed}},
        {"type": "outputNode", "name": "decided"},
    ]
    placed = [
        node | {"id": node["name"], "position": {"x": 240 * place, "y": 0}}
        for place, node in enumerate(nodes)
    ]
    edges = [
        {"id": f"e{a['id']}", "type": "edge", "sourceId": a["id"], "targetId": b["id"]}
        for a, b in pairwise(placed)
    ]
    model = {"contentType": "application/vnd.gorules.decision", "nodes": placed, "edges": edges}
    return {**model, "acegraph": _said(source)}


def _said(source: Source) -> Data:
    """What an exported playbook says of itself."""
    return {
        "version": source.ruleset.version,
        "checksum": source.checksum,
        "fields": source.kinds,
        "leaves_out": [LEFT_OUT, *_LEFT_OUT],
    }
