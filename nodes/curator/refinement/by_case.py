"""Rules that are learned case by case, on trial beside those that are found for all cases."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from acegraph.nodes.curator.refinement.shortening import ridge_weights
from acegraph.nodes.evidence.columns.entities import case_shares
from acegraph.nodes.evidence.residuals import Mask, Numbers
from acegraph.nodes.rules.points import start_over
from acegraph.nodes.rules.weights import fired_over
from acegraph.state import Condition
from acegraph.state.values.cases import CaseTable

Learn = Callable[[CaseTable], list[Condition]]
"""Learns rules from labelled cases, one by one."""


@dataclass(frozen=True)
class ByCase:
    """What learning case by case makes of the cases of a table."""

    learn: Learn
    table: CaseTable

    def rules(self) -> list[Condition]:
        """The rules that all cases lead to."""
        return self.learn(self.table)

    def log_odds(self, held_out: Mask) -> tuple[Numbers, int]:
        """The log-odds of the held-out cases by the rules that the others lead to, and how many
        rules these are.
        """
        known, unseen = (
            CaseTable(case for case, is_in in zip(self.table, part, strict=True) if is_in)
            for part in (~held_out, held_out)
        )
        rules = self.learn(known)
        fired_known, fired_unseen = fired_over(rules, known), fired_over(rules, unseen)
        start, begin = start_over(self.table), np.zeros(len(rules) + 1)
        shares = case_shares(self.table)[~held_out]
        weights, _ = ridge_weights(fired_known, known.fraud, start[~held_out], shares, begin)
        return start[held_out] + weights[:-1] @ fired_unseen + weights[-1], len(rules)
