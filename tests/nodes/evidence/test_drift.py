"""Drift: what changed is noticed, what did not is left alone."""

from dataclasses import replace

import numpy as np

from acegraph.graph import TrainingPipeline
from acegraph.nodes.evidence.drift import change_point, since_change
from acegraph.state import Bullet, Case, Condition
from acegraph.state.values.cases import CaseTable

RULE = Condition.parse("DECLINE when size >= 100")
LATE = {"size": 20.0, "kind": "shop", "noise": 0.5}


def table_of(n: int, flip_at: int, seed: int = 0) -> CaseTable:
    rng = np.random.default_rng(seed)
    cases = []
    for i in range(n):
        size = float(rng.integers(0, 200))
        is_fraud = ((size >= 100) == (i < flip_at)) != (rng.random() < 0.1)
        cases.append(Case(str(i), {"size": size}, "DECLINE" if is_fraud else "APPROVE"))
    return CaseTable(cases)


def test_the_place_of_a_flip_is_found() -> None:
    assert 195 <= change_point(RULE, table_of(300, 200)) <= 205


def test_without_a_change_all_cases_stay() -> None:
    bullets = [Bullet("b1", RULE.render(), "node", condition=RULE)]
    for seed in range(20):
        table = table_of(400, 400, seed)
        assert len(since_change(table, bullets)) == 400


def seasons(seed: int, n: int = 2_400) -> tuple[CaseTable, list[Bullet]]:
    """Two years of a stable rule, in which some months have more fraud than others; and bullets,
    of which those about months of the first year do not hold in the second.
    """
    rng = np.random.default_rng(seed)
    by_month, cases = rng.choice([0.05, 0.2, 0.5], 24), []
    for i in range(n):
        size, month = float(rng.integers(0, 200)), i * 24 // n
        is_fraud = rng.random() < by_month[month] + 0.4 * (size >= 100)
        fields = {"size": size, "month": float(month % 12)}
        cases.append(Case(str(i), fields, "DECLINE" if is_fraud else "APPROVE"))
    worst = np.argsort(-by_month[:12])[:4]
    texts = [f"DECLINE when month >= {m} and month < {m + 1}" for m in worst]
    retired = [Bullet(f"r{m}", "", "node", status="retired") for m in worst]
    old = [
        replace(b, content=t, condition=Condition.parse(t))
        for b, t in zip(retired, texts, strict=True)
    ]
    return CaseTable(cases), [Bullet("b1", RULE.render(), "node", condition=RULE), *old]


def test_a_season_is_no_change() -> None:
    for seed in range(40):
        table, bullets = seasons(seed)
        for n in range(1_300, 2_401, 220):
            assert len(since_change(table.first(n), bullets)) == n


def test_labels_that_have_not_come_yet_are_no_change() -> None:
    """The newest frauds still pass for honest: no fraud has come up elsewhere."""
    for seed in range(10):
        cases = list(table_of(600, 600, seed))
        young = [Case(c.id, c.fields, "APPROVE") for c in cases[520:]]
        assert change_point(RULE, CaseTable([*cases[:520], *young])) == 0


def test_a_table_since_a_row_is_the_rest_of_it() -> None:
    table = table_of(50, 50)
    rest = table.since(20).since(5)
    assert [case.id for case in rest] == [str(i) for i in range(25, 50)]
    column = rest.column("size")
    assert column is not None
    assert column.numbers.tolist() == [case.fields["size"] for case in rest]
    assert rest.fraud.tolist() == [case.label == "DECLINE" for case in rest]


def flipped_stream(n: int, flip_at: int, seed: int = 1) -> list[dict[str, object]]:
    rng = np.random.default_rng(40 + seed)
    items: list[dict[str, object]] = []
    for case in table_of(n, flip_at, seed=2 + seed):
        noise = {"kind": str(rng.choice(["shop", "fuel", "web"])), "noise": float(rng.normal())}
        items.append({"id": case.id, "query": {**case.fields, **noise}, "answer": case.label})
    return items


def test_cases_from_before_a_change_are_no_evidence() -> None:
    bullets = [Bullet("b1", RULE.render(), "node", condition=RULE)]
    table = table_of(400, 200)
    assert len(since_change(table, bullets)) < 210


def test_online_learning_follows_a_flip_and_retires_the_old_rule() -> None:
    right: list[tuple[float, float]] = []
    for seed in (1, 2, 3):
        pipeline, items = TrainingPipeline(), flipped_stream(500, 250, seed)
        before = pipeline.train_online(items[:250]).run
        node = pipeline.context.node
        old = {b.id for b in pipeline.playbook.get_bullets_for_node(node)}
        report = pipeline.train_online(items[250:])
        assert (report.evidence, report.to_json()["change"]) == (500, report.change)
        row = 501 - report.since_change
        assert 230 <= row <= 280
        assert report.change == (
            f"a change was seen at row {row}; {501 - row} of 500 labelled cases still count"
        )
        assert old
        assert not old & {b.id for b in pipeline.playbook.get_bullets_for_node(node)}
        halves = (np.mean(run.right[-125:]) for run in (before, report.run))
        right.append((float(next(halves)), float(next(halves))))
    known, found = np.mean(right, axis=0)
    assert found > known - 0.08
