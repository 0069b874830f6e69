"""One meaning: a condition, and a ruleset, say the same in Python, over columns and as SQL."""

import math
import pickle
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import duckdb
import psycopg
import pyarrow as pa
import pytest
import sqlglot
from odd_tables import NODE, few_words, payments, playbook_of, table_of
from postgres import Server

from acegraph.graph import score
from acegraph.graph.tables.reading import TableReader
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.columns import BatchTests
from acegraph.nodes.rules.sql import to_sql
from acegraph.state import AceContext, BulletPlaybook, Condition, InvalidSettings
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task

BIG = 2**53
COLUMNS: dict[str, list[Any]] = {
    "number": [0.0, -0.0, 1.0, 12.5, -3.25, 1e300, 5e-324, float("nan"), float("inf"),
               float("-inf"), None],
    "whole": [0, 1, -1, BIG - 1, BIG, BIG + 1, BIG + 2, -BIG - 1, 2**62, None],
    "text": ["a", " a ", "A", "", " ", "true", "False", "12.50", "12", "1,234.5", "1e3", "n/a",
             "caf\u00e9", "cafe\u0301", "a\u200bb", "x'y\"z", "2026-01-05 22:10", "2026-01-05",
             "2026-02-30", "pay A, now", "CAFE\u0301-bar", None],
    "flag": [True, False, None],
    "vpn": [0, 1, 2, None],
    "mcc": [742, 5411, 0, None],
    "at": [datetime(2026, 1, 5, 22, 10), datetime(2026, 1, 5), datetime(2000, 2, 29, 0, 1), None],
    "day": [date(2026, 1, 5), date(1999, 12, 31), None],
}  # fmt: skip
VALUES = ["0", "12.5", "1234.5", str(BIG), "true", '"a"', '"12"', '"café"', '"ab"', '"0742"']
VALUES += ['"x\'y\\"z"', f'"{BIG + 1}"', '"Monday"', "22"]
TESTED = [*COLUMNS, "at.hour", "at.weekday", "at.month", "day.month"]
TESTED += ["day.hour", "absent"]


GRADED = (
    "DECLINE by number: 0, from 1 +0.5, from 12.5 +2, missing +1.5",
    "APPROVE the more whole goes from 0 to 1000: up to +2",
    "DECLINE the more number goes from 20 to -4: up to +0.8",
    'DECLINE by text: +0.25, "a" +0, "caf\u00e9" +1.5, missing +1.5',
    "DECLINE by flag: 0, true +1",
    "DECLINE by absent: 0, from 3 +1, missing +1",
    "DECLINE by at.hour: +0.2, from 6 +0, from 22 +1.2",
)


def conditions() -> Iterator[Condition]:
    yield from map(Condition.parse, GRADED)
    for name in TESTED:
        yield Condition.parse(f"DECLINE when {name} is missing")
        yield Condition.parse(f"DECLINE when {name} is known")
        for value in VALUES:
            if name in ("at", "day"):  # a time is tested by its parts
                continue
            if value[0] == '"' and name in ("text", "absent"):
                yield Condition.parse(f"DECLINE when {name} mentions {value}")
            for op in ("is", "is not"):
                yield Condition.parse(f"DECLINE when {name} {op} {value}")
            if value[0] not in '"tf':
                for op in ("<", "<=", ">", ">="):
                    yield Condition.parse(f"DECLINE when {name} {op} {value}")


PARTS = ("hour", "weekday", "month")
ODD = Task(
    "odd",
    (
        Field("number", "number"),
        Field("whole", "number"),
        Field("text", "text"),
        Field("flag", "flag"),
        Field("vpn", "flag"),
        Field("mcc", "category", words=("742",)),
        Field("at", "time", parts=PARTS),
        Field("day", "time", parts=PARTS),
    ),
)


def odd_table() -> pa.Table:
    size = max(map(len, COLUMNS.values()))
    return pa.table(
        {name: values + [None] * (size - len(values)) for name, values in COLUMNS.items()}
    )


def test_a_condition_means_the_same_for_a_row_and_over_columns() -> None:
    rules, table = TableRules(task=ODD), odd_table()
    tested = list(conditions())
    (batch,) = table.to_batches()
    rows = TableReader(rules, table.schema, conditions=tested).read(batch)
    fields = [rules.read(row)[0] for row in table.to_pylist()]
    for condition in tested:
        wanted = [bool(condition.holds(one)) for one in fields]
        assert condition.holds_over(rows).tolist() == wanted, condition.render()
        assert BatchTests(rows).all_hold(condition.comparisons).tolist() == wanted, (
            condition.render()
        )
    assert len(tested) > 400


