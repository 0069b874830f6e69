"""What is not known because of the decisions looks no better than what is."""

import math
from collections.abc import Iterator

import pytest

from acegraph.graph.desk.pages.overview import outcome
from acegraph.graph.experiments.experiment import live_duel
from acegraph.graph.experiments.words import footnotes
from acegraph.graph.metrics.intervals import Estimate
from acegraph.graph.metrics.rates import missed_fraud_rate
from acegraph.graph.metrics.run import Run
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.operations.monitoring.watch import watch
from acegraph.state import AceContext, BulletPlaybook, Case, Field, Label, Task
from acegraph.state.playbook.decision_index import DecisionColumns, DecisionIndex
from acegraph.state.values import APPROVE, DECLINE, CostMatrix

HIGHER_IS_BETTER = {
    *("caught", "accuracy", "balanced_accuracy", "average_precision", "recall_at_1_percent"),
    *("fraud_per_1000_alerts", "value_caught"),
}


def decided(book: BulletPlaybook, *, withheld: bool) -> None:
    """Forty decisions of a rule that is often wrong, and another version in shadow."""
    book.add_bullet("DECLINE when amount >= 200", "fraud_detection")
    book.add_bullet("DECLINE when hour >= 12", "fraud_detection")
    book.set_status("b1", "retired", "tried")
    context = AceContext(policy={"shadow": 1})
    cases = [{"amount": 10.0 * n, "hour": n % 24} for n in range(40)]
    given = [{"transaction": case, "decision_id": f"d{n}"} for n, case in enumerate(cases)]
    for n, answer in enumerate(decide_many(book, given, context)):  # type: ignore[arg-type]
        assert isinstance(answer, dict)
        if not (withheld and answer["decision"] == DECLINE):
            label = DECLINE if n >= 25 or n == 5 else "APPROVE"
            book.label(f"d{n}", Label(label, "chargeback"))


@pytest.fixture(scope="module")
def books() -> Iterator[tuple[BulletPlaybook, BulletPlaybook]]:
    """All labels, and those of what was approved."""
    with BulletPlaybook() as whole, BulletPlaybook() as part:
        decided(whole, withheld=False)
        decided(part, withheld=True)
        yield whole, part


def no_better(name: str, known: Estimate, unknown: Estimate) -> bool:
    """Whether a figure is only bounds now, and its worse end is no better than it was."""
    worse = unknown.low <= known.low if name in HIGHER_IS_BETTER else unknown.high >= known.high
    holds = unknown.low <= known.mean <= unknown.high
    return math.isnan(unknown.mean) and (math.isnan(unknown.low) or (worse and holds))


def columns(book: BulletPlaybook) -> DecisionColumns:
    return DecisionIndex(book.database, lambda fields: float(fields["amount"] or 0)).columns()


def test_without_the_labels_of_declines_the_overview_looks_no_better(
    books: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    known, unknown = (outcome(columns(book), CostMatrix()) for book in books)
    assert [int(columns(book).blocked.sum()) for book in books] == [0, 16]
    for name, figure in known.items():
        assert no_better(name, figure, unknown[name]), name


def test_without_the_labels_of_declines_two_versions_look_no_better(
    books: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    known, unknown = (live_duel(book, 1) for book in books)
    for side in known.modes:
        of_all, of_some = known.compared(side), unknown.compared(side)
        for name, figure in of_all.figures.items():
            assert no_better(name, figure, of_some.figures[name]), (side, name)
        assert of_some.gain.low <= of_all.gain.mean <= of_some.gain.high
        assert math.isnan(of_some.gain.p_value) or side == "in force"
    assert any("because they were declined" in note for note in footnotes(unknown))
    assert not any("because they were declined" in note for note in footnotes(known))


def test_without_the_labels_of_declines_they_are_monitored_as_unknown(
    books: tuple[BulletPlaybook, BulletPlaybook],
) -> None:
    known, unknown = (watch(book).declines_right for book in books)
    bullet = books[0].get_bullet("b2")
    share = bullet.helpful_count / (bullet.helpful_count + bullet.harmful_count)
    assert 0 < share < 1
    assert known["mean"] == pytest.approx(share, abs=1e-4)
    assert unknown == {"low": 0.0, "high": 1.0}


def test_what_was_not_decided_counts_on_the_overview_as_in_a_comparison() -> None:
    fields = Field("x", "number", "amount", usual=True), Field("y", "number")
    task = Task("t", fields)
    cases = [(9, DECLINE), (1, APPROVE), (8, APPROVE), *[(None, DECLINE)] * 2, (None, APPROVE)]
    with BulletPlaybook(task=task) as book:
        book.add_bullet("DECLINE when x >= 5", "fraud_detection")
        book.remember([Case("old", {"x": 7}, DECLINE)], "fraud_detection")
        given = [
            {"transaction": {"x": x, "y": 1}, "decision_id": f"d{n}"}
            for n, (x, _) in enumerate(cases)
        ]
        run = Run()
        for n, answer in enumerate(decide_many(book, given)):  # type: ignore[arg-type]
            assert isinstance(answer, dict)
            run.add(cases[n][1], answer["decision"], None)
            book.label(f"d{n}", Label(cases[n][1], "chargeback"))
        run.amounts = [x and float(x) for x, _ in cases]
        index = DecisionIndex(book.database, lambda fields: fields.get("x"))  # type: ignore[arg-type,return-value]
        assert [len(index.columns()), run.undecided_rate] == [3, 0.5]
        shown = index.with_undecided()
        for costs in (CostMatrix(), CostMatrix(review=0.5)):
            found, wanted = outcome(shown, costs, len(shown) - 3), run.paid(costs)
            assert found["cost"].mean == pytest.approx(1000 * wanted.mean())
        assert found["caught"].mean == pytest.approx(1 - float(missed_fraud_rate(run)))
        assert found["stopped_per_caught"].mean == 2
