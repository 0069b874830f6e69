"""One meaning: a condition, and a playbook, say the same in Python, over columns and on engines."""

import os
import pickle
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from command_line import run
from odd_tables import codes, currencies, few_words, gaps, payments, playbook_of, table_of
from postgres import Server
from spark import spark_session

from acegraph.graph import Ruleset, score
from acegraph.graph.tables.backtest import Labels, backtest_files, subjects_of
from acegraph.graph.tables.engines.addresses import (
    backtest_address,
    check_sample,
    playbook_sql,
    score_address,
)
from acegraph.graph.tables.engines.expression import EngineColumns, as_expression
from acegraph.graph.tables.reading import TableReader
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    Case,
    Condition,
    InvalidDataset,
    InvalidSettings,
)
from acegraph.state.errors import EngineDiffers

ENGINES = ["duckdb", "polars", "postgres"]
if os.environ.get("ACE_TEST_SPARK"):
    ENGINES = ["spark"]
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
TESTED = [*COLUMNS, "text.hour", "text.weekday", "at.hour", "at.weekday", "at.month", "day.month"]
TESTED += ["day.hour", "absent"]


def conditions() -> Iterator[Condition]:
    for name in TESTED:
        yield Condition.parse(f"DECLINE when {name} is missing")
        yield Condition.parse(f"DECLINE when {name} is known")
        for value in VALUES:
            if name in ("at", "day"):  # dates have no text on an engine
                continue
            if value[0] == '"' and name in ("text", "text.weekday", "absent"):
                yield Condition.parse(f"DECLINE when {name} mentions {value}")
            for op in ("is", "is not"):
                yield Condition.parse(f"DECLINE when {name} {op} {value}")
            if value[0] not in '"tf':
                for op in ("<", "<=", ">", ">="):
                    yield Condition.parse(f"DECLINE when {name} {op} {value}")


def odd_table() -> pa.Table:
    size = max(map(len, COLUMNS.values()))
    return pa.table(
        {name: values + [None] * (size - len(values)) for name, values in COLUMNS.items()}
    )


@contextmanager
def connected(engine: str, server: Server) -> Iterator[Any]:
    if engine == "postgres":
        backend = ibis.connect(server.base_url.replace("postgresql://", "postgres://"))
    elif engine == "spark":
        backend = ibis.pyspark.connect(spark_session())
    else:
        backend = getattr(ibis, engine).connect()
    try:
        yield backend
    finally:
        backend.disconnect()


def stored(backend: Any, name: str, table: pa.Table) -> Any:
    """A table on an engine; on the shared server only for this connection."""
    if backend.name == "pyspark":  # by way of pandas, whole numbers would become floats
        file = Path(tempfile.mkdtemp()) / f"{name}.parquet"
        pq.write_table(table, file)
        return backend.read_parquet(file)
    is_shared = backend.name == "postgres"
    return backend.create_table(name, table, **({"temp": True} if is_shared else {}))


def test_a_condition_means_the_same_for_a_row_and_over_columns() -> None:
    rules, table = Ruleset(), odd_table()
    tested = list(conditions())
    (batch,) = table.to_batches()
    rows = TableReader(rules, table.column_names, conditions=tested).read(batch)
    fields = [rules.fields(row) for row in table.to_pylist()]
    for condition in tested:
        wanted = [bool(condition.holds(one)) for one in fields]
        assert condition.holds_over(rows).tolist() == wanted, condition.render()
    assert len(tested) > 400


def test_an_engine_does_not_look_for_words_in_numbers() -> None:
    table = ibis.memtable(pa.table({"memo": [1, 2], "amount": [3.0, 4.0]}))
    rule = Condition.parse('DECLINE when memo mentions "gift card"')
    with pytest.raises(InvalidDataset, match="cast it to text"):
        EngineColumns(Ruleset(), table, conditions=[rule]).fires(rule)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_condition_means_the_same_on_an_engine(engine: str, postgres: Server) -> None:
    rules, tested = Ruleset(), list(conditions())
    given = odd_table().append_column("row", pa.array(range(odd_table().num_rows)))
    fields = [rules.fields(row) for row in odd_table().to_pylist()]
    with connected(engine, postgres) as backend:
        table = stored(backend, "odd", given)
        columns = EngineColumns(rules, table, conditions=tested)
        marked = {f"c{i}": columns.fires(condition) for i, condition in enumerate(tested)}
        found = table.select("row", **marked).order_by("row").to_pyarrow()
    for i, condition in enumerate(tested):
        wanted = [bool(condition.holds(one)) for one in fields]
        assert found[f"c{i}"].to_pylist() == wanted, condition.render()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [payments, codes, few_words, currencies, gaps])
