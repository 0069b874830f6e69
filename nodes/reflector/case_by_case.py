"""Learn from labelled cases one by one, each around a case that is decided wrongly at that moment.

Where few cases are fraud no set of rules is proved, but a single rule may be.
"""

from collections.abc import Sequence

import numpy as np

from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.proof_levels import Gate
from acegraph.nodes.evidence.residuals import best_shift
from acegraph.nodes.reflector.induction import fields_of, induce
from acegraph.nodes.reflector.reflector import as_reflection
from acegraph.nodes.rules.points import log_odds_over
from acegraph.nodes.rules.weights import fit_weights
from acegraph.state.run.schema import Reflection
from acegraph.state.values import Bullet, Case, CaseTable, Condition, sign_of


def learn_case_by_case(
    table: CaseTable, bullets: Sequence[Bullet], gate: Gate | None
) -> list[tuple[Case, Reflection]]:
    """The rules that are proved beside these bullets, each with its case."""
    active = [b for b in bullets if b.status == "active"]
    start, shares, fraud = log_odds_over(table, active), case_shares(table), table.fraud
    standing = fields_of(b.condition for b in active if b.condition)
    found: list[tuple[Case, Reflection]] = []
    rules: list[Condition] = []
    fired = np.zeros((0, len(table)), bool)
    log_odds, shift = start, best_shift(fraud, start, shares)
    for row, case in enumerate(table):
        if (log_odds[row] + shift > 0) == fraud[row]:
            continue
        known = standing | fields_of(rules)
        induced = induce(case.fields, case.label, table, log_odds, known_fields=known, gate=gate)
        if induced is None or induced.condition in rules:
            continue
        found.append((case, as_reflection(induced)))
        rules.append(induced.condition)
        fired = np.vstack([fired, induced.condition.holds_over(table)])
        signs = np.array([sign_of(rule.verdict) for rule in rules])
        weights = fit_weights(fired, signs, fraud, start, shares=shares)
        log_odds = start + weights @ fired
        shift = best_shift(fraud, log_odds, shares)
        counts = np.flatnonzero(weights)  # of the others the new rule says it all
        rules, fired = [rules[i] for i in counts], fired[counts]
        found = [found[i] for i in counts]
    return found
