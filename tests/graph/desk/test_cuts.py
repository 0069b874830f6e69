"""The curves of the rule lab: exact at every cut, and legible however rare fraud is."""

import numpy as np
import pytest
from desk_office import Office

from acegraph.graph.desk.figures import Cases
from acegraph.graph.desk.lab.cuts import Curve, cut_curves
from acegraph.state import Case, Condition
from acegraph.state.values.cases import CaseTable


def cases_with(fraud_rate: float, size: int = 5_000) -> Cases:
    rng = np.random.default_rng(0)
    fraud = np.arange(size) < fraud_rate * size
    hits = rng.poisson(np.where(fraud, 6, 1))
    amounts = rng.lognormal(np.where(fraud, 6, 4), 1.0).round(2)
    rows = zip(fraud, hits, amounts, strict=True)
    return Cases(
        CaseTable(
            Case(
                str(n),
                {"hits": int(h), "amount": float(a)} if n % 7 else {"hits": int(h)},
                "DECLINE" if f else "APPROVE",
            )
            for n, (f, h, a) in enumerate(rows)
        )
    )


def curves(rule: str, fraud_rate: float) -> "tuple[Cases, list[Curve]]":
    cases = cases_with(fraud_rate)
    return cases, cut_curves(cases, Condition.parse(rule))


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_each_cut_tells_what_the_rule_with_this_cut_does(op: str) -> None:
    cases, (of_amount, of_hits) = curves(f"DECLINE when amount {op} 200 and hits {op} 3", 0.02)
    for curve in (of_amount, of_hits):
        assert curve.cuts[curve.here] == curve.comparison.value
        for n in range(len(curve.cuts)):
            fired = Condition.parse(curve.rule(n)).holds_over(cases.table)
            counts = (curve.frauds[n].part, curve.honest[n].part)
            assert counts == ((fired & cases.fraud).sum(), (fired & cases.honest).sum())


@pytest.mark.parametrize("fraud_rate", [0.5, 0.01, 0.002])
def test_both_curves_fill_their_panels_at_any_rate_of_fraud(fraud_rate: float) -> None:
    _, (curve,) = curves("DECLINE when amount >= 200", fraud_rate)
    for scale in (curve.caught, curve.stopped):
        assert max(scale.heights) - min(scale.heights) > 0.7
        assert np.ptp(scale.heights[10:-10]) > 0.15, "the middle is no flat line"
    assert max(np.diff(curve.caught.heights)) <= 0, "a higher cut catches no more"


def test_the_page_has_the_counts_of_some_cuts_and_leads_to_each_of_them(office: Office) -> None:
    viewer = office.person("viewer")
    page = viewer.get("/lab?rule=DECLINE+when+amount+%3E%3D+200")
    assert "<title>amount &gt;= 200: 17 of 18 frauds, 6 of 32 good payments</title>" in page
    assert page.count('href="/desk/lab?rule=DECLINE+when+amount') > 5
    assert "Frauds caught" in page
    assert "caught" not in viewer.get("/lab?rule=APPROVE+when+amount+%3C+100")