def test_a_playbook_decides_the_same_on_an_engine(engine: str, make: Any, postgres: Server) -> None:
    book, rows = make(random.Random(11))
    numbered = table_of(rows).append_column("row_number", pa.array(range(len(rows))))
    costs = "missed_fraud=1,false_decline=0.2,decline_fee=5"
    rules = Ruleset.of(book, AceContext(costs=costs))
    if make is few_words:
        rules = replace(rules, scale=replace(rules.scale, highest=0.4))
    if make is gaps:  # as if no labelled case were risky enough
        rules = replace(rules, scale=replace(rules.scale, riskiest=-(10**6)))
    with connected(engine, postgres) as backend:
        table = stored(backend, "payments", numbered)
        decided = as_expression(rules, table)
        assert check_sample(rules, table, decided) == len(rows)
        found = decided.order_by("row_number").to_pyarrow()
    wanted = score(rules, numbered)
    assert found["decision"].to_pylist() == wanted["decision"].to_pylist()
    for risk, one in zip(found["risk"].to_pylist(), wanted["risk"].to_pylist(), strict=True):
        assert (risk is None) == (one is None)
        assert risk is None or float(f"{risk:.4g}") == one


def test_a_difference_between_engine_and_python_is_an_error() -> None:
    book, rows = few_words(random.Random(12))
    rules, backend = Ruleset.of(book), ibis.duckdb.connect()
    table = backend.create_table("payments", table_of(rows))
    decided = as_expression(rules, table)
    wrong = decided.mutate(decision=ibis.literal("APPROVE"), risk=ibis.literal(0.5))
    with pytest.raises(EngineDiffers, match="otherwise"):
        check_sample(rules, table, wrong)
    backend.disconnect()


def test_nan_in_a_parquet_file_is_missing_on_duckdb(tmp_path: Any) -> None:
    pq.write_table(pa.table({"amount": [float("nan"), 5000.0, None]}), tmp_path / "t.parquet")
    table = ibis.duckdb.connect().read_parquet(tmp_path / "t.parquet")
    condition = Condition.parse("DECLINE when amount >= 1000")
    fires = EngineColumns(Ruleset(), table, conditions=[condition]).fires(condition)
    assert table.select(fires=fires).to_pyarrow()["fires"].to_pylist() == [False, True, False]


def test_score_and_backtest_take_addresses(tmp_path: Any) -> None:
    book, rows = payments(random.Random(13))
    rng = random.Random(14)
    table = table_of([{**row, "fraud": rng.choice([1, 0, None])} for row in rows])
    url, file = f"duckdb://{tmp_path}/p.duckdb", tmp_path / "t.parquet"
    backend = ibis.duckdb.connect(tmp_path / "p.duckdb")
    backend.create_table("payments", table)
    backend.disconnect()
    pq.write_table(table, file)
    counts = score(book, table)["decision"].value_counts().to_pylist()
    report = score_address(Ruleset.of(book), f"{url}#payments", "decided")
    assert report.decisions == {one["values"]: one["counts"] for one in counts}
    backend = ibis.duckdb.connect(tmp_path / "p.duckdb")
    assert backend.table("decided").count().to_pyarrow().as_py() == len(rows)
    backend.disconnect()
    for what in ("b3", "playbook"):
        subjects = subjects_of(book, what)
        (there,) = backtest_address(subjects, f"{url}#payments", Labels("fraud")).backtests
        (here,) = backtest_files(subjects, file, Labels("fraud")).backtests
        assert vars(there.fired) == pytest.approx(vars(here.fired))
        assert (there.added is None) == (here.added is None)
        if there.added and here.added:
            assert vars(there.added) == pytest.approx(vars(here.added))
        assert (there.rows, there.all_frauds, there.undecided) == (
            here.rows,
            here.all_frauds,
            here.undecided,
        )


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("duckdb://none.duckdb#t", "no such file"),
        ("postgres://me:secret@127.0.0.1:1/db#t", "cannot be reached"),
        ("duckdb://p.duckdb#other", "has no table other"),
        ("duckdb://p.duckdb", "an address is URL#TABLE"),
    ],
)
def test_a_bad_address_is_one_line(address: str, said: str, tmp_path: Any) -> None:
    backend = ibis.duckdb.connect(tmp_path / "p.duckdb")
    backend.create_table("t", pa.table({"amount": [1.0]}))
    backend.disconnect()
    BulletPlaybook(f"sqlite:///{tmp_path}/ace.db").close()
    for command in (("score",), ("backtest", "DECLINE when amount > 1")):
        done = run(tmp_path, *command, address, "--playbook", "ace.db", code=2)
        assert said in done.stderr
        assert "secret" not in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


