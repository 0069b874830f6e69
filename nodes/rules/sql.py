"""A ruleset as a query: a database adds the same points over a table of fields.

The columns of the table are fields of a task: numbers, flags, words as they are written, times by
the clock of the task. Every test is true or false, never null. The text is that of DuckDB and
PostgreSQL; sqlglot writes it for others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase
from textwrap import fill
from typing import Final

from acegraph.nodes.rules.export.walk import Source, Walk
from acegraph.nodes.rules.points import UNIT
from acegraph.nodes.rules.ruleset import Ruleset, Scored
from acegraph.nodes.rules.scale import TIE, RiskScale
from acegraph.state import InvalidSettings
from acegraph.state.task.field import Field
from acegraph.state.values import APPROVE, DECLINE, UNDECIDED, CostMatrix, Scalar
from acegraph.state.values.plain import WEEKDAYS, ascii_lower

_PARTS: Final = {"hour": "HOUR", "month": "MONTH", "weekday": "ISODOW"}
_DAYS: Final = " ".join(f"WHEN {n} THEN '{day}'" for n, day in enumerate(WEEKDAYS, start=1))
_NAMES: Final = {
    "postgres": (63, ""), "redshift": (127, ""), "duckdb": (1_000, ""),
    "bigquery": (300, "!\"$()*,./;?@[]\\^`{}~"), "databricks": (255, " ,;{}()\n\t="),
}  # fmt: skip
"""By dialect the longest name of a column in bytes, and characters that none has."""
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
    longest, odd = _NAMES.get(dialect, (255, ""))
    for name in (*(one.name for one in fields), ids or "", *table.split(".")):
        if len(name.encode()) > longest or not set(name).isdisjoint(f"{odd}\0"):
            raise InvalidSettings(f"{dialect} cannot hold the name {name!r}: rename the column")
    query = _Query(Source(ruleset, tuple(fields)), _columns_of(fields)).text(table, ids)
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
        doubt = self.doubt.replace("?", self.given)
        value = f"CASE WHEN {doubt} THEN NULL ELSE {self.given} END"
        is_open = f"CASE WHEN {doubt} THEN NULL ELSE FALSE END"
        return f"{value} AS {self.name}", f"{is_open} AS {self.open}"

    @property
    def open(self) -> str:
        """Null where it is in doubt, else false."""
        return f"u{self.name}" if self.doubt else "FALSE"


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


class _Tests(Walk[str]):
    """Tests that are true, false, or null where they hang on a field in doubt: AND and OR keep it
    so. Where doubts are not asked for, they count as missing.
    """

    language = "SQL"

    def __init__(
        self, source: Source, columns: Mapping[str, _Column], *, asks_doubts: bool
    ) -> None:
        super().__init__(source)
        self._columns, self._asks = columns, asks_doubts
        self.kinds = {name: column.kind for name, column in columns.items()}

    def _never(self, name: str) -> str:
        """False, or null."""
        return self._columns[name].open if self._asks else "FALSE"

    def _always(self, holds: bool) -> str:
        return str(holds).upper()

    def _known(self, name: str, wanted: bool) -> str:
        """Whether there is a value."""
        said = f"{self._columns[name].name} IS {'NOT ' * wanted}NULL"
        doubt = self._never(name)
        return said if doubt == "FALSE" else f"({said}) <> {doubt}"

    def _compared(self, name: str, op: str, value: Scalar) -> str:
        """Whether a value compares so."""
        sign = {"is": "=", "is not": "<>"}.get(op, op)
        return f"COALESCE({self._columns[name].name} {sign} {_literal(value)}, {self._never(name)})"

    def _both(self, parts: list[str]) -> str:
        return " AND ".join(f"({one})" if " OR " in one else one for one in parts)

    def _either(self, parts: list[str]) -> str:
        return " OR ".join(parts)


class _Query:
    """The steps of the query: fields, rules, sums, decisions."""

    def __init__(self, source: Source, columns: dict[str, _Column]) -> None:
        self._ruleset, self._columns = source.ruleset, columns
        self._open = _Tests(source, columns, asks_doubts=True)
        self._as_is = _Tests(source, columns, asks_doubts=False)
        self._doubts = [n for n in sorted(self._ruleset.that_matter) if self._is_doubted(n)]

    def text(self, table: str, ids: str | None) -> str:
        """The query for a table, whose ids are kept."""
        kept = [_quoted(ids)] if ids else []
        columns = self._columns.values()
        steps = {
            "given": [*kept, *(f"{column.value} AS {column.given}" for column in columns)],
            "fields": ["*", *(", ".join(c.fitted()) for c in columns if c.doubt)],
            "rules": ["*", *self._rules()],
            "added": ["*", f"{self._total(self._certain())} AS sure"],
            "sums": [*kept, *self._sums()],
            "decided": [*kept, "fired AS rules", *self._decided()],
        }
        parts, source = [], ".".join(map(_quoted, table.split(".")))
        for name, selected in steps.items():
            parts.append(f"{name} AS (\nSELECT {_listed(selected)}\nFROM {source}\n)")
            source = name
        last = _listed([*kept, "points", "decision", self._risk(), "rules"])
        return f"WITH {', '.join(parts)}\nSELECT {last}\nFROM decided"

    def _is_doubted(self, name: str) -> bool:
        return name in self._columns and bool(self._columns[name].doubt)

    def _rules(self) -> Iterator[str]:
        """For each rule its points where it holds, 0 where not, null where that hangs on a doubt;
        whether it holds as the fields stand; and how many fields are in doubt.
        """
        for place, one in enumerate(self._ruleset.scored):
            holds = self._open.all_of(one.tests)
            yield f"CASE {holds} WHEN TRUE THEN {one.points} WHEN FALSE THEN 0 END AS r{place}"
            if self._is_told(one):
                yield f"{self._as_is.all_of(one.tests)} AS h{place}"
        counted = (
            f"CASE WHEN {self._columns[n].open} IS NULL THEN 1 ELSE 0 END" for n in self._doubts
        )
        yield f"{' + '.join(counted) or 0} AS doubts"

    def _counts_missing(self, one: Scored) -> bool:
        """Whether a rule may hold because a field is in doubt."""
        tests = [part for test in one.tests for _, parts in test.parts for part in parts]
        return any(t.op == "is missing" and self._is_doubted(t.field) for t in (*one.tests, *tests))

    def _is_told(self, one: Scored) -> bool:
        """Whether its points do not tell that a rule holds as the fields stand."""
        return not one.points or self._counts_missing(one)

    def _sums(self) -> Iterator[str]:
        """Points as they stand, the least and the most of them, limits, and the rules that hold."""
        ruleset, scored = self._ruleset, [*enumerate(self._ruleset.scored)]
        missing = [
            f"CASE WHEN r{i} IS NULL AND h{i} THEN {one.points} ELSE 0 END"
            for i, one in scored
            if self._counts_missing(one)
        ]
        yield f"{' + '.join(['sure', *missing])} AS weighed"
        yield from self._bounds()
        if ruleset.undecided == "expect":
            expected = self._total(self._worth(i, one) for i, one in scored)
            yield f"FLOOR({expected} + 0.5) AS expected"
        yield from self._limits()
        yield f"{self._unknown()} AS is_unknown"
        holds = [f"h{i}" if self._is_told(one) else f"r{i} <> 0" for i, one in scored]
        fired = (
            f"CASE WHEN {holds[i]} THEN {_literal(one.bullet.id)} END"
            for i, one in scored
            if one.bullet
        )
        yield f"CONCAT_WS(', ', {', '.join(fired) or _literal('')}) AS fired"

    def _bounds(self) -> Iterator[str]:
        """The least and the most points of rules that hang on what is in doubt: of one field all
        values are asked; of several, each rule is taken by itself, and of the steps of a rule one.
        """
        scored = self._ruleset.scored
        ways = {n: self._ruleset.ways[n] for n in self._doubts if self._ruleset.ways.get(n)}
        for name, bound, pick in (("least", "LEAST", min), ("most", "GREATEST", max)):
            found = (
                f"COALESCE({' + '.join(f'r{i}' for i in places)}, "
                f"{pick(0, *(scored[i].points for i in places))})"
                for places in self._ruleset.exclusive
            )
            cases = [
                f"WHEN doubts = 1 AND {self._columns[n].open} IS NULL THEN sure + "
                f"{bound}({', '.join(self._way(way, n) for way in them)})"
                for n, them in ways.items()
                if not self._is_plain(n, pick)
            ]
            cases.append(f"ELSE {self._total(found)} END AS {name}")
            yield f"CASE WHEN FALSE THEN 0 {' '.join(cases)}"

    def _is_plain(self, name: str, pick: Callable[[int, int], int]) -> bool:
        """Whether some value of a field gives all that its rules can, each taken by itself."""
        about = [(i, one) for i, one in enumerate(self._ruleset.scored) if name in one.fields]
        best = {i for i, one in about if pick(0, one.points)}
        is_graded = any(one.part_of is not None for _, one in about)
        return not is_graded and any(
            best == {i for i in way if self._ruleset.scored[i].points}
            for way in self._ruleset.ways[name]
        )

    def _way(self, way: Iterable[int], name: str) -> str:
        """The points of the rules that hold for some value of the one field in doubt: those that
        test nothing else are open for certain.
        """
        scored = self._ruleset.scored
        alone = sum(scored[i].points for i in way if scored[i].fields == {name})
        others = (i for i in sorted(way) if scored[i].fields != {name})
        open_ones = (f"CASE WHEN r{i} IS NULL THEN {scored[i].points} ELSE 0 END" for i in others)
        return " + ".join([str(alone), *open_ones])

    def _certain(self) -> Iterator[str]:
        return (f"COALESCE(r{place}, 0)" for place in range(len(self._ruleset.scored)))

    def _total(self, terms: Iterable[str]) -> str:
        """The sum of what every row has and of terms, on lines that can be read."""
        return fill(" + ".join([str(self._ruleset.start), *terms]), 100, break_long_words=False)

    def _worth(self, place: int, one: Scored) -> str:
        """The points of a rule, where it is in doubt as often as labelled cases bear it out."""
        shares = (
            f"CASE WHEN {self._columns[tests[0].field].open} IS NULL "
            f"THEN {_literal(self._ruleset.shares.get(key, 0.0))} ELSE 1 END"
            for key, tests in one.by_field.items()
            if self._is_doubted(tests[0].field)
        )
        return f"COALESCE(r{place}, {' * '.join([f'{one.points}e0', *shares])})"

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
            doubt = amount.doubt and f"{amount.open} IS NULL"
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


def _not(condition: str) -> str:
    return f"NOT ({condition})"


def _literal(value: Scalar) -> str:
    """A value as SQL has it; a number is one of double precision."""
    if isinstance(value, bool) or value is None:
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"CAST('{float(value)!r}' AS DOUBLE PRECISION)"
