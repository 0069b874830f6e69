"""Rule induction: finds what is there, and nothing where nothing is."""

import numpy as np
import pytest
from scipy import stats

from acegraph.nodes.evidence.backtest import chance, wilson_interval
from acegraph.nodes.evidence.columns.learnable_fields import is_identifier
from acegraph.nodes.evidence.residuals import best_shift, sigmoid
from acegraph.nodes.reflector.induction import Induced, induce
from acegraph.nodes.rules.learner.literals import cuts_of
from acegraph.nodes.rules.points import scorecard_over
from acegraph.nodes.rules.weights import fit_weights
from acegraph.state import Case
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Fields
from acegraph.state.values.verdict import Verdict


def table_of(n: int, seed: int, *, shuffle: bool = False) -> CaseTable:
    """Fraud is colour red and size >= 50, with one case in twenty the other way."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[Fields, bool]] = []
    for i in range(n):
        fields: Fields = {
            "size": float(rng.integers(0, 100)),
            "colour": str(rng.choice(["red", "green", "blue"])),
            "weight": float(np.round(rng.normal(), 2)),
            "open": bool(rng.random() < 0.5),
            "order_id": f"o{i}",
        }
        cause = fields["colour"] == "red" and float(fields["size"] or 0) >= 50  # type: ignore[arg-type]
        rows.append((fields, cause != (rng.random() < 0.05)))
    labels = [fraud for _, fraud in rows]
    if shuffle:
        rng.shuffle(labels)
    return CaseTable(
        Case(str(i), fields, "DECLINE" if fraud else "APPROVE")
        for i, ((fields, _), fraud) in enumerate(zip(rows, labels, strict=True))
    )


def find(table: CaseTable, fields: Fields, label: Verdict = "DECLINE") -> Induced | None:
    return induce(fields, label, table, scorecard_over(table))


RED: Fields = {"size": 90.0, "colour": "red", "weight": 0.1, "open": True, "order_id": "x"}


def test_the_planted_cause_is_found() -> None:
    found = find(table_of(300, 1), RED)
    assert found is not None
    assert set(found.condition.fields) == {"size", "colour"}
    assert found.condition.holds(RED)
    assert found.evidence.precision > 0.85


def test_a_dozen_labels_are_enough_for_a_clear_cause() -> None:
    cases = [
        Case(str(i), {"size": float(i)}, "DECLINE" if i >= 8 else "APPROVE") for i in range(16)
    ]
    found = find(CaseTable(cases), {"size": 15.0})
    assert found is not None
    assert found.condition.render() == "DECLINE when size >= 8"


def test_chance_is_not_called_a_rule() -> None:
    found = [find(table_of(300, seed, shuffle=True), RED) for seed in range(20)]
    assert sum(rule is not None for rule in found) <= 1


def test_identifiers_are_left_out() -> None:
    table = table_of(300, 2)
    assert is_identifier("order_id", table)
    assert not is_identifier("size", table)
    assert not is_identifier("colour", table)


def test_true_among_numbers_is_not_taken_for_one() -> None:
    values = [True if i % 4 == 0 else i % 3 for i in range(80)]
    cases = [
        Case(str(i), {"x": v}, "DECLINE" if v == 1 else "APPROVE") for i, v in enumerate(values)
    ]
    found = induce({"x": True}, "DECLINE", CaseTable(cases), np.zeros(80), gate=None)
    assert found is None or found.condition.holds({"x": True})


def test_too_few_cases_teach_nothing() -> None:
    assert find(table_of(8, 3), RED) is None


@pytest.mark.parametrize("seed", range(3))
def test_cut_points_part_the_values_and_are_round(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(3, 1, 500)
    cuts = cuts_of(values, rng.random(500) < 0.5, np.ones(500))
    assert 15 <= len(cuts) <= 33
    assert all(values.min() < cut <= values.max() for cut in cuts)
    assert max(len(str(cut)) for cut in cuts) <= 7


def test_a_number_is_cut_where_the_frauds_are_however_few_they_are() -> None:
    rng = np.random.default_rng(1)
    values = np.append(rng.uniform(0, 100, 5000), rng.uniform(1000, 1100, 50))
    cuts = cuts_of(values, np.arange(5050) >= 5000, np.ones(5050))
    assert sum(cut > 1000 for cut in cuts) >= 8


def test_chance_is_the_hypergeometric_tail() -> None:
    for right, fires, wanted, cases in [(5, 6, 10, 30), (3, 3, 3, 20), (0, 4, 5, 9), (7, 9, 8, 12)]:
        expected = stats.hypergeom(cases, wanted, fires).sf(right - 1)
        assert chance(right, fires, wanted, cases) == pytest.approx(expected)


def test_the_wilson_interval_is_statsmodels_one() -> None:
    expected = stats.binomtest(17, 20).proportion_ci(method="wilson")
    assert wilson_interval(17, 20) == pytest.approx((expected.low, expected.high), abs=1e-4)


def test_a_rule_gets_no_weight_against_its_own_verdict() -> None:
    fraud = np.array([True] * 20 + [False] * 20)
    fired = np.array([fraud, ~fraud])
    weights = fit_weights(fired, np.array([1.0, 1.0]), fraud, np.zeros(40), np.ones(40))
    assert weights[0] > 1
    assert weights[1] == 0


def test_where_fraud_is_rare_a_rule_gets_the_risk_of_its_cases() -> None:
    fired = np.arange(20_000) < 500
    fraud = np.isin(np.arange(20_000), [*range(100), *range(600, 620)])  # 100 of 500, 20 of 19,500
    start = np.full(20_000, -5.0)
    (weight,) = fit_weights(fired[None], np.array([1.0]), fraud, start, np.ones(len(fraud)))
    log_odds = start + weight * fired
    risks = sigmoid(log_odds + best_shift(fraud, log_odds, np.ones(len(fraud))))
    assert risks[0] == pytest.approx(0.2, rel=0.1)
