"""The values that rules may compare the fields of a table with."""

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.rules.learner.literals import Literals
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.plain import Scalar


def compared_values(table: CaseTable) -> dict[str, list[Scalar]]:
    """By field, what comparisons of it have on their right, each value once."""
    found: dict[str, list[Scalar]] = {}
    for (test,) in Literals.of(table, case_shares(table)).tests:
        values = found.setdefault(test.field, [])
        if test.value is not None and test.value not in values:
            values.append(test.value)
    return found
