"""Which labelled cases count: the newest, and of those before them a weighed sample."""

from pathlib import Path

import numpy as np
import pytest

from acegraph.state import BulletPlaybook, Case, Label
from acegraph.state.ledger.evidence import NEWEST, OLDER, Evidence, evidence_of
from tests.support.ledger_cases import record

NODE = "fraud_detection"


def history(cases: int, one_fraud_in: int = 50) -> list[Case]:
    return [
        Case(f"c{i}", {"amount": float(i)}, "APPROVE" if i % one_fraud_in else "DECLINE")
        for i in range(cases)
    ]


def evidence(playbook: BulletPlaybook, newest: int, drawn: int) -> Evidence:
    return playbook.database.in_snapshot(lambda c: evidence_of(c, NODE, newest, drawn))


def test_every_rare_fraud_of_a_long_history_counts_and_the_weights_add_up(tmp_path: Path) -> None:
    total = 2 * NEWEST + 9_000
    with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as playbook:
        playbook.remember(history(total), NODE)
        table = playbook.cases(NODE)
        ids = [case.id for case in table]
        assert ids[-(NEWEST + 9_000) :] == [f"c{i}" for i in range(NEWEST, total)]
        assert int(table.fraud.sum()) == total // 50
        assert len(table) == NEWEST + 9_000 + OLDER + NEWEST // 50
        assert float(table.weights.sum()) == pytest.approx(total)
        assert float(table.weights @ table.fraud) == total // 50
        assert table.fraud_odds() == pytest.approx(1 / 49, rel=0.02)
        older = np.array([case.fields["amount"] for case in table][: OLDER + NEWEST // 50])
        assert older.mean() == pytest.approx(NEWEST / 2, rel=0.05)  # from all of that time
        assert (np.diff(older) > 0).all()  # in order
        with BulletPlaybook(f"sqlite:///{tmp_path}/ace.db") as elsewhere:
            assert [case.id for case in elsewhere.cases(NODE)] == ids


@pytest.mark.parametrize("total", [1, 39, 40, 59, 60, 100, 333])
def test_what_counts_is_chosen_at_the_same_number_of_labels_by_everybody(total: int) -> None:
    playbook = BulletPlaybook()
    playbook.remember(history(total, 4), NODE)
    before = evidence(playbook, 20, 5)
    assert len(before.cases) <= 40 + 10
    assert sum(case.weight for case in before.cases) == pytest.approx(total)
    later = [f"n{i}" for i in range(before.enough_for)]
    for name in later[:-1]:
        playbook.record(record(name), Label("APPROVE"))
    after = evidence(playbook, 20, 5)
    assert [c.id for c in after.cases] == [c.id for c in before.cases] + later[:-1]
    playbook.record(record(later[-1]), Label("APPROVE"))
    chosen = evidence(playbook, 20, 5)
    assert chosen.enough_for == 20
    assert sum(case.weight > 1 for case in chosen.cases) > 0


def test_labels_of_a_clock_that_was_ahead_are_neither_lost_nor_counted_twice() -> None:
    playbook = BulletPlaybook()
    for i in range(90):
        at = "2099-01-01" if i % 7 == 3 else ""
        playbook.record(record(f"c{i}"), Label("DECLINE" if i % 3 else "APPROVE", "label", at))
    found = evidence(playbook, 20, 100).cases
    assert sorted(case.id for case in found) == sorted(f"c{i}" for i in range(90))
