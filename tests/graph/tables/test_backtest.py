"""Rules and bullets tried on a table: the figures are those of counting row by row."""

import json
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import run
from odd_tables import NODE, payments, playbook_of, table_of

from acegraph.graph.metrics.intervals import Share
from acegraph.graph.tables.backtest import Labels, backtest_file, subjects_of
from acegraph.graph.tables.ruleset import TableRules
from acegraph.state import AceContext, BulletPlaybook, Condition, InvalidDataset, InvalidSettings

RULE = "DECLINE when amount >= 100 and hour < 12"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    _, rows = payments(random.Random(7))
    rng = random.Random(8)
    labelled = [{**row, "fraud": rng.choice([1, 0, None])} for row in rows[:300]]
    pq.write_table(table_of(labelled), tmp_path / "t.parquet", row_group_size=70)
    return tmp_path / "t.parquet"


def test_the_figures_of_a_rule_are_those_of_its_rows(table: Path) -> None:
    book, _ = payments(random.Random(7))
    rules, condition = TableRules.of(book), Condition.parse(RULE)
    (found,) = backtest_file(*subjects_of(book, RULE), table, Labels("fraud"))
    rows = pq.read_table(table).to_pylist()
    payment = [{k: v for k, v in row.items() if k != "fraud"} for row in rows]
    fired = [
        (row, rules.decide(one).decision)
        for row, one in zip(rows, payment, strict=True)
        if condition.holds(rules.read(one)[0])
    ]
    frauds = [row for row, _ in fired if row["fraud"] == 1]
    honest = [row for row, _ in fired if row["fraud"] == 0]
    assert (found.fired.fires, found.fired.frauds) == (len(fired), len(frauds))
    assert found.fired.honest == len(honest)
    assert found.fired.fraud_amount == pytest.approx(sum(row["amount"] for row in frauds))
    assert found.right == Share(len(frauds), len(frauds) + len(honest))
    assert found.recall == len(frauds) / sum(row["fraud"] == 1 for row in rows)
    assert found.added is not None
    assert found.added.fires == sum(decision != "DECLINE" for _, decision in fired)
    assert 0 < found.added.fires < found.fired.fires


def test_a_bullet_is_compared_with_the_playbook_without_it(table: Path) -> None:
    book = playbook_of([], RULE)
    (alone,) = backtest_file(*subjects_of(book, "b1"), table, Labels("fraud"))
    book.add_bullet(RULE + " and vpn is known", NODE, condition=Condition.parse(RULE))
    (again,) = backtest_file(*subjects_of(book, "b1"), table, Labels("fraud"))
    assert alone.fired == again.fired
    assert alone.added is not None
    assert again.added is not None
    assert alone.added.fires > again.added.fires == 0


def test_a_version_is_on_the_scale_of_its_source() -> None:
    book, _ = payments(random.Random(7))
    rule = "DECLINE when amount >= 50"
    online = book.add_bullet(rule, NODE, "online", condition=Condition.parse(rule))
    book.set_weights({online: 2.5})
    frozen = AceContext(source="offline")
    now, then = TableRules.of(book, frozen), TableRules.of_version(book, book.version, frozen)
    assert now.ruleset.scale.shift == pytest.approx(then.ruleset.scale.shift)
    assert now.ruleset.scale.shift != pytest.approx(TableRules.of(book).ruleset.scale.shift)
    assert online not in [b.id for b in (*now.ruleset.rules, *then.ruleset.rules)]


def test_a_rule_may_be_tried_on_a_table_that_lacks_what_the_playbook_tests(tmp_path: Path) -> None:
    book = playbook_of([], "DECLINE when shoe_size > 44")
    pq.write_table(table_of([{"amount": 150.0, "hour": 3}]), tmp_path / "t.parquet")
    (found,) = backtest_file(*subjects_of(book, RULE), tmp_path / "t.parquet", Labels())
    assert found.fired.fires == 1
    assert found.added is None
    with pytest.raises(InvalidDataset, match=r"shoe_size \(b1: DECLINE"):
        backtest_file(*subjects_of(book, "b1"), tmp_path / "t.parquet", Labels())


def test_what_is_no_subject_is_refused() -> None:
    book = BulletPlaybook()
    book.add_bullet("Beware of gifts", NODE)
    for word, said in (
        ("nonsense", "wanted; found"),
        ("b1", "is prose"),
        ("v12", "compare --against VERSION"),
    ):
        with pytest.raises(InvalidSettings, match=said):
            subjects_of(book, word)


def test_the_command_prints_the_figures(table: Path) -> None:
    folder = table.parent
    with BulletPlaybook(f"sqlite:///{folder}/ace.db") as book:
        book.add_bullet(RULE, NODE, condition=Condition.parse(RULE))
    (folder / "rules.txt").write_text(f"# mine\n{RULE}\n\nAPPROVE when amount < 30\n")
    words = ("t.parquet", "--label", "fraud", "--playbook", "ace.db")
    report = json.loads(run(folder, "backtest", "rules.txt", *words, "--json").stdout)
    first, second = report["backtests"]
    assert (first["name"], second["verdict"]) == (RULE, "APPROVE")
    assert "fires" in run(folder, "backtest", RULE, *words).stdout
    done = run(
        folder, "backtest", RULE, "t.parquet", "--label", "is_it", "--playbook", "ace.db", code=2
    )
    assert "no column 'is_it'" in done.stderr
