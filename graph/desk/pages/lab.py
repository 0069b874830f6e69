"""The rule lab: write a rule, see what it and its other cuts would have done, and propose it."""

from dataclasses import replace
from typing import Final

import numpy as np
from starlette.responses import Response

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.visit import Visit
from acegraph.graph.desk.words import sentence
from acegraph.graph.metrics.records import Cases, Record
from acegraph.nodes.curator.curator import Curator
from acegraph.state import InvalidCondition
from acegraph.state.errors import InvalidInput
from acegraph.state.values import DECLINE, MAX_CONTENT, Comparison, Condition, written_field

_SHARES: Final = np.linspace(0, 1, 6)
"""Where frauds, and where good payments, are cut into equal parts."""
_MOST: Final = 12
"""So many fields are named."""
_SAMPLE: Final = 5
_EXAMPLE: Final = "DECLINE when amount >= 900 and vpn is true"
"""What stands in the empty field as long as the playbook has no rule."""


def show(desk: Desk, visit: Visit) -> Response:
    """The lab, or with htmx only what the rule would have done."""
    rule = visit.given("rule") or visit.asked("rule")
    found = examined(desk, rule[:MAX_CONTENT])
    return desk.page(visit, "_lab.html" if visit.wants_part else "lab.html", found)


def examined(desk: Desk, text: str) -> dict[str, object]:
    """What is known of a rule: whether it can be read, its backtest, a sample, other cuts."""
    cases, nouns = desk.cases(), desk.nouns
    names = cases.table.field_names
    stored = nouns.stored(text)
    found: dict[str, object] = {
        "rule": text,
        "problem": "",
        "fields": [written_field(name) for name in names[:_MOST]],
        "tried": None,
        "cases": len(cases.table),
        "example": nouns.shown(next(map(sentence, desk.ruleset().rules), _EXAMPLE)),
    }
    if not text.strip():
        return found
    try:
        condition = Condition.parse(stored)
    except InvalidCondition as error:
        return found | {"problem": nouns.shown(str(error))}
    fired = condition.holds_over(cases.table)
    declined = cases.declined(desk.ruleset())
    says_so = declined if condition.verdict == DECLINE else ~declined
    unknown = [name for name in condition.fields if names and name not in names]
    kinds = {"bad": cases.fraud, "good": cases.honest}
    return found | {
        "condition": condition,
        "problem": f"No labelled case has a field {unknown[0]}" if unknown else "",
        "tried": cases.tried(condition, fired, says_so),
        "samples": {name: cases.newest(fired & kind, _SAMPLE) for name, kind in kinds.items()},
        "groups": cases.by_group(condition),
        "cuts": other_cuts(cases, condition),
    }


def other_cuts(cases: Cases, condition: Condition) -> dict[Comparison, dict[float, Record]]:
    """For each comparison with a number, what the rule does with others in its place."""
    numeric = (one for one in condition.comparisons if one.op in ("<", "<=", ">", ">="))
    return {one: _cuts_of(cases, condition, one) for one in dict.fromkeys(numeric)}


def _cuts_of(cases: Cases, condition: Condition, comparison: Comparison) -> dict[float, Record]:
    column, now = cases.table.column(comparison.field), comparison.value
    assert isinstance(now, int | float)
    values = {float(now)}
    # Frauds and good payments weigh the same, however rare one of them is.
    for kind in (cases.fraud, cases.honest):
        numbers = column.numbers[kind] if column else np.zeros(0)
        known = numbers[~np.isnan(numbers)]
        places = np.quantile(known, _SHARES, method="nearest") if len(known) else ()
        values |= {float(f"{value:.4g}") for value in places}
    found = {}
    for value in sorted(values):
        another = replace(comparison, value=int(value) if value.is_integer() else value)
        changed = (another if one == comparison else one for one in condition.comparisons)
        rule = replace(condition, comparisons=tuple(changed))
        found[value] = cases.tried(rule, rule.holds_over(cases.table))
    return found


def propose(desk: Desk, visit: Visit) -> Response:
    """Propose a rule: it passes the gate, and then waits for somebody else's approval."""
    origin = {"reason": visit.reason(), "author": visit.user.name}
    condition = Condition.parse(desk.nouns.stored(visit.given("rule")[:MAX_CONTENT]))
    curation = Curator().awaiting_approval().curate(
        condition.render(), desk.node, desk.playbook, condition=condition, origin=origin
    )  # fmt: skip
    if curation.bullet_id is None:
        raise InvalidInput(f"The gate refused it: {curation.reason}.")
    return desk.go(visit, f"/playbook/{curation.bullet_id}", "proposed")


PAGES: Final = (Page("GET", "/lab", "viewer", show), Page("POST", "/lab", "analyst", propose, show))
