"""The other cuts of the rule lab: exact, and of use however rare fraud is."""

import numpy as np
import pytest
from desk_office import Office

from acegraph.graph.desk.pages.lab import other_cuts
from acegraph.graph.metrics.records import Cases
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


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_each_cut_tells_what_the_rule_with_this_cut_does(op: str) -> None:
    cases = cases_with(0.02)
    found = other_cuts(cases, Condition.parse(f"DECLINE when amount {op} 200 and hits {op} 3"))
    assert [test.field for test in found] == ["amount", "hits"]
    for test, cuts in found.items():
        assert test.value in cuts
        for tried in cuts.values():
            fired = Condition.parse(tried.name).holds_over(cases.table)
            counts = (tried.fired.frauds, tried.fired.honest)
            assert counts == ((fired & cases.fraud).sum(), (fired & cases.honest).sum())


@pytest.mark.parametrize("fraud_rate", [0.5, 0.01, 0.002])
def test_the_cuts_divide_both_kinds_at_any_rate_of_fraud(fraud_rate: float) -> None:
    cases = cases_with(fraud_rate)
    (cuts,) = other_cuts(cases, Condition.parse("DECLINE when amount >= 200")).values()
    for kind in ("frauds", "honest"):
        counts = [getattr(tried.fired, kind) for tried in cuts.values()]
        assert counts == sorted(counts, reverse=True), "a higher cut catches no more"
        known = max(counts)
        assert sum(0.1 * known < count < 0.9 * known for count in counts) >= 4


def test_the_page_has_the_counts_of_some_cuts_and_leads_to_each_of_them(office: Office) -> None:
    viewer = office.person("viewer")
    page = viewer.get("/lab?rule=DECLINE+when+amount+%3E%3D+200")
    assert page.count('href="/desk/lab?rule=DECLINE+when+amount') > 5
    assert "Frauds caught" in page
    assert "caught" not in viewer.get("/lab?rule=APPROVE+when+amount+%3C+100")
