"""The comparisons of a set of rules, and sums over the cases that pass them."""

import numpy as np

from acegraph.nodes.curator.refinement.comparisons import Comparisons
from acegraph.state import Case
from acegraph.state.values.cases import CaseTable


def table_of(n: int) -> CaseTable:
    """A number that is sometimes missing, a flag, a category and a memo."""
    rng = np.random.default_rng(1)
    cases = []
    for i in range(n):
        fields: dict[str, float | str | bool] = {
            "vpn": bool(rng.random() < 0.3),
            "kind": str(rng.choice(["shop", "fuel", "net"])),
            "memo": str(
                rng.choice(["pay with a gift card now", "the rent of this month", "thanks"])
            ),
        }
        if rng.random() < 0.8:
            fields["amount"] = round(float(rng.uniform(1, 100)), 2)
        cases.append(Case(str(i), fields, "DECLINE" if rng.random() < 0.4 else "APPROVE"))
    return CaseTable(cases)


def test_sums_by_bins_are_the_sums_over_the_cases_of_each_comparison() -> None:
    table, rng = table_of(400), np.random.default_rng(2)
    tests = Comparisons.of(table, np.arange(400) % 4 > 0)
    ops = {test.op for test in tests.comparisons}
    assert {"<", ">=", "is", "is missing", "mentions"} <= ops
    for some in (tests, tests.part(rng.random(300) < 0.5)):
        columns = rng.normal(size=(some.masks.shape[1], 5))
        np.testing.assert_allclose(some.adder()(columns), some.masks @ columns, atol=1e-9)


def test_a_table_without_a_comparison_has_empty_sums() -> None:
    table = CaseTable(Case(str(i), {}, "DECLINE" if i % 2 else "APPROVE") for i in range(40))
    tests = Comparisons.of(table, np.ones(40, bool))
    assert tests.adder()(np.ones((40, 2))).shape == (0, 2)