FIELDS = (
    Field("amount", "number", role="amount", usual=True, least=0, most=50_000),
    Field("hour", "number", least=0, most=23.99),
    Field("score", "number"),
    Field("vpn", "flag", usual=True),
    Field("new", "flag"),
    Field("channel", "category", words=("web", "Shop"), closed=True, usual=True),
    Field("city", "category", words=("Paris",)),
    Field("at", "time", parts=("hour", "weekday", "month")),
)
VALUES_OF: Mapping[str, Sequence[Any]] = {
    "number": [0.0, -0.0, 1.5, 12.5, 23.0, 499.5, 500.0, 2500.0, 1e300, -5.0, float("inf"),
               float("nan"), None],
    "flag": [True, False, None],
    "category": ["web", "WEB", " web ", "shop", "Shop", "fax", "Paris", "pARIS", "Oslo", "x'y",
                 "", " ", "caf\u00e9", "true", "12.5", None],
    "time": [datetime(2026, 1, 5, 22, 10), datetime(2026, 2, 28), datetime(2000, 2, 29, 0, 1),
             None],
}  # fmt: skip
RULES = (
    "DECLINE when amount >= 500 and hour < 6",
    'DECLINE when channel is "web" and vpn is true',
    'APPROVE when channel is "Shop"',
    "DECLINE when at.hour >= 22 and new is not false",
    'APPROVE when at.weekday is "Monday" and city is known',
    "DECLINE when score is 12.5",
    'APPROVE when city is not "Paris" and amount <= 12.5',
    "DECLINE when absent is missing and at.month is 2",
    'DECLINE when city is "x\'y"',
    "DECLINE when new is missing and score is not 0",
    "DECLINE by score: +0.3, from 12.5 +2.5, from 500 +1, missing +0.8",
    'DECLINE by city: +0.4, "Paris" +0, "Oslo" +1.7',
    "APPROVE the more amount goes from 500 to 2500: up to +1.5",
    "DECLINE by hour: +0.9, from 6 +0, from 22 +1.4",
)
COSTS = AceContext(
    policy={"costs": {"missed_fraud": 1, "false_decline": 0.2, "decline_fee": 5}, "base_rate": 0.05}
)
CONTEXTS = [AceContext(), COSTS, AceContext(policy={"base_rate": 0.2}), AceContext(mode="vanilla")]


def rows_of(count: int) -> list[dict[str, Any]]:
    rng = random.Random(count)
    odd = [{one.name: rng.choice(VALUES_OF[one.kind]) for one in FIELDS} for _ in range(count)]
    return [dict.fromkeys(odd[0]), *odd]


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    kinds = {"number": pa.float64(), "flag": pa.bool_(), "time": pa.timestamp("us")}
    schema = pa.schema([(one.name, kinds.get(one.kind, pa.string())) for one in FIELDS])
    table = pa.Table.from_pylist(rows, schema)
    return table.append_column("row", pa.array(range(len(rows))))


def on_duckdb(query: str, table: pa.Table) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.register("payments", table)
        return connection.execute(f"SELECT * FROM ({query}) ORDER BY 1").fetchall()


def on_postgres(query: str, table: pa.Table, server: Server) -> list[tuple[Any, ...]]:
    kinds = {pa.float64(): "double precision", pa.bool_(): "boolean", pa.int64(): "bigint"}
    kinds |= {pa.string(): "text", pa.timestamp("us"): "timestamp"}
    columns = ", ".join(f'"{one.name}" {kinds[one.type]}' for one in table.schema)
    with psycopg.connect(server.base_url) as connection:
        connection.execute(f"CREATE TEMP TABLE payments ({columns})")
        with connection.cursor().copy("COPY payments FROM STDIN") as copy:
            for row in table.to_pylist():
                copy.write_row([None if _is_nan(v) else v for v in row.values()])
        return connection.execute(f"SELECT * FROM ({query}) AS q ORDER BY 1").fetchall()


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("postgres", marks=pytest.mark.slow)])
@pytest.mark.parametrize("undecided", ["hold", "expect"])
@pytest.mark.parametrize("context", CONTEXTS)
def test_the_sql_of_a_ruleset_decides_as_the_ruleset(
    engine: str, undecided: str, context: AceContext, request: pytest.FixtureRequest
) -> None:
    cases = [
        ({"amount": 30.0 * i, "vpn": i % 3 == 0, "score": 12.5 * (i % 4)}, "AD"[i % 5 == 0])
        for i in range(120)
    ]
    words = {"A": "APPROVE", "D": "DECLINE"}
    book = playbook_of([(fields, words[label]) for fields, label in cases], *RULES)
    ruleset = TableRules.of(book, context).ruleset
    if undecided == "expect":
        ruleset = ruleset.expecting(book.cases(NODE))
    rows, task = rows_of(700), Task("payments", FIELDS)
    query = to_sql(ruleset, FIELDS, engine, ids="row")
    table = as_table(rows)
    if engine == "duckdb":
        found = on_duckdb(query, table)
    else:
        found = on_postgres(query, table, request.getfixturevalue("postgres"))
    assert len(found) == len(rows)
    seen = set()
    for row, (_, points, decision, risk, rules) in zip(rows, found, strict=True):
        fitted = task.fit(row)
        one = ruleset.decide(fitted.fields, {m.field: m.why for m in fitted.misfits})
        assert decision == one.decision, (row, one)
        assert (risk is None) == (one.risk is None)
        if one.risk is not None:
            assert (float(f"{risk:.4g}"), points) == (one.risk, one.points), row
            assert rules == ", ".join(bullet.id for bullet in one.fired), row
        seen.add(decision)
    assert seen == {"APPROVE", "DECLINE", "UNDECIDED"}  # of some nothing is known at all


