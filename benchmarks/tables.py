"""Whole tables: `score` and `backtest` against the graph and a hand-written DuckDB query.

`python benchmarks/tables.py` takes a million rows; with `soak` ten million and, for the backtest,
a tenth of them, and with `graph` 26,800 rows of four data sets against the
graph. With `learn` a million rows are learned from, with `learn soak` ten million. With `large` the
commands read, train on and score one file of five million rows.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from common import rules_playbook
from odd_tables import codes, derived, few_words, payments, table_of
from process_memory import peak_mb

from acegraph.graph import create_ace_graph, generate_transactions, score, score_files
from acegraph.graph.build import build_graph, gather_parts
from acegraph.graph.data.files import FileLayout, read_dataset
from acegraph.graph.data.synthetic import write_sample
from acegraph.graph.tables.backtest import Labels, backtest_file, subjects_of
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.nodes.rules.points import UNIT, points_of
from acegraph.state import AceContext, BulletPlaybook, InvalidTransaction
from acegraph.state.values.verdict import UNDECIDED

GRAPH_ROWS = 200


def write_rows(file: Path, rows: int) -> None:
    """A table of generated payments."""
    rng = np.random.default_rng(0)
    examples = list(generate_transactions(4000, seed=2))
    fields = pa.Table.from_pylist([{**e.fields, "fraud": e.answer == "DECLINE"} for e in examples])
    writer = None
    for first in range(0, rows, 1_000_000):
        size = min(1_000_000, rows - first)
        table = fields.take(pa.array(rng.integers(0, len(examples), size)))
        amounts = pa.array(np.round(rng.lognormal(4.5, 1.2, size), 2))
        table = table.set_column(0, "amount", amounts)
        writer = writer or pq.ParquetWriter(file, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def by_hand(rules: TableRules, file: Path, out: Path, *, with_reasons: bool = True) -> str:
    """A query as a person would write it, for a table in which nothing is missing."""
    columns = set(pq.read_schema(file).names)
    ruleset = rules.ruleset
    lines = [one for one in ruleset.prior_scored if one.tests[0].field in columns]
    tests = [(_sql(one.tests[0]), one.points) for one in lines]
    conditions = [(b, b.condition) for b in ruleset.rules if b.condition]
    fired = [(" AND ".join(map(_sql, c.comparisons)), points_of(b)) for b, c in conditions]
    names = [f"{b.id} {points_of(b) / UNIT:+.2f}" for b, _ in conditions]
    cards = [f"{one.tests[0].render()} {one.points / UNIT:+.1f}" for one in lines]

    def texts(tests: list[tuple[str, int]], said: list[str]) -> str:
        if not with_reasons:
            return "NULL"
        parts = (
            f"CASE WHEN {test} THEN '{text.replace(chr(39), chr(39) * 2)}' END"
            for (test, _), text in zip(tests, said, strict=True)
        )
        return f"concat_ws(', ', {', '.join(parts)})"

    scale = ruleset.scale
    return f"""
        COPY (SELECT row_number() OVER () AS "row",
              CASE WHEN points > {scale.limit({})} THEN 'DECLINE' ELSE 'APPROVE' END AS decision,
              round(1 / (1 + exp(-(points / {UNIT}.0 + {scale.shift}))), 4) AS risk,
              bullets, scorecard, NULL::VARCHAR AS undecided
              FROM (SELECT {points_by_hand(rules, file)} AS points,
                    {texts(fired, names)} AS bullets,
                    {texts(tests, cards)} AS scorecard FROM '{file}'))
        TO '{out}' (FORMAT parquet)"""


def points_by_hand(rules: TableRules, file: Path) -> str:
    """The points of a row as a person would write them."""
    columns, ruleset = set(pq.read_schema(file).names), rules.ruleset
    total = " + ".join(
        f"CASE WHEN {' AND '.join(map(_sql, one.tests))} THEN {one.points} ELSE 0 END"
        for one in ruleset.scored
        if columns.issuperset(test.field for test in one.tests)
    )
    return f"{ruleset.start} + {total}"


def _sql(test: object) -> str:
    op, value = test.op, test.value  # type: ignore[attr-defined]
    sign = {"is": "=", "is not": "<>"}.get(op, op)
    return f"{test.field} {sign} " + (f"'{value}'" if isinstance(value, str) else str(value))  # type: ignore[attr-defined]


def scoring(folder: Path, rows: int) -> dict[str, float]:
    """The CPU of scoring a file, of the graph, and of a query on DuckDB with the same result."""
    book, file = rules_playbook(), folder / "rows.parquet"
    write_rows(file, rows)
    rules = TableRules.of(book)
    score_files(rules, file, folder / "warm.parquet")
    cpu = time.process_time()
    report = score_files(rules, file, folder / "ours.parquet")
    ours = time.process_time() - cpu
    query = by_hand(rules, file, folder / "theirs.parquet")
    theirs = _cpu_of(query)
    bare = _cpu_of(by_hand(rules, file, folder / "bare.parquet", with_reasons=False))
    sums = [
        duckdb.sql(
            f"SELECT count(*), count(*) FILTER (decision = 'DECLINE'), round(sum(risk), 3), "
            f"sum(length(bullets)), sum(length(scorecard)) FROM '{folder / name}.parquet'"
        ).fetchall()
        for name in ("ours", "theirs")
    ]
    graph = create_ace_graph(playbook=book).compile()
    some = [e.fields for e in generate_transactions(GRAPH_ROWS, seed=3)]
    cpu = time.process_time()
    for one in some:
        graph.invoke({"transaction": one}, context=AceContext(learn=False))
    a_row = (time.process_time() - cpu) / len(some)
    print(f"score: {report.rows:,} rows in {ours:.2f} s of CPU, {len(rules.ruleset.rules)} bullets")
    print(
        f"  the graph: {a_row * 1e3:.1f} ms a row, {a_row * report.rows / ours:,.0f} times as much"
    )
    print(f"  a query by hand on DuckDB: {theirs:.2f} s, ours is {ours / theirs:.2f} of it")
    (counts, risks), (same_counts, same_risks) = ((one[:2] + one[3:], one[2]) for (one,) in sums)
    # The query rounds to four digits; ours has more where a risk is small.
    is_same = counts == same_counts and abs(risks - same_risks) <= rows * 5e-5
    print(f"  the same result, but for the digits of small risks: {is_same}")
    print(f"  decision and risk alone by hand: {bare:.2f} s, ours is {ours / bare:.2f} of it")
    return {
        "cpu_seconds": ours,
        "rows_to_one_of_the_graph": a_row * report.rows / ours,
        "of_a_query_by_hand": ours / theirs,
        "of_a_query_for_decision_and_risk": ours / bare,
        "is_same_result": sums[0] == sums[1],
    }


def _cpu_of(query: str) -> float:
    with duckdb.connect() as engine:
        cpu = time.process_time()
        engine.execute(query)
        return time.process_time() - cpu


def memory(folder: Path, rows: int) -> None:
    """Run in a process of its own: the peak is that of the process."""
    file = folder / "many.parquet"
    if not file.exists():
        write_rows(file, rows)
    said = _alone(
        "import tables\n"
        "book = tables.rules_playbook()\n"
        f"tables.score_files(book, {str(file)!r}, {str(folder / 'd.parquet')!r})\n"
        "print(tables.peak_mb())"
    )
    print(f"score: peak memory for {rows:,} rows: {said} MB")


def _alone(code: str) -> str:
    """What code prints in a process of its own, beside this module."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def backtesting(folder: Path, rows: int) -> None:
    """The CPU of a backtest of a file, and of one with a tenth of its rows."""
    file = folder / "many.parquet"
    if not file.exists():
        write_rows(file, rows)
    write_rows(folder / "tenth.parquet", rows // 10)
    print(_alone(f"import tables; tables.backtest_in({str(folder)!r})"))


def backtest_in(folder: str) -> None:
    """Backtest a rule on a file, and on one with a tenth of its rows."""
    book = rules_playbook()
    subjects, labels = subjects_of(book, "DECLINE when amount >= 900 and hour < 6"), Labels("fraud")
    seconds = []
    for name in ("tenth.parquet", "many.parquet"):
        cpu = time.process_time()
        (found,) = backtest_file(*subjects, Path(folder) / name, labels)
        seconds.append(time.process_time() - cpu)
        print(f"backtest: {found.rows:,} rows in {seconds[-1]:.1f} s of CPU")
    times = seconds[1] / seconds[0]
    print(f"  {times:.1f} times as much for ten times the rows; peak {peak_mb()} MB")


def against_the_graph(rows: int) -> None:
    """Rows with missing and odd values, decided by the graph and as a table."""
    context = AceContext(
        learn=False, policy={"costs": {"missed_fraud": 1, "false_decline": 0.2, "decline_fee": 5}}
    )
    for make in (payments, codes, few_words, derived):
        book, _ = make(random.Random(1))
        some = [one for seed in range(rows // 250 + 2) for one in make(random.Random(seed))[1]]
        some = [one for one in some if any(v not in (None, "") for v in one.values())][:rows]
        parts = replace(gather_parts(book), keeps_derived=make is derived)
        graph, differing, risks = build_graph(parts).compile(), 0, 0.0
        table, decisions = table_of(some), Counter[str]()
        scored = score(book, table, context=context).to_pylist()
        for row, ours in zip(table.to_pylist(), scored, strict=True):
            try:
                theirs = graph.invoke({"transaction": row}, context=context)
            except InvalidTransaction:  # a row without a value: the graph refuses it
                theirs = {"decision": UNDECIDED}
            differing += ours["decision"] != theirs["decision"]
            decisions[ours["decision"]] += 1
            if theirs["decision"] != UNDECIDED:
                risks = max(risks, abs((ours["risk"] or 0.0) - theirs["risk_score"]))
        counts = ", ".join(f"{n:,} {name}" for name, n in sorted(decisions.items()))
        print(f"{make.__name__}: {differing} of {len(some):,} decisions differ from the graph's")
        print(f"  {counts}; risks differ by at most {risks:.0e}")


NATURAL = 0.02
BALANCED = {
    "missed_fraud": 0.0,
    "false_decline": 0.0,
    "missed_fee": (1 - NATURAL) / NATURAL,
    "decline_fee": 1.0,
}
"""The costs that balanced accuracy stands for: a missed fraud weighs as much as it is rare.
Without costs a fraud counts as ten honest payments at most."""
LEARN = """
import json, time
from pathlib import Path
from process_memory import peak_mb
from acegraph.graph.data.files import FileLayout
from acegraph.graph.tables.labelled import LabelledTable
from acegraph.graph.training.pipeline import TrainingPipeline
from acegraph.state import BulletPlaybook
table = LabelledTable.open(Path({file!r}), FileLayout(None, "is_fraud"))
report = TrainingPipeline(BulletPlaybook({book!r})).train_table(table.draw())
print(json.dumps([time.process_time(), peak_mb(), report.bullets_active]))
"""
COMMAND = """
import sys, time
from process_memory import peak_mb
from acegraph.graph.cli.main import main
sys.argv = ["acegraph", *{words!r}]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
print(time.process_time(), peak_mb())
"""
READ = "import sys, time, polars; polars.read_csv(sys.argv[1]); print(time.process_time())"


def write_labelled(
    file: Path, rows: int, *, seed: int = 7, shuffle: bool = False, of: int = 1_000_000
) -> None:
    """A CSV of 20 columns: generated payments, drawn of so many, and two columns of noise."""
    rng, sample = np.random.default_rng(seed), file.with_suffix(".sample")
    if not sample.exists():
        write_sample(sample, min(rows, of), seed=seed, fraud_rate=NATURAL)
    payments = pyarrow.csv.read_csv(sample)
    with pa.OSFile(str(file), "wb") as sink:
        writer = None
        for first in range(0, rows, 1_000_000):
            size = min(1_000_000, rows - first)
            chosen = (
                np.arange(rows) if rows <= len(payments) else rng.integers(0, len(payments), size)
            )
            table = payments.take(pa.array(chosen))
            table = table.set_column(0, "id", pa.array([f"p{first + i}" for i in range(size)]))
            if shuffle:
                labels = rng.permutation(table["is_fraud"].to_numpy())
                table = table.set_column(table.column_names.index("is_fraud"), "is_fraud", [labels])
            table = table.append_column("noise", pa.array(rng.normal(size=size).round(3)))
            table = table.append_column("number", pa.array(rng.integers(0, 40, size)))
            writer = writer or pyarrow.csv.CSVWriter(sink, table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()


def learned(folder: Path, rows: int, *, shuffle: bool = False) -> tuple[float, int, int, str]:
    """Learn a table in a process of its own: its CPU, its peak memory, and the active bullets."""
    file, book = folder / "learned.csv", f"sqlite:///{folder}/{rows}-{shuffle}.db"
    write_labelled(file, rows, shuffle=shuffle)
    cpu, peak, bullets = json.loads(_alone(LEARN.format(file=str(file), book=book)))
    return cpu, peak, bullets, book


def large(rows: int = 5_000_000) -> dict[str, dict[str, float]]:
    """The CPU and the peak memory of the commands that read, learn and score a file."""
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        file, book = f"{folder}/large.csv", f"sqlite:///{folder}/ace.db"
        write_labelled(Path(file), rows, of=200_000)
        for words in (
            ["read", file, "--label", "is_fraud", "--json"],
            ["train", file, "--label", "is_fraud", "--playbook", book, "--json"],
            ["score", file, "--playbook", book, "--out", f"{folder}/scored.parquet", "--json"],
        ):
            last = _alone(COMMAND.format(words=words)).splitlines()[-1]
            cpu, peak = map(float, last.split())
            print(f"{words[0]}: {rows:,} rows in {cpu:.1f} s of CPU, peak memory {peak:.0f} MB")
            figures[words[0]] = {"cpu_seconds": cpu, "peak_mb": peak}
    return figures


def balanced_accuracy(book: BulletPlaybook, fresh: Path, costs: dict[str, float] | None) -> float:
    """The balanced accuracy of the decisions on the rows of a file."""
    rows = pyarrow.csv.read_csv(fresh)
    fraud = rows["is_fraud"].to_numpy() == 1
    decisions = score(book, rows, context=AceContext(policy={"costs": costs}))["decision"]
    declined = np.array(decisions.to_pylist()) == "DECLINE"
    return float((declined[fraud].mean() + (~declined)[~fraud].mean()) / 2)


def learning(rows: int) -> dict[str, float]:
    """Learning from a whole table, beside reading it, shuffled labels, and rows one by one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cpu, peak, bullets, book = learned(folder, rows)
        read = [sys.executable, "-c", READ, str(folder / "learned.csv")]
        polars = float(subprocess.run(read, capture_output=True, text=True, check=True).stdout)
        fresh = folder / "fresh.csv"
        write_labelled(fresh, 100_000, seed=8)
        plain, accuracy = (
            balanced_accuracy(BulletPlaybook(book), fresh, costs) for costs in (None, BALANCED)
        )
        print(f"learn: {rows:,} rows in {cpu:.1f} s of CPU, {peak} MB, {bullets} bullets")
        print(f"  polars reads the file in {polars:.2f} s: {cpu / polars:.1f} times as much")
        print(f"  balanced accuracy on fresh rows: {accuracy:.3f}; without costs {plain:.3f}")
        found = {"cpu_seconds": cpu, "of_reading": cpu / polars, "balanced_accuracy": accuracy}
        if rows <= 1_000_000:
            nothing = learned(folder, rows, shuffle=True)[2]
            print(f"  shuffled labels: {nothing} bullets")
            write_labelled(folder / "some.csv", 10_000)
            one_by_one = BulletPlaybook()
            dataset = read_dataset(folder / "some.csv", FileLayout(None, "is_fraud"))
            TrainingPipeline(one_by_one).train_offline(dataset.items)
            by_row = balanced_accuracy(one_by_one, fresh, BALANCED)
            print(f"  10,000 rows one by one: {by_row:.3f}")
            found |= {"bullets_of_shuffled_labels": nothing, "row_by_row": by_row}
        return found


def main() -> dict[str, float]:
    """Print and give the figures of a million rows."""
    with tempfile.TemporaryDirectory() as name:
        return scoring(Path(name), 1_000_000)


def soak() -> None:
    """Print the figures of more rows."""
    with tempfile.TemporaryDirectory() as name:
        memory(Path(name), 10_000_000)
        backtesting(Path(name), 10_000_000)


if __name__ == "__main__":
    if "graph" in sys.argv:
        against_the_graph(6_700)
    elif "large" in sys.argv:
        large()
    elif "learn" in sys.argv:
        learning(10_000_000 if "soak" in sys.argv else 1_000_000)
    else:
        soak() if "soak" in sys.argv else main()
