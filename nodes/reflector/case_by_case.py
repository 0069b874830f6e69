"""Learn from labelled cases one by one, without a playbook: what a pass through them would find.

Refinement compares the result on held-out cases with rules that are found for all cases together.
"""

import numpy as np

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.proof_levels import Gate
from acegraph.nodes.evidence.residuals import best_shift
from acegraph.nodes.reflector.induction import fields_of, induce
from acegraph.nodes.rules.points import start_over
from acegraph.nodes.rules.weights import fit_weights
from acegraph.state import Condition
from acegraph.state.values.cases import CaseTable
from acegraph.state.values.verdict import sign_of


def learn_case_by_case(table: CaseTable, gate: Gate | None) -> list[Condition]:
    """The rules that are proved, each around a case that was decided wrongly at that moment."""
    start, shares, fraud = start_over(table), case_shares(table), table.fraud
    rules: list[Condition] = []
    fired = np.zeros((0, len(table)), bool)
    log_odds, shift = start, best_shift(fraud, start, shares)
    for row, case in enumerate(table):
        if (log_odds[row] + shift > 0) == fraud[row]:
            continue
        known = fields_of(rules)
        found = induce(case.fields, case.label, table, log_odds, known_fields=known, gate=gate)
        if found is None or found.condition in rules:
            continue
        rules.append(found.condition)
        fired = np.vstack([fired, found.condition.holds_over(table)])
        signs = np.array([sign_of(rule.verdict) for rule in rules])
        weights = fit_weights(fired, signs, fraud, start, shares=shares)
        log_odds = start + weights @ fired
        shift = best_shift(fraud, log_odds, shares)
        counts = weights != 0  # of the others the new rule says it all
        rules, fired = [rules[i] for i in np.flatnonzero(counts)], fired[counts]
    return rules