@pytest.fixture(scope="module")
def many_columns() -> Ruleset:
    return Ruleset.of(payments(random.Random(15))[0])


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "snowflake", "bigquery", "databricks"])
def test_the_sql_of_a_playbook_can_be_parsed(dialect: str, many_columns: Ruleset) -> None:
    text = playbook_sql(many_columns, dialect, "pay")
    assert sqlglot.parse_one(text, dialect=dialect).find(sqlglot.exp.Table) is not None
    assert '"crypto"' in text or "'crypto'" in text


def test_a_dialect_without_what_is_needed_is_one_line(many_columns: Ruleset) -> None:
    with pytest.raises(InvalidSettings, match="no SQL in the dialect 'mysql': MySQL does not"):
        playbook_sql(many_columns, "mysql")


def test_a_playbook_that_knows_no_column_has_no_sql() -> None:
    with pytest.raises(InvalidSettings, match="knows no column yet"):
        playbook_sql(Ruleset.of(BulletPlaybook()), "duckdb")


def test_the_sql_of_a_playbook_with_costs_is_not_many_times_as_long() -> None:
    book, _ = few_words(random.Random(18))
    costs = AceContext(costs="missed_fraud=1,false_decline=0.2,decline_fee=5")
    plain, priced = (playbook_sql(Ruleset.of(book, c), "duckdb") for c in (AceContext(), costs))
    assert len(plain) < len(priced) < 10 * len(plain)


def test_the_sql_of_a_playbook_decides_as_the_playbook() -> None:
    book, _ = few_words(random.Random(16))
    rules = Ruleset.of(book)
    table = pa.table(
        {
            "channel": ["web", "shop", "fax", None, "web"],
            "new": [True, False, True, True, None],
            "amount": [85.0, 5.0, 90.0, 2.0, 88.0],
        }
    )
    backend = ibis.duckdb.connect()
    backend.create_table("payments", table)
    found = backend.con.sql(playbook_sql(rules, "duckdb")).to_arrow_table()
    assert found["decision"].to_pylist() == score(rules, table)["decision"].to_pylist()


def test_the_sql_says_by_which_clock_it_reads_times_and_keeps_the_ids() -> None:
    times = [f"2026-01-{1 + i % 28:02}T{i % 24:02}:30:00+00:00" for i in range(60)]
    book = BulletPlaybook()
    past = [Case(at, {"amount": 5.0, "at": at}, "APPROVE") for at in dict.fromkeys(times)]
    book.remember(past, "fraud_detection")
    rule = "DECLINE when at.hour < 6"
    book.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    rules = Ruleset.of(book)
    text = playbook_sql(rules, "duckdb", ids="payment")
    assert "--   at: a timestamp without a time zone, by the clock of the labelled" in text
    assert "payments (+00:00)" in text
    given = [datetime(2026, 1, 1, hour, 30, tzinfo=UTC) for hour in (0, 5, 6, 23)]
    table = pa.table({"payment": ["a", "b", "c", "d"], "amount": [5.0] * 4, "at": given})
    backend = ibis.duckdb.connect()
    backend.create_table("zoned", table)
    clock = '"at" at time zone \'UTC\' as "at"'
    backend.con.sql(f"create table payments as select * replace ({clock}) from zoned")
    found = backend.con.sql(text).to_arrow_table()
    assert found["payment"].to_pylist() == ["a", "b", "c", "d"]
    assert found["decision"].to_pylist() == score(rules, table)["decision"].to_pylist()
    assert found["decision"].to_pylist() == ["DECLINE", "DECLINE", "APPROVE", "APPROVE"]
    backend.disconnect()


def test_a_ruleset_can_be_sent_to_another_process() -> None:
    book, rows = few_words(random.Random(17))
    rules = Ruleset.of(book)
    sent = pickle.loads(pickle.dumps(rules))
    table = table_of(rows)
    assert score(sent, table).equals(score(rules, table))


def test_a_playbook_without_rules_is_the_scorecard() -> None:
    rules = Ruleset.of(playbook_of([]))
    table = pa.table({"amount": [2500.0], "account_age_days": [3], "vpn": [True]})
    backend = ibis.duckdb.connect()
    decided = as_expression(rules, backend.create_table("t", table)).to_pyarrow()
    assert decided["decision"].to_pylist() == score(rules, table)["decision"].to_pylist()
