"""A ruleset as an Ibis expression: an engine such as DuckDB or PostgreSQL adds the same points.

Every test is true or false, never null. Numbers, flags and dates are read by the types of their
columns. The values of a text are read here, each once, and tested there by lists of texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import and_, or_
from typing import Any, Final

import ibis

from acegraph.graph.tables.amounts import AmountColumn, amount_columns, named_by_amount
from acegraph.graph.tables.reading import (
    FieldReader,
    Reasons,
    field_of_column,
    fields_of_columns,
)
from acegraph.graph.tables.ruleset import Ruleset
from acegraph.nodes.agent.fail_closed import telling_fields
from acegraph.nodes.rules.points import (
    SCORECARD,
    SCORECARD_FIELDS,
    START,
    UNIT,
    names_of,
    points_of,
)
from acegraph.nodes.rules.scale import TIE
from acegraph.nodes.text.currencies import (
    amount_fields,
    currencies_of_amounts,
    names_new_currency,
)
from acegraph.nodes.text.field_contract import KnownField
from acegraph.nodes.text.field_patterns import MEASURED
from acegraph.nodes.text.lexicon import FLAGS
from acegraph.nodes.text.money import currency_code
from acegraph.nodes.text.reader import WEEKDAYS, is_code, read_value
from acegraph.state import APPROVE, DECLINE, Condition, InvalidDataset
from acegraph.state.values.condition import MENTIONS, Comparison
from acegraph.state.values.memos import is_free_text
from acegraph.state.values.notation import NOTHING
from acegraph.state.values.transaction import Scalar, is_derived, plain_value
from acegraph.state.values.verdict import UNDECIDED

Expression = Any
"""A column of Ibis, which has no types of its own."""
_EXACT: Final = 2**53
_MOST_TEXTS: Final = 5_000
"""So many different texts of a column are read one by one."""


@dataclass(frozen=True)
class _Field:
    """A field of the playbook as expressions over a column of the engine."""

    known: Expression
    equals: Callable[[Scalar], Expression]
    number: Expression = None
    """Null where the value is no number; None where none is."""
    doubt: Expression = None
    """None where nothing is in doubt."""
    holds: Callable[[Comparison], Expression] | None = None
    """Another way to test numbers."""


class EngineColumns:
    """The columns of a table on an engine, as the fields of a ruleset."""

    def __init__(
        self,
        ruleset: Ruleset,
        table: ibis.Table,
        *,
        conditions: Sequence[Condition] = (),
        texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`texts` are the values of text columns; those that are not given are asked for."""
        self._ruleset, self._table, self._texts = ruleset, table, texts
        self._found: dict[str, Sequence[str] | None] = {}
        self._refuse_what_needs_rows(table.columns)
        self.columns = dict(fields_of_columns(ruleset, table.columns, conditions))
        """By column that is read, the field that it is."""
        rules = [*conditions, *(b.condition for b in ruleset.active if b.condition)]
        self._tested = [test for condition in rules for test in condition.comparisons]
        self.fields: dict[str, _Field] = {}
        for column, name in self.columns.items():
            self.fields |= self._read(column, name)
        for amount in amount_columns(ruleset.contract, table.columns):
            if amount.column in self.columns and table[amount.column].type().is_string():
                self._doubt_currencies(amount)

    def _refuse_what_needs_rows(self, columns: Sequence[str]) -> None:
        ruleset = self._ruleset
        names = [field_of_column(ruleset, column) for column in columns]
        derived = [*filter(is_derived, names), *ruleset.tested_derived]
        if ruleset.contract.form.rates_instead(ruleset.rates):
            raise InvalidDataset("amounts are converted row by row: score a file instead")
        if names_new_currency(ruleset.contract, columns):
            raise InvalidDataset(
                "a column names a currency as no labelled payment did: score a file instead"
            )
        if derived or ruleset.contract.has_derived:
            raise InvalidDataset("derived fields are read row by row: score a file instead")
        if len(set(names)) < len(names):
            raise InvalidDataset("two columns are one field of the playbook; leave one out")

    def holds(self, test: Comparison) -> Expression:
        """Whether a test holds: true or false, never null."""
        one = self.fields.get(test.field)
        if one is None:
            return ibis.literal(test.op == "is missing")
        if test.op in ("is missing", "is known"):
            return one.known if test.op == "is known" else ~one.known
        if test.op in ("is", "is not"):
            equal = one.equals(test.value).fill_null(False)
            return equal if test.op == "is" else one.known & ~equal
        if one.holds is not None:
            return one.holds(test)
        if test.op == MENTIONS:
            raise InvalidDataset(f"column {test.field!r}: 'mentions' wants text; cast it to text")
        if one.number is None:
            return ibis.literal(False)
        compare = {"<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[test.op]
        return getattr(one.number, compare)(float(test.value or 0)).fill_null(False)

    def fires(self, condition: Condition) -> Expression:
        """Whether a condition holds."""
        return reduce(and_, map(self.holds, condition.comparisons))

    def known(self, name: str) -> Expression:
        """Whether a field has a value."""
        return self.fields[name].known if name in self.fields else ibis.literal(False)

    def doubts(self) -> dict[str, Expression]:
        """By field that may be in doubt, whether it is."""
        doubts = {n: one.doubt for n, one in self.fields.items() if one.doubt is not None}
        for known in self._ruleset.contract.fields.values():
            if known.is_usual:
                absent = ~self.known(known.name)
                earlier = doubts.get(known.name)
                doubts[known.name] = absent if earlier is None else earlier | absent
        return doubts

    def lacks_most(self) -> Expression:
        """Whether most of the known fields are missing: then each that is missing is in doubt."""
        contract = self._ruleset.contract
        has = sum((_if(self.known(n), 1) for n in contract.counted), ibis.literal(0, "int64"))
        return has < contract.enough

    def _read(self, column: str, name: str) -> dict[str, _Field]:
        """The field of a column and, of a date, its parts."""
        values, kind = self._table[column], self._table[column].type()
        known = self._ruleset.contract.fields.get(name)
        if kind.is_string():
            return self._text(values, name, known)
        if kind.is_timestamp() or kind.is_date():
            return self._date(values, name, known, has_hour=kind.is_timestamp())
        if kind.is_boolean():
            return {name: self._flag(values, name, known)}
        if not kind.is_numeric() or (known is not None and known.kind == "word"):
            wanted = known.kind if known else "number, flag, text or date"
            raise InvalidDataset(f"column {column!r}: a {wanted} wanted; found {kind}")
        return {name: self._number(values, name, known)}

    def _number(self, values: Expression, name: str, known: KnownField | None) -> _Field:
        number, has_value = values.cast("float64"), values.notnull()
        is_name = None
        if values.type().is_integer():
            if (known is None or known.kind != "number") and name not in MEASURED:
                is_name = values > _EXACT  # a minus makes a text of digits a quantity
                number = ibis.ifelse(is_name, ibis.null("float64"), number)
        else:
            # Not `isinf`: for Spark, Ibis makes FALSE of it.
            is_finite = has_value & ~number.isnan() & (number.abs() < ibis.literal(math.inf))
            has_value = is_finite.fill_null(False)
            number = ibis.ifelse(has_value, number, ibis.null("float64"))
        whole, is_flag = number, number.isin([0.0, 1.0]).fill_null(False)
        wanted = self._ruleset.contract.known_field(name)
        doubt = None
        if wanted is not None and wanted.kind == "number":
            doubt = ((number < wanted.least) | (number > wanted.most)).fill_null(False)
        if wanted is not None and wanted.kind == "flag":
            doubt = has_value & ~is_flag
        takes_flags = name in FLAGS or (known is not None and known.kind == "flag")
        if takes_flags:
            number = ibis.ifelse(is_flag, ibis.null("float64"), number)
        if is_code(name) and not takes_flags:
            number = ibis.ifelse(whole == whole.floor(), ibis.null("float64"), number)

        def equals(value: Scalar) -> Expression:
            if isinstance(value, bool):
                return whole == float(value) if takes_flags else ibis.literal(False)
            if isinstance(value, str):
                return _equals_written(values, whole, name, value, is_name is not None)
            return number == float(value or 0)

        return _Field(has_value, equals, number, doubt)

    def _flag(self, values: Expression, name: str, known: KnownField | None) -> _Field:
        if known is not None and known.kind in ("number", "word"):
            raise InvalidDataset(f"column {name!r}: a {known.kind} wanted; found yes or no")
        wanted = self._ruleset.contract.known_field(name)
        doubt = values.notnull() if wanted is not None and wanted.kind == "number" else None

        def equals(value: Scalar) -> Expression:
            return values == value if isinstance(value, bool) else ibis.literal(False)

        return _Field(values.notnull(), equals, doubt=doubt)

    def _date(
        self, values: Expression, name: str, known: KnownField | None, *, has_hour: bool
    ) -> dict[str, _Field]:
        compared = any(t.field == name and t.value is not None for t in self._tested)
        if compared or (
            known is not None and (known.kind in ("number", "flag") or known.is_closed)
        ):
            raise InvalidDataset(
                f"column {name!r}: its text is tested; found dates: cast it to text"
            )
        has_zone, zones = has_hour and values.type().timezone is not None, known and known.zones
        is_said = (
            self._texts is not None
        )  # SQL for any table says in a comment which clock it reads
        if zones and not is_said and (zones == {""} if has_zone else has_hour and "" not in zones):
            wanted = "without" if has_zone else "with"
            raise InvalidDataset(f"column {name!r}: times {wanted} a time zone wanted; cast it")
        has_value, nothing = values.notnull(), lambda _: ibis.literal(False)
        day = values.day_of_week.index()

        def is_day(value: Scalar) -> Expression:
            return day == WEEKDAYS.index(value) if value in WEEKDAYS else ibis.literal(False)

        fields = {
            name: _Field(has_value, nothing),
            f"{name}.weekday": _Field(has_value, is_day),
            f"{name}.month": _number_field(has_value, values.month()),
        }
        if has_hour:
            fields[f"{name}.hour"] = _number_field(has_value, values.hour())
        return fields

    def _text(self, values: Expression, name: str, known: KnownField | None) -> dict[str, _Field]:
        """A field of texts, and the parts of dates: what each value means is found out here."""
        texts = self._texts_of(values, name)
        if texts is None:
            is_tested = any(name == t.field for t in self._tested) or name in SCORECARD_FIELDS
            if is_tested or (known is not None and (known.kind != "word" or known.is_closed)):
                raise InvalidDataset(
                    f"column {name!r}: its texts are tested, and more than {_MOST_TEXTS:,} differ; "
                    "give it a type (number, timestamp), keep fewer values, or score a file instead"
                )
            is_nothing = values.strip().lower().isin(sorted(NOTHING))
            return {name: _Field((values.notnull() & ~is_nothing).fill_null(False), _never)}
        reader = FieldReader(name, self._ruleset.contract, (), Reasons(), is_cells=False)
        read = {text: reader.read_one(text) for text in texts}
        doubtful = [text for text, (_, why) in read.items() if why]
        parts = dict.fromkeys(part for fields, _ in read.values() for part in fields)
        parsed = {part: {t: fields.get(part) for t, (fields, _) in read.items()} for part in parts}
        fields = {part: _written(values, part, parsed[part]) for part in parsed}
        doubt: Expression = _among(values, doubtful) if doubtful else None
        of_name = fields.setdefault(name, _written(values, name, {}))
        if self._texts is not None and known is not None and known.is_closed:
            doubt = of_name.known & ~_among(values, [t for t in texts if t not in doubtful])
        fields[name] = replace(of_name, doubt=doubt)
        return fields

    def _doubt_currencies(self, amount: AmountColumn) -> None:
        """Put amounts in doubt whose texts name another currency than they may."""
        name, values = self.columns[amount.column], self._table[amount.column]
        doubt = self.fields[name].doubt
        stated = self._by_currency(amount.column, named_by_amount)
        beside: list[tuple[str | None, Expression]] = [(None, ibis.literal(True))]
        if amount.beside and stated:
            column, named = self._table[amount.beside], self._by_currency(amount.beside)
            beside = [(words[0], _among(column, words)) for words in named.values()]
            beside.append((None, ~_among(column, [*chain.from_iterable(named.values())])))
        for texts in stated.values():
            for word, is_beside in beside:
                if amount.why_in_doubt(texts[0], word, self._ruleset.contract):
                    where = _among(values, texts) & is_beside
                    doubt = where if doubt is None else doubt | where
        self.fields[name] = replace(self.fields[name], doubt=doubt)

    def _by_currency(
        self, column: str, currency_of: Callable[[Scalar], str | None] = currency_code
    ) -> dict[str, list[str]]:
        """The texts of a column by the currency that they name; without those that name none."""
        texts = self._texts_of(self._table[column], field_of_column(self._ruleset, column))
        if texts is None:
            raise InvalidDataset(
                f"column {column!r}: its texts may name currencies, and more than {_MOST_TEXTS:,} "
                "differ; score a file instead"
            )
        named: dict[str, list[str]] = {}
        for text in texts:
            if currency := currency_of(plain_value(column, text)):
                named.setdefault(currency, []).append(text)
        return named

    def _texts_of(self, values: Expression, name: str) -> Sequence[str] | None:
        """The different texts of a column; None if they are too many."""
        if self._texts is not None:
            return self._texts.get(name, ())
        if name not in self._found:
            column = values.name("value")
            found = column.as_table().filter(column.notnull()).distinct().limit(_MOST_TEXTS + 1)
            texts = found.to_pyarrow().column(0).to_pylist()
            self._found[name] = texts if len(texts) <= _MOST_TEXTS else None
        return self._found[name]


def _written(values: Expression, name: str, meant: Mapping[str, Scalar]) -> _Field:
    """A field of texts, each of which means a value."""

    def holds(test: Comparison) -> Expression:
        return _among(values, [text for text, one in meant.items() if test.holds({name: one})])

    def equals(value: Scalar) -> Expression:
        return holds(Comparison(name, "is", value))

    missing = [text for text, one in meant.items() if one is None]
    numbers = [
        (text, float(one))
        for text, one in meant.items()
        if isinstance(one, int | float) and not isinstance(one, bool)
    ]
    is_amount = numbers and amount_fields((name,))
    return _Field(
        (values.notnull() & ~_among(values, missing)).fill_null(False),
        equals,
        values.cases(*numbers, else_=ibis.null("float64")) if is_amount else None,
        holds=holds,
    )


def _never(_: Scalar) -> Expression:
    return ibis.literal(False)


def _number_field(has_value: Expression, values: Expression) -> _Field:
    number = values.cast("float64")

    def equals(value: Scalar) -> Expression:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return number == float(value or 0) if is_number else ibis.literal(False)

    return _Field(has_value, equals, number)


def _among(values: Expression, texts: Sequence[str]) -> Expression:
    return values.isin(list(texts)).fill_null(False) if texts else ibis.literal(False)


def _equals_written(
    values: Expression, number: Expression, name: str, text: str, has_names: bool
) -> Expression:
    """Whether a number is written like this: as a code, or as a name of very many digits."""
    try:
        meant = float(text)
    except ValueError:
        return ibis.literal(False)
    if is_code(name) and read_value(name, meant).get(name) == text:
        return number == meant
    is_name = has_names and text.isascii() and text.isdigit() and text[0] != "0"
    if is_name and int(text) in range(_EXACT + 1, 2**63):
        return values == int(text)
    return ibis.literal(False)


def as_expression(
    ruleset: Ruleset, table: ibis.Table, *, texts: Mapping[str, Sequence[str]] | None = None
) -> ibis.Table:
    """The table with the columns `points`, `risk` and `decision`, as an expression of Ibis.

    Nothing is decided before the expression is run. The values of text columns are asked for at
    once, unless `texts` names them.
    """
    return decided_by(EngineColumns(ruleset, table, texts=texts), ruleset, table)


class _Stage:
    """The table with a column for every test, so that none is computed twice."""

    def __init__(self, columns: EngineColumns, ruleset: Ruleset, table: ibis.Table) -> None:
        self.given, self._names = frozenset(columns.columns.values()), columns.fields.keys()
        conditions = [b.condition for b in (*ruleset.rules, *ruleset.active) if b.condition]
        tests = [test for condition in conditions for test in condition.comparisons]
        tests += [
            Comparison(name, line.test.op, line.test.value)
            for line in SCORECARD
            for name in names_of(line.test)
            if name in columns.fields
        ]
        doubts = columns.doubts()
        self._tests = {_key(test): f"_t{i}" for i, test in enumerate(tests)}
        staged = {self._tests[_key(test)]: columns.holds(test) for test in tests}
        staged |= {f"_k{i}": columns.known(name) for i, name in enumerate(self._names)}
        staged |= {f"_d{i}": one for i, one in enumerate(doubts.values())}
        empty = reduce(and_, (table[name].isnull() for name in table.columns))
        limit = _limit(columns, ruleset)
        few = columns.lacks_most()
        self.table = table.mutate(**staged, _limit=limit, _empty=empty, _few=few)
        self._known = {name: self.table[f"_k{i}"] for i, name in enumerate(self._names)}
        self.doubts = {name: self.table[f"_d{i}"] for i, name in enumerate(doubts)}
        for known in ruleset.contract.fields.values():
            if not known.is_usual:
                absent = self.table["_few"] & ~self.known(known.name)
                self.doubts[known.name] = absent | self.doubts.get(known.name, ibis.literal(False))
        for amount, currency in currencies_of_amounts(ruleset.contract).items():
            if currency in self.doubts:
                earlier = self.doubts.get(amount, ibis.literal(False))
                self.doubts[amount] = earlier | self.doubts[currency]

    def has(self, name: str) -> bool:
        """Whether there is such a field."""
        return name in self._names

    def holds(self, test: Comparison) -> Expression:
        """Whether a test holds."""
        name = self._tests.get(_key(test))
        return ibis.literal(test.op == "is missing") if name is None else self.table[name]

    def known(self, name: str) -> Expression:
        """Whether a field has a value."""
        return self._known.get(name, ibis.literal(False))


def _key(test: Comparison) -> tuple[str, str, bool, Scalar]:
    return test.field, test.op, isinstance(test.value, bool), test.value


def decided_by(columns: EngineColumns, ruleset: Ruleset, table: ibis.Table) -> ibis.Table:
    """The table with the columns of a decision, by columns that were read."""
    stage = _Stage(columns, ruleset, table)
    scored = stage.table.mutate(
        points=_sum(_points(stage, ruleset)),
        _most=_sum(_most(stage, ruleset)),
        _lowest=_lowest(ruleset, stage.doubts),
        _doubted=_doubted(stage.doubts, ruleset),
        _unknown=~reduce(or_, _anything_known(columns, stage, ruleset), ibis.literal(False)),
    )
    is_open = scored._unknown | (
        scored._doubted & (scored._most > ibis.least(scored._limit, scored._lowest))
    )
    decision = ibis.cases(
        (scored._empty, UNDECIDED),
        (scored.points > scored._limit, DECLINE),
        (is_open, UNDECIDED),
        else_=APPROVE,
    )
    scale = ruleset.scale
    log_odds = _between(scored.points / float(UNIT) + scale.shift, -30.0, 30.0)
    given = [scored[name] for name in table.columns]
    decided = scored.select(
        *given, scored.points, decision=decision, risk=scale.highest / (1 + (-log_odds).exp())
    )
    risk = ibis.ifelse(decided.decision == UNDECIDED, ibis.null("float64"), decided.risk)
    return decided.mutate(risk=risk)


def _sum(parts: Sequence[Expression]) -> Expression:
    return reduce(lambda a, b: a + b, parts, ibis.literal(START, type="int64"))


def _if(holds: Expression, points: int) -> Expression:
    return ibis.ifelse(holds, ibis.literal(points, "int64"), ibis.literal(0, "int64"))


def _points(stage: _Stage, ruleset: Ruleset) -> list[Expression]:
    parts = []
    for line in SCORECARD:
        holds, left = ibis.literal(False), ibis.literal(True)
        for name in filter(stage.has, names_of(line.test)):
            holds = holds | (left & stage.holds(Comparison(name, line.test.op, line.test.value)))
            if name in stage.given:
                break
            left = left & ~stage.known(name)
        parts.append(_if(holds, line.points))
    for bullet in ruleset.rules:
        if bullet.condition:
            fires = reduce(and_, map(stage.holds, bullet.condition.comparisons))
            parts.append(_if(fires, points_of(bullet)))
    return parts


def _most(stage: _Stage, ruleset: Ruleset) -> list[Expression]:
    """The most points that values for the fields in doubt could give."""
    nothing, parts = ibis.literal(False), []
    for line in SCORECARD:
        left: Expression = ibis.literal(True)
        for name in names_of(line.test):
            if not stage.has(name) and name not in stage.doubts:
                continue
            in_doubt = left & stage.doubts.get(name, nothing)
            has = ibis.literal(True) if name in stage.given else stage.known(name)
            test = Comparison(name, line.test.op, line.test.value)
            if stage.has(name):
                parts.append(_if(left & has & ~in_doubt & stage.holds(test), line.points))
            parts.append(_if(in_doubt, max(line.points, 0)))
            left = left & ~(in_doubt | has)
    for bullet in ruleset.active:
        if bullet.condition and points_of(bullet) > 0:
            tests = bullet.condition.comparisons
            may = (stage.holds(t) | stage.doubts.get(t.field, nothing) for t in tests)
            parts.append(_if(reduce(and_, may), points_of(bullet)))
    return parts


def _limit(columns: EngineColumns, ruleset: Ruleset) -> Expression:
    """The points above which a row is declined."""
    scale, costs = ruleset.scale, ruleset.scale.costs
    if costs is None:
        return ibis.literal(scale.limit({}), "int64")
    names = amount_fields(tuple(columns.fields), scale.amount_name)
    numbers = [n for name in names if (n := columns.fields[name].number) is not None]
    amount = ibis.coalesce(*numbers, ibis.literal(0.0)).abs() if numbers else ibis.literal(0.0)
    stake = ibis.ifelse(amount == 0, 1.0, amount)
    of_fraud = stake * (costs.missed_fraud - costs.caught_fraud) + costs.missed_fee
    of_honest = stake * (costs.false_decline - costs.approved_honest) + costs.decline_fee
    total = ibis.ifelse(of_honest + of_fraud == 0, 1.0, of_honest + of_fraud)
    share = ibis.cases((of_fraud <= 0, 1 - 1e-6), (of_honest < 0, 1e-6), else_=of_honest / total)
    share = _between(share, 1e-6, 1 - 1e-6)
    share = _between(share / scale.highest, 1e-9, 1 - 1e-9)
    limit = ((share / (1 - share)).ln() - scale.shift + TIE) * UNIT
    return limit.floor().cast("int64")


def _between(value: Expression, least: float, most: float) -> Expression:
    """A value that is never null, within limits; `clip` would write it out four times."""
    return ibis.greatest(ibis.least(value, most), least)


def _doubted(doubts: Mapping[str, Expression], ruleset: Ruleset) -> Expression:
    """Whether a field is in doubt; where no row can be declined, a field that tells something."""
    scale, names = ruleset.scale, set(doubts)
    if not scale.can_decline:
        names = telling_fields(names, ruleset.active, scale)
    return reduce(or_, (doubts[name] for name in sorted(names)), ibis.literal(False))


def _lowest(ruleset: Ruleset, doubts: Mapping[str, Expression]) -> Expression:
    """The fewest points above which a row could be declined, by amounts that are in doubt."""
    scale, most = ruleset.scale, ibis.literal(2**40, "int64")
    if not scale.can_decline:
        return -most
    names = amount_fields(tuple(doubts), scale.amount_name)
    if scale.costs is None or not names:
        return most
    in_doubt = reduce(or_, (doubts[name] for name in names))
    return ibis.ifelse(in_doubt, ibis.literal(scale.lowest_limit, "int64"), most)


def _anything_known(columns: EngineColumns, stage: _Stage, ruleset: Ruleset) -> list[Expression]:
    tested = {
        name
        for b in ruleset.active
        if b.condition
        for name in b.condition.fields
        if not is_free_text(name)
    }
    wanted = tested | ruleset.contract.fields.keys()
    wanted |= {*amount_fields(tuple(columns.fields), ruleset.contract.form.amount)}
    return [stage.known(name) for name in columns.fields if name in wanted]
