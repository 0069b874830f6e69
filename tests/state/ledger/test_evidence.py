"""Which labelled cases count: all of a label, or a sample of very many, the same for everybody."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from acegraph.nodes.rules.scale import RiskScale
from acegraph.state import BulletPlaybook, Case, Label
from acegraph.state.ledger.evidence import evidence_of
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.draw import ALL_COUNT, TABLE, Draw, is_drawn
from tests.support.ledger_cases import record

NODE = "fraud_detection"


def history(cases: int, one_fraud_in: int = 50) -> list[Case]:
    return [
        Case(f"c{i}", {"amount": float(i)}, "APPROVE" if i % one_fraud_in else "DECLINE")
        for i in range(cases)
    ]


def evidence(playbook: BulletPlaybook, all_count: int) -> CaseTable:
    with playbook.database.snapshot() as connection:
        return evidence_of(connection, NODE, all_count)


def test_every_rare_fraud_of_a_long_history_counts_and_the_weights_add_up(tmp_path: Path) -> None:
    all_count, total = 4_000, 7_000
    with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as playbook:
        playbook.remember(history(total), NODE)
        table = evidence(playbook, all_count)
        assert int(table.fraud.sum()) == total // 50
        assert set(table.weights[table.fraud]) == {1.0}
        assert set(table.weights[~table.fraud]) == {2.0}
        assert float(table.weights.sum()) == pytest.approx(total, rel=0.02)
        amounts = np.array([case.fields["amount"] for case in table])
        assert amounts.mean() == pytest.approx(total / 2, rel=0.02)  # of all that time
        assert (np.diff(amounts) > 0).all()  # in order
        assert RiskScale.of(table, []).base_rate == pytest.approx(1 / 50, rel=0.05)
        with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as elsewhere:
            read = evidence(elsewhere, all_count)
            assert [case.id for case in read] == [case.id for case in table]


@pytest.mark.parametrize("total", [1, 20, 39, 100])
def test_a_table_that_grew_is_the_table_that_is_read(total: int) -> None:
    playbook = BulletPlaybook()
    playbook.remember(history(total, 4), NODE)
    grown = evidence(playbook, 20)
    for number in range(60):
        label = Label("APPROVE" if number % 3 else "DECLINE")
        playbook.record(record(f"n{number}"), label)
        grown.take(Case(f"n{number}", {"amount": 10.0}, label.value))
        assert grown.draw is not None
        if grown.draw.is_outdated:
            grown = evidence(playbook, 20)
        read = evidence(playbook, 20)
        assert [(c.id, c.weight) for c in grown] == [(c.id, c.weight) for c in read]
    assert len(read) < 80


def test_a_sample_by_label_moves_the_rate_and_not_what_a_rule_is_worth() -> None:
    rng, total = np.random.default_rng(5), 8_000
    fraud = rng.random(total) < 0.05
    fires = rng.random(total) < np.where(fraud, 0.4, 0.04)
    cases = [
        Case(f"c{i}", {"vpn": bool(fires[i])}, "DECLINE" if fraud[i] else "APPROVE")
        for i in range(total)
    ]
    playbook = BulletPlaybook()
    playbook.remember(cases, NODE)
    whole, drawn = CaseTable(cases), evidence(playbook, 2_000)
    assert len(drawn) < 2_600
    both = [RiskScale.of(table, []).base_rate for table in (whole, drawn)]
    assert both[1] == pytest.approx(both[0], rel=0.1)


@pytest.mark.slow
def test_the_rate_is_that_of_the_newest_cases() -> None:
    old = [Case(f"o{i}", {}, "APPROVE" if i % 500 else "DECLINE") for i in range(2 * ALL_COUNT)]
    new = [Case(f"n{i}", {}, "APPROVE" if i % 25 else "DECLINE") for i in range(ALL_COUNT)]
    playbook = BulletPlaybook()
    playbook.remember(old, NODE)
    playbook.remember(new, NODE)
    table = playbook.cases(NODE)
    assert len(table) < len(old)  # a sample
    assert RiskScale.of(table, []).base_rate > 0.025  # of the whole history .015; made in steps
    assert table.fraud_odds() == pytest.approx(0.04 / 0.96, rel=0.1)


def test_labels_of_a_clock_that_was_ahead_are_neither_lost_nor_counted_twice() -> None:
    playbook = BulletPlaybook()
    for i in range(90):
        at = "2099-01-01" if i % 7 == 3 else ""
        playbook.record(record(f"c{i}"), Label("DECLINE" if i % 3 else "APPROVE", "label", at))
    found = evidence(playbook, 50)
    weights = {case.id: case.weight for case in found}
    assert len(weights) == len(found)
    assert {f"c{i}" for i in range(0, 90, 3)} <= weights.keys()  # the honest ones are few: all
    assert set(weights.values()) == {1.0, 2.0}


def test_rows_left_out_of_a_table_count_as_if_they_were_stored() -> None:
    numbers = np.arange(4_000, dtype=np.uint64)
    counts = {"APPROVE": 4_000, "DECLINE": 10}
    drawn = [
        Case(f"{TABLE}{number:08x}:row", {"amount": 1.0}, "APPROVE")
        for number in numbers[is_drawn(numbers, Draw(counts, 100).halvings["APPROVE"])].tolist()
    ]
    drawn += [Case(f"{TABLE}{i:08x}:fraud", {"amount": 2.0}, "DECLINE") for i in range(10)]
    playbook = BulletPlaybook()
    assert playbook.remember_table(drawn, counts, NODE) == (len(drawn), 0)
    assert playbook.remember_table(drawn, counts, NODE) == (0, 0)  # counted once
    for book in (playbook, playbook.fork()):
        table = evidence(book, 100)
        assert len(table) == len(drawn)  # none is drawn a second time
        assert float(table.weights.sum()) == pytest.approx(4_010, rel=0.1)
        assert table.fraud_odds() == pytest.approx(10 / 4_000, rel=0.6)
    more = [Case(f"{TABLE}{i:08x}:{i}", {"amount": 3.0}, "APPROVE") for i in range(4_000, 4_040)]
    playbook.remember_table(more, {"APPROVE": 4_000}, NODE)
    twice = evidence(playbook, 100)
    assert set(twice.weights[~twice.fraud]) == {128.0}  # half of the first are drawn now


def test_corrected_rows_of_a_table_keep_their_place() -> None:
    rows = [
        Case(f"{TABLE}{i:08x}:{i}", {"amount": float(i)}, "APPROVE" if i % 3 else "DECLINE")
        for i in range(60)
    ]
    playbook = BulletPlaybook()
    playbook.remember_table(rows[:50], {"APPROVE": 33, "DECLINE": 17}, NODE)
    corrected = [replace(row, label="DECLINE") for row in rows]
    assert playbook.remember_table(corrected, {"DECLINE": 60}, NODE) == (10, 33)
    playbook.remember([Case("later", {"amount": 1.0}, "APPROVE")], NODE)
    for book in (playbook, playbook.fork()):
        table = evidence(book, 1_000)
        assert [case.id for case in table] == [*(row.id for row in rows), "later"]
        assert table.fraud[:60].all()
