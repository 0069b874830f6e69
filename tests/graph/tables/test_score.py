"""Whole tables are decided as the graph decides, in any form, and recorded once if asked."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from odd_tables import (
    Rows,
    codes,
    currencies,
    derived,
    few_words,
    gaps,
    payments,
    playbook_of,
    table_of,
)

from acegraph.graph import create_ace_graph, score, score_files
from acegraph.graph.build import build_graph, gather_parts
from acegraph.graph.tables.ruleset import TableRules
from acegraph.nodes.rules.points import UNIT, log_odds_over
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import AceContext, BulletPlaybook, Case, InvalidDataset
from acegraph.state.values.cases import CaseTable

MAKERS = [payments, codes, few_words, currencies, gaps]
CONTEXTS = [
    AceContext(),
    AceContext(policy={"costs": {"missed_fraud": 1, "false_decline": 0.2, "decline_fee": 5}}),
    AceContext(policy={"base_rate": 0.01}),
    AceContext(mode="vanilla"),
]
Maker = Callable[[random.Random], tuple[BulletPlaybook, Rows]]


def is_empty(row: dict[str, Any]) -> bool:
    return all(value in (None, "") for value in row.values())


def ids_in(text: str) -> list[str]:
    return [part.split()[0] for part in text.split(", ")] if text else []


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("context", CONTEXTS)
def test_a_table_is_decided_as_its_rows_are(make: Maker, context: AceContext) -> None:
    book, rows = make(random.Random(1))
    rules, table = TableRules.of(book, context), table_of(rows)
    seen = set()
    for row, scored in zip(table.to_pylist(), score(rules, table).to_pylist(), strict=True):
        one = rules.decide(row)
        found = (scored["decision"], scored["risk"], ids_in(scored["bullets"]), scored["undecided"])
        fired = [bullet.id for bullet in one.fired]
        assert found == (one.decision, one.risk, fired, one.undecided or None), row
        seen.add(one.decision)
    knows_nothing = make is gaps and not rules.ruleset.rules  # no rule tests a field of these rows
    assert (seen == {"UNDECIDED"}) if knows_nothing else (len(seen) > 1)


@pytest.mark.parametrize("make", MAKERS)
def test_a_table_is_decided_as_the_graph_decides(make: Maker) -> None:
    book, rows = make(random.Random(2))
    graph = create_ace_graph(playbook=book).compile()
    context = AceContext(learn=False, policy={"costs": {"false_decline": 0.3}})
    table = table_of(rows[:60])
    for row, scored in zip(
        table.to_pylist(), score(book, table, context=context).to_pylist(), strict=True
    ):
        if is_empty(row):  # the graph refuses it
            assert scored["decision"] == "UNDECIDED"
            continue
        result = graph.invoke({"transaction": row}, context=context)
        assert scored["decision"] == result["decision"], row
        assert scored["risk"] == result["risk_score"]
        assert sorted(ids_in(scored["bullets"])) == sorted(result["bullets_used"])
        assert scored["undecided"] == result["undecided"]


def test_days_without_a_time_among_times_leave_the_hour_in_doubt() -> None:
    book, rows = payments(random.Random(1))
    times = ["2026-01-05", "2026-01-05 10:00", "2026-01-05 22:00"]
    rows = [{**row, "vpn": True, "paid_at": one} for row in rows[:40] for one in times]
    rules = TableRules.of(book)
    found = score(book, table_of(rows)).column("undecided").to_pylist()
    assert found == [rules.decide(row).undecided or None for row in rows]
    assert any("paid_at.hour is missing" in why for why in found if why)


def test_derived_fields_that_a_table_brings_are_kept() -> None:
    book, rows = derived(random.Random(1))
    graph = build_graph(replace(gather_parts(book), keeps_derived=True)).compile()
    table = table_of([row for row in rows[:60] if not is_empty(row)])
    for row, scored in zip(table.to_pylist(), score(book, table).to_pylist(), strict=True):
        result = graph.invoke({"transaction": row}, context=AceContext(learn=False))
        assert (scored["decision"], scored["undecided"]) == (
            result["decision"],
            result["undecided"],
        ), row


def test_a_tie_is_decided_alike_for_one_payment_and_over_columns() -> None:
    fields = {"amount": 5.0, "hour": 3, "account_age_days": 10, "travel_notice": True}
    assert log_odds_over(CaseTable([Case("a", fields, "APPROVE")]), ())[0] == 0.0
    assert Ruleset().weigh(fields).decision == "APPROVE"
    assert score(BulletPlaybook(), table_of([fields]))["decision"].to_pylist() == ["APPROVE"]


def test_the_points_of_a_ruleset_are_whole_and_make_the_decision() -> None:
    book, _ = few_words(random.Random(3))
    rules = TableRules.of(book)
    data = json.loads(json.dumps(rules.ruleset.to_json()))
    row = {"channel": "web", "new": True, "amount": 85.0}
    points = data["start"] + sum(one["points"] for one in data["rules"][:2])
    assert all(isinstance(one["points"], int) for one in (*data["rules"], *data["scorecard"]))
    assert rules.decide(row).risk == rules.ruleset.scale.risk(points)
    assert (rules.decide(row).decision == "DECLINE") == (points > data["limit"])
    assert len(data["scorecard"]) == len(rules.ruleset.prior_scored)
    assert data["points_per_log_odds"] == UNIT


def test_a_rule_with_a_bad_record_changes_nothing_as_in_the_graph() -> None:
    book = playbook_of([], "DECLINE when amount >= 100", "DECLINE when hour < 24")
    row = {"amount": 150.0, "hour": 3}
    for bullet in ("b1", "b2"):
        for _ in range(30):
            book.update_stats(bullet, bullet == "b2")
    book.set_weights({"b1": None, "b2": None})
    scored = score(book, table_of([row]))
    assert scored["bullets"][0].as_py() == "b1 +0.00, b2 +3.62"
    book.set_status("b1", "candidate", "acts no more")
    assert score(book, table_of([row]))["risk"] == scored["risk"]


def test_tables_of_pandas_and_polars_are_decided_as_those_of_arrow() -> None:
    book, rows = payments(random.Random(4))
    arrow = table_of(rows)
    wanted = score(book, arrow)
    frame = arrow.to_pandas()
    frame.index = pd.Index([f"r{i}" for i in range(len(frame))])
    for table in (frame, pl.from_arrow(arrow)):
        assert score(book, table)["decision"] == wanted["decision"]
    with pytest.raises(InvalidDataset, match="a table of Arrow, pandas or polars wanted"):
        score(book, "payments")


@pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.csv.gz", "t.jsonl", "t.jsonl.gz"])
def test_every_form_of_file_gives_the_same_decisions(name: str, tmp_path: Path) -> None:
    book, rows = payments(random.Random(5))
    rows = [{**row, "amount": 20.5 if row["amount"] is None else row["amount"]} for row in rows]
    for row in rows:  # a cell has no infinity, and no word that is like a number or a flag
        for field, value in row.items():
            is_odd = isinstance(value, float) and not abs(value) < 1e15
            row[field] = None if is_odd or value in ("true", "12.50", "", " ", "n/a") else value
    table = table_of(rows)
    wanted = score(book, table)["decision"].to_pylist()
    write(table, tmp_path / name)
    out = tmp_path / f"out_{name}"
    report = score_files(book, tmp_path / name, out)
    assert report.rows == len(rows)
    assert decisions_in(out) == wanted
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([name, out.name])


def write(table: pa.Table, file: Path) -> None:
    if file.suffix == ".parquet":
        pq.write_table(table, file)
        return
    compression = "gzip" if file.suffix == ".gz" else None
    with pa.output_stream(str(file), compression=compression) as stream:
        if ".csv" in file.name:
            pa.csv.write_csv(table, stream)
        else:
            lines = (json.dumps(row) + "\n" for row in table.to_pylist())
            stream.write("".join(lines).encode())


def decisions_in(file: Path) -> list[Any]:
    if file.suffix == ".parquet":
        return pq.read_table(file)["decision"].to_pylist()
    with pa.input_stream(str(file), compression="gzip" if file.suffix == ".gz" else None) as stream:
        data = stream.read()
    if ".csv" in file.name:
        return pa.csv.read_csv(pa.py_buffer(data))["decision"].to_pylist()
    return [json.loads(line)["decision"] for line in data.decode().splitlines()]


def test_batches_do_not_matter(tmp_path: Path) -> None:
    book, rows = payments(random.Random(6))
    table = table_of(rows)
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=37)
    report = score_files(book, tmp_path / "t.parquet", tmp_path / "all.csv")
    assert report.rows == len(rows)
    scored = pa.csv.read_csv(tmp_path / "all.csv")
    assert scored["decision"].to_pylist() == score(book, table)["decision"].to_pylist()
    assert scored["row"].to_pylist() == list(range(1, len(rows) + 1))
