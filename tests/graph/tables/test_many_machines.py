"""Batches are decided as rows are, wherever an engine runs the function."""

import os
import pickle
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from exported_rules import RULES, rules_of
from pages import DOCS

from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.score import decide_batches
from acegraph.state import AceContext

PAGE = {page.name: page for page in DOCS}["docs/many-machines.md"]
BLOCKS = {block.title or str(i): block.body for i, block in enumerate(PAGE.blocks)}


@pytest.mark.parametrize("undecided", ["hold", "expect"])
def test_batches_are_decided_as_their_rows(undecided: str) -> None:
    rules = rules_of(AceContext(policy={"undecided": undecided}), *RULES[:3])
    rows: list[dict[str, Any]] = []
    for i in range(400):
        amount = (None, 20.0, 499.99, 500.0, 900.0, 60_000.0)[i % 6]
        channel = (None, "web", "shop", "fax")[i % 4]
        rows.append({"amount": amount, "hour": i % 25, "vpn": i % 3 == 0, "channel": channel})
    table = pa.Table.from_pylist([{"id": i, **row} for i, row in enumerate(rows)])
    sent: TableRules = pickle.loads(pickle.dumps(rules))
    columns = [one.name for one in sent.columns() if one.name not in table.schema.names]
    for name in columns:  # what rules test must be there
        table = table.append_column(name, pa.nulls(len(rows), pa.string()))
    found = [
        row
        for batch in decide_batches(sent, table.to_batches(max_chunksize=64), ids="id")
        for row in batch.to_pylist()
    ]
    assert [row["id"] for row in found] == list(range(400))
    for row, told in zip(rows, found, strict=True):
        wanted = rules.decide(dict.fromkeys(columns) | row)
        assert (told["decision"], told["points"], told["risk"]) == (
            wanted.decision,
            wanted.points,
            wanted.risk,
        )
    assert {row["decision"] for row in found} >= {"APPROVE", "DECLINE"}


def test_the_function_travels_light() -> None:
    assert len(pickle.dumps(partial(decide_batches, rules_of()))) < 1_000_000


@pytest.mark.slow
def test_an_engine_finds_the_same_counts_and_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make test-spark` and `make test-ray` name the block; DuckDB's always runs."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in PAGE.blocks:
        if block.kind == "python" and not block.title:
            exec(compile(block.body, PAGE.name, "exec"), names)
    by_duckdb = names["found"]
    assert sum(count for _, count, _ in by_duckdb) == 5_000
    decided = names["rules"].to_sql("duckdb", table="payments.parquet", ids="payment")
    query = decided.replace('"payments"."parquet"', "'payments.parquet'")
    sums = "SELECT decision, count(*), sum(points) FROM ({}) GROUP BY 1 ORDER BY 1"
    assert duckdb.sql(sums.format(query)).fetchall() == by_duckdb
    if engine := os.environ.get("ACE_ENGINE"):
        exec(compile(BLOCKS[engine], engine, "exec"), names)
        assert [tuple(row) for row in names["found"]] == by_duckdb
