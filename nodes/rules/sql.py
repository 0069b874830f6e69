"""A ruleset as a query: a database adds the same points over a table of fields.

The columns of the table are fields of a task: numbers, flags, words as they are written, times by
the clock of the task. Every test is true or false, never null. The text is that of DuckDB and
PostgreSQL; sqlglot writes it for others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from acegraph.nodes.rules.points import UNIT
from acegraph.nodes.rules.ruleset import Ruleset, Scored
from acegraph.nodes.rules.scale import TIE, RiskScale
from acegraph.state import InvalidSettings
from acegraph.state.task.field import Field
from acegraph.state.values import (
    APPROVE,
    DECLINE,
    MENTIONS,
    UNDECIDED,
    Comparison,
    CostMatrix,
    Scalar,
)
from acegraph.state.values.plain import WEEKDAYS, ascii_lower

_PARTS: Final = {"hour": "HOUR", "month": "MONTH", "weekday": "ISODOW"}
_DAYS: Final = " ".join(f"WHEN {n} THEN '{day}'" for n, day in enumerate(WEEKDAYS, start=1))
_LARGEST: Final = "1.7976931348623157e308"


def to_sql(
    ruleset: Ruleset,
    fields: Sequence[Field],
    dialect: str = "duckdb",
    *,
    table: str = "payments",
    ids: str | None = None,
) -> str:
    """The query that decides the rows of a table with these fields as columns.

    >>> to_sql(Ruleset(), [Field("amount", "number")]).splitlines()[-1]
    'FROM decided'
    """
    for bullet, _ in ruleset.points_by_bullet:
        if bullet.condition and any(test.op == MENTIONS for test in bullet.condition.comparisons):
            raise InvalidSettings(
                f"{bullet.id}: SQL cannot say what a text mentions; score a file instead"
            )
    query = _Query(ruleset, _columns_of(fields)).text(table, ids)
    return query if dialect in ("duckdb", "postgres") else _translated(query, dialect)


def _translated(query: str, dialect: str) -> str:
    import sqlglot

    raising = sqlglot.ErrorLevel.RAISE
    try:
        (text,) = sqlglot.transpile(
            query, "duckdb", dialect, pretty=True, unsupported_level=raising
        )
    except (sqlglot.errors.SqlglotError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise InvalidSettings(
            f"no SQL in the dialect {dialect!r}: {said}; duckdb, postgres, snowflake, bigquery, "
            "databricks, trino and clickhouse are some"
        ) from None
    return text


@dataclass(frozen=True)
class _Column:
    """A field as the query has it."""

    name: str
    """Of the column that the query reads it into."""
    kind: str
    value: str
    """The expression that reads it."""
    doubt: str = ""
    """Where it is in doubt; empty if nowhere."""

    @property
    def given(self) -> str:
        """The column before its doubts are known."""
        return f"g{self.name}" if self.doubt else self.name

    def fitted(self) -> tuple[str, str]:
        """The value where it is not in doubt, and where it is."""
        doubt = _certain(self.doubt.replace("?", self.given))
        value = f"CASE WHEN NOT {doubt} THEN {self.given} END"
        return f"{value} AS {self.name}", f"{doubt} AS d{self.name}"


def _columns_of(fields: Iterable[Field]) -> dict[str, _Column]:
    """By field how it is read, also the parts of times."""
    columns: dict[str, _Column] = {}
    for name, kind, value, doubt in (one for field in fields for one in _read(field)):
        columns[name] = _Column(f"v{len(columns)}", kind, value, doubt)
    return columns


def _read(field: Field) -> Iterator[tuple[str, str, str, str]]:
    """By name the kind of a value, its expression, and where it is in doubt; `?` is the value."""
    given, doubts = _quoted(field.name), ["? IS NULL"] if field.usual else []
    if field.kind == "number":
        limits = ((field.least, "<"), (field.most, ">"))
        doubts += [f"? {op} {_literal(one)}" for one, op in limits if one is not None]
        finite = f"CASE WHEN ABS({given}) <= {_LARGEST} THEN CAST({given} AS DOUBLE PRECISION) END"
        yield field.name, "number", finite, " OR ".join(doubts)
    elif field.kind == "time":
        yield field.name, "time", given, " OR ".join(doubts)
        for part in field.parts:
            value = f"EXTRACT({_PARTS[part]} FROM {given})"
            kind = "category" if part == "weekday" else "number"
            value = f"CASE {value} {_DAYS} END" if part == "weekday" else value
            yield f"{field.name}.{part}", kind, value, " OR ".join(doubts)
    elif field.kind == "flag":
        yield field.name, "flag", given, " OR ".join(doubts)
    else:
        if field.closed:
            doubts.append(f"? NOT IN ({', '.join(map(_literal, field.words))})")
        text = f"NULLIF(TRIM({given}), '')"
        pairs = ((_literal(ascii_lower(word)), _literal(word)) for word in field.words)
        spellings = " ".join(f"WHEN {small} THEN {word}" for small, word in pairs)
        small = f"TRANSLATE({text}, '{ascii_uppercase}', '{ascii_lowercase}')"
        folded = f"CASE {small} {spellings} ELSE {text} END"
        yield field.name, "category", folded if spellings else text, " OR ".join(doubts)


class _Query:
    """The steps of the query: fields, doubts, tests, sums, decisions."""

    def __init__(self, ruleset: Ruleset, columns: dict[str, _Column]) -> None:
        self._ruleset, self._columns = ruleset, columns
        tests = {test.key: test for one in ruleset.scored for test in one.tests}
        self._tests = {key: (f"t{i}", test) for i, (key, test) in enumerate(tests.items())}

    def text(self, table: str, ids: str | None) -> str:
        """The query for a table, whose ids are kept."""
        kept = [_quoted(ids)] if ids else []
        columns = self._columns.values()
        steps = {
            "given": [*kept, *(f"{column.value} AS {column.given}" for column in columns)],
            "fields": ["*", *(part for c in columns if c.doubt for part in c.fitted())],
            "tests": ["*", *(f"{self._holds(t)} AS {name}" for name, t in self._tests.values())],
            "sums": [*kept, *self._sums()],
            "decided": [*kept, "fired AS rules", *self._decided()],
        }
        parts, source = [], ".".join(map(_quoted, table.split(".")))
        for name, selected in steps.items():
            parts.append(f"{name} AS (\nSELECT {_listed(selected)}\nFROM {source}\n)")
            source = name
        last = _listed([*kept, "points", "decision", self._risk(), "rules"])
        return f"WITH {', '.join(parts)}\nSELECT {last}\nFROM decided"

    def _holds(self, test: Comparison) -> str:
        """Whether a test holds: true or false, never null."""
        if steps := test.steps:
            parts = (tests for points, tests in test.parts if 2 * points >= steps.most)
            return " OR ".join(" AND ".join(f"({self._holds(t)})" for t in part) for part in parts)
        column, value = self._columns.get(test.field), test.value
        if column is None or test.is_of_presence:
            is_missing = f"{column.name} IS NULL" if column else "TRUE"
            return is_missing if test.op == "is missing" else _not(is_missing)
        is_alike = _kind(value) == column.kind
        if test.op in ("is", "is not"):
            equal = _certain(f"{column.name} = {_literal(value)}") if is_alike else "FALSE"
            return equal if test.op == "is" else f"{column.name} IS NOT NULL AND NOT {equal}"
        return _certain(f"{column.name} {test.op} {_literal(value)}") if is_alike else "FALSE"

    def _doubt(self, name: str) -> str:
        """Where a field is in doubt; empty if nowhere."""
        column = self._columns.get(name)
        return f"d{column.name}" if column and column.doubt else ""

    def _may(self, one: Scored) -> str:
        """Where a rule holds, or would with other values for the fields in doubt."""
        tests = ((self._tests[test.key][0], self._doubt(test.field)) for test in one.tests)
        return " AND ".join(f"({test} OR {doubt})" if doubt else test for test, doubt in tests)

    def _for_certain(self, one: Scored) -> str:
        """Where a rule holds, whatever the fields in doubt are."""
        doubts = {self._doubt(test.field): None for test in one.tests}
        return " AND ".join([self._may(one), *(f"NOT {doubt}" for doubt in doubts if doubt)])

    def _all(self, one: Scored) -> str:
        """Where a rule holds on the fields as they stand."""
        return " AND ".join(self._tests[test.key][0] for test in one.tests)

    def _sums(self) -> Iterator[str]:
        """Points as they stand, the least and the most of them, limits, and the rules that hold."""
        ruleset, scored = self._ruleset, self._ruleset.scored
        yield f"{self._sum((self._all(one), one.points) for one in scored)} AS weighed"
        sure = self._sum((self._for_certain(one), one.points) for one in scored)
        yield from (f"{sure} + {bound}" for bound in self._bounds())
        if ruleset.undecided == "expect":
            expected = self._sum((self._may(one), self._worth(one)) for one in scored)
            yield f"FLOOR({expected} + 0.5) AS expected"
        yield from self._limits()
        yield f"{self._unknown()} AS is_unknown"
        fired = (
            f"CASE WHEN {self._all(one)} THEN {_literal(one.bullet.id)} END"
            for one in ruleset.rules_scored
            if one.bullet
        )
        yield f"CONCAT_WS(', ', {', '.join(fired) or _literal('')}) AS fired"

    def _bounds(self) -> Iterator[str]:
        """The least and the most points of rules that depend on what is in doubt: of one field all
        values are asked; of several, each rule is taken by itself.
        """
        ruleset, scored, ways = self._ruleset, self._ruleset.scored, self._ruleset.ways
        doubts = [name for name in sorted(self._ruleset.that_matter) if self._doubt(name)]
        alone = {
            " AND NOT ".join(map(self._doubt, [name, *(n for n in doubts if n != name)])): [
                self._sum(((self._may(scored[i]), scored[i].points) for i in sorted(way)), start=0)
                for way in ways[name]
            ]
            for name in doubts
            if ways.get(name)
        }
        opened = [
            f"CASE WHEN {self._may(one)} AND NOT ({self._for_certain(one)}) "
            f"THEN {one.points} ELSE 0 END"
            for one in scored
        ]
        for name, bound in (("least", "LEAST"), ("most", "GREATEST")):
            terms = (
                [opened[i] for i in places if scored[i].points] for places in ruleset.exclusive
            )
            others = "\n + ".join(["0", *(f"{bound}(0, {', '.join(t)})" for t in terms if t)])
            cases = [f"WHEN {when} THEN {bound}({', '.join(them)})" for when, them in alone.items()]
            yield f"CASE WHEN FALSE THEN 0 {' '.join(cases)} ELSE {others} END AS {name}"

    def _sum(self, parts: Iterable[tuple[str, int | str]], start: int | None = None) -> str:
        terms = [f"CASE WHEN {holds} THEN {points} ELSE 0 END" for holds, points in parts]
        return "\n + ".join([str(self._ruleset.start if start is None else start), *terms])

    def _worth(self, one: Scored) -> str:
        """The points of a rule, where it is in doubt as often as labelled cases bear it out."""
        shares = (
            f"CASE WHEN {doubt} THEN {_literal(self._ruleset.shares.get(key, 0.0))} ELSE 1 END"
            for key, tests in one.by_field.items()
            if (doubt := self._doubt(tests[0].field))
        )
        return " * ".join([f"{one.points}e0", *shares])

    @property
    def _amount(self) -> _Column | None:
        """The column that is the amount, where there is one."""
        column = self._columns.get(self._ruleset.scale.amount_name or "")
        return column if column and column.kind == "number" else None

    def _limits(self) -> Iterator[str]:
        """The points above which a row is declined, and the least and the most they may be."""
        scale, amount = self._ruleset.scale, self._amount
        limit, doubt = str(scale.limit({})), ""
        if scale.costs and amount:
            limit = _limit(scale, scale.costs, f"COALESCE({amount.name}, 0)")
            doubt = amount.doubt and f"d{amount.name}"
        yield f"{limit} AS at_amount"
        for name, bound in zip(("low", "high"), scale.limits_of_all, strict=True):
            yield f"CASE WHEN {doubt or 'FALSE'} THEN {bound} ELSE {limit} END AS {name}"

    def _unknown(self) -> str:
        """Whether a row has for certain neither an amount nor a field that a rule tests."""
        tested = self._ruleset.tested | {self._ruleset.scale.amount_name or ""}
        names = sorted(self._columns[name].name for name in tested & self._columns.keys())
        return _not(" OR ".join(f"{name} IS NOT NULL" for name in names) or "FALSE")

    def _decided(self) -> Iterator[str]:
        """The points and the decision."""
        points, otherwise = "weighed", _literal(UNDECIDED)
        if self._ruleset.undecided == "expect":
            points = "CASE WHEN least <= high AND most > low THEN expected ELSE weighed END"
            otherwise = f"CASE WHEN expected > at_amount THEN '{DECLINE}' ELSE '{APPROVE}' END"
        yield f"{points} AS points"
        yield (
            f"CASE WHEN is_unknown THEN '{UNDECIDED}' WHEN least > high THEN '{DECLINE}' "
            f"WHEN most <= low THEN '{APPROVE}' ELSE {otherwise} END AS decision"
        )

    def _risk(self) -> str:
        scale = self._ruleset.scale
        log_odds = f"LEAST(GREATEST(points / {UNIT}e0 + {_literal(scale.shift)}, -30), 30)"
        risk = f"{_literal(scale.highest)} / (1 + EXP(-({log_odds})))"
        return f"CASE WHEN decision <> '{UNDECIDED}' THEN {risk} END AS risk"


def _limit(scale: RiskScale, costs: CostMatrix, amount: str) -> str:
    """The limit of a row by its costs, as `RiskScale.limit` and `CostMatrix.break_even` have it."""
    stake = f"CASE WHEN {amount} = 0 THEN 1 ELSE ABS({amount}) END"
    of_fraud = _line(costs.missed_fraud - costs.caught_fraud, stake, costs.missed_fee)
    of_honest = _line(costs.false_decline - costs.approved_honest, stake, costs.decline_fee)
    share = (
        f"CASE WHEN {of_fraud} <= 0 THEN 1 - 1e-6 WHEN {of_honest} < 0 THEN 1e-6 "
        f"ELSE LEAST(GREATEST({of_honest} / ({of_honest} + {of_fraud}), 1e-6), 1 - 1e-6) END"
    )
    share = f"LEAST(GREATEST(({share}) / {_literal(scale.highest)}, 1e-9), 1 - 1e-9)"
    return f"FLOOR((LN({share} / (1 - {share})) - {_literal(scale.shift)} + {TIE!r}) * {UNIT})"


def _line(slope: float, stake: str, fee: float) -> str:
    return f"(({stake}) * {_literal(slope)} + {_literal(fee)})"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _listed(selected: Iterable[str]) -> str:
    return ",\n  ".join(selected)


def _certain(condition: str) -> str:
    """A condition that is false where it would be null."""
    return f"COALESCE({condition}, FALSE)"


def _not(condition: str) -> str:
    return f"NOT ({condition})"


def _kind(value: Scalar) -> str:
    if isinstance(value, bool):
        return "flag"
    return "category" if isinstance(value, str) else "number"


def _literal(value: Scalar) -> str:
    """A value as SQL has it; a number is one of double precision."""
    if isinstance(value, bool) or value is None:
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"CAST('{float(value)!r}' AS DOUBLE PRECISION)"