@pytest.mark.parametrize(
    "dialect",
    [
        *("duckdb", "bigquery"),
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in ("postgres", "snowflake", "databricks")
        ),
    ],
)
def test_the_sql_of_a_playbook_can_be_parsed(dialect: str) -> None:
    rules = TableRules.of(payments(random.Random(15))[0])
    text = rules.to_sql(dialect, table="pay", ids="payment")
    assert sqlglot.parse_one(text, dialect=dialect).find(sqlglot.exp.Table) is not None
    assert "'crypto'" in text
    assert (
        "--   paid_at: time\n-- A time is a timestamp without a time zone, by the clock of the task"
        in text
    )


def test_the_sql_of_a_few_rules_can_be_read_on_a_page() -> None:
    task = Task("payments", FIELDS[:7])
    book = playbook_of(
        [], *RULES[:3], *RULES[5:7], *RULES[8:10], "DECLINE when hour >= 22", task=task
    )
    text = TableRules.of(book).to_sql("duckdb", ids="row")
    assert len(book) == 8
    assert len(text.splitlines()) <= 75
    assert text.count(" WHEN TRUE THEN ") == 8  # one for each rule
    assert (
        "  CASE COALESCE(v0 >= CAST('500.0' AS DOUBLE PRECISION), uv0) AND COALESCE(v1 < "
        "CAST('6.0' AS DOUBLE PRECISION), uv1) WHEN TRUE THEN 13100 WHEN FALSE THEN 0 END AS r0"
    ) in text


@pytest.mark.parametrize(
    ("dialect", "name"), [("postgres", "x" * 64), ("bigquery", "paid.at"), ("databricks", "a b")]
)
def test_a_name_that_a_dialect_cannot_hold_is_refused(dialect: str, name: str) -> None:
    rules = TableRules.of(playbook_of([], f'DECLINE when "{name}" >= 5'))
    with pytest.raises(InvalidSettings, match=f"{dialect} cannot hold the name"):
        rules.to_sql(dialect)
    assert name in rules.to_sql("duckdb")


def test_an_unknown_dialect_is_one_line() -> None:
    rules = TableRules.of(playbook_of([], "DECLINE when amount >= 5"))
    with pytest.raises(InvalidSettings, match="no SQL in the dialect 'cobol': Unknown dialect"):
        rules.to_sql("cobol")


def test_a_playbook_that_knows_no_column_has_no_sql() -> None:
    with pytest.raises(InvalidSettings, match="knows no column yet"):
        TableRules.of(BulletPlaybook()).to_sql("duckdb")


def test_the_sql_of_a_playbook_with_costs_is_not_many_times_as_long() -> None:
    book, _ = few_words(random.Random(18))
    plain, priced = (TableRules.of(book, c).to_sql("duckdb") for c in (AceContext(), COSTS))
    assert len(plain) < len(priced) < 10 * len(plain)


def test_the_sql_of_a_playbook_decides_as_the_playbook() -> None:
    book, _ = few_words(random.Random(16))
    rules = TableRules.of(book)
    table = pa.table(
        {
            "channel": ["web", "shop", "fax", None, "web"],
            "new": [True, False, True, True, None],
            "amount": [85.0, 5.0, 90.0, 2.0, 88.0],
            "row": range(5),
        }
    )
    found = on_duckdb(rules.to_sql("duckdb", ids="row"), table)
    assert [row[2] for row in found] == score(rules, table)["decision"].to_pylist()


def test_a_ruleset_can_be_sent_to_another_process() -> None:
    book, rows = few_words(random.Random(17))
    rules = TableRules.of(book)
    sent = pickle.loads(pickle.dumps(rules))
    table = table_of(rows)
    assert score(sent, table).equals(score(rules, table))
