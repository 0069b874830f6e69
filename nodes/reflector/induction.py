"""Rule induction: find the condition that best explains one mistake among labelled cases.

The search of whole tables (nodes/rules/learner/search.py) tries what holds on the case, scored by
how much it would improve on what the playbook says. Then every comparison of a rule must earn its
place. It returns nothing rather than a rule that chance explains. It knows tables and numbers, not
playbooks or prompts.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from acegraph.nodes.evidence.backtest import Backtest, backtest, can_prove
from acegraph.nodes.evidence.proof_levels import Gate, gate_of
from acegraph.nodes.evidence.residuals import Numbers, Residuals, residuals
from acegraph.nodes.rules.learner.fine_cuts import with_fine_cuts
from acegraph.nodes.rules.learner.literals import closest_cuts
from acegraph.nodes.rules.learner.search import Rows, Term, candidates
from acegraph.nodes.rules.learner.signal import has_signal, rows_of
from acegraph.nodes.runtime.blas import one_blas_thread
from acegraph.state.values import DECLINE, CaseTable, Condition, Scalar, Verdict, sign_of

_STANDARD: Final = gate_of("standard")
_CANDIDATES: Final = 6
"""How many of the best conjunctions are tested before the search gives up."""
_PER_COMPARISON: Final = 0.7
"""Standard errors that a further comparison must bring: the shorter rule wins a near tie."""
_LATER_SPREAD: Final = 4
_SMALL: Final = 150
"""Up to this many cases a signal lowers the demands on further rules too, not only the first."""
_FLOOR: Final = 1.0
"""The least variance of a difference: few cases prove little, however sure the playbook was."""


@dataclass(frozen=True)
class Induced:
    """A condition with the evidence for it."""

    condition: Condition
    evidence: Backtest
    tried: int
    """How many conditions the search could have found; the significance is corrected for them."""


@one_blas_thread
def induce(
    fields: Mapping[str, Scalar],
    label: Verdict,
    table: CaseTable,
    log_odds: Numbers,
    *,
    known_fields: frozenset[str] = frozenset(),
    gate: Gate | None = _STANDARD,
) -> Induced | None:
    """The best condition that holds on these fields and argues for this label, or None.

    `log_odds` is what the playbook says of each case now; its proven rules use `known_fields`.
    Without a gate the best condition of the search is returned, proven or not.
    """
    if not can_prove(table):
        return None
    search = _RuleSearch(fields, label, table, rows_of(table, log_odds), known_fields)
    if not search.rows.literals.tests:
        return None
    induced = search.best(gate)
    if induced or gate is None or gate.given_signal is None:
        return induced
    # No rule is proven alone. If all fields together show a signal, a first rule needs less proof.
    if known_fields and len(table) > _SMALL:
        return None  # comparisons that only go along with a known field would pass too
    return search.best(gate.given_signal) if has_signal(table, log_odds, gate.signal) else None


def fields_of(rules: Iterable[Condition]) -> frozenset[str]:
    """The fields that some rules compare."""
    return frozenset(name for rule in rules for name in rule.fields)


@dataclass(frozen=True)
class _RuleSearch:
    """The search for a rule that holds on one case."""

    fields: Mapping[str, Scalar]
    label: Verdict
    table: CaseTable
    rows: Rows
    known_fields: frozenset[str]

    @cached_property
    def _on_the_case(self) -> Rows:
        """The rows with the literals that hold on the case, with the sought label as the fraud."""
        literals = self.rows.literals
        held = [
            i
            for i, tests in enumerate(literals.tests)
            if tests[0].holds(self.fields) and (self.label == DECLINE or not literals.only_raise[i])
        ]
        rows = replace(self.rows, literals=literals.some(held))
        if self.label == DECLINE:
            return rows
        return replace(rows, fraud=~rows.fraud, start=-rows.start)

    @cached_property
    def _rest(self) -> Residuals:
        rows = self.rows
        return residuals(rows.fraud, rows.start, rows.shares).towards(sign_of(self.label))

    @cached_property
    def _candidates(self) -> list[Term]:
        return candidates(self._on_the_case, _CANDIDATES, _PER_COMPARISON)

    @cached_property
    def _of_field(self) -> Counter[str]:
        """How many comparisons of each field say something of their own."""
        literals = self.rows.literals
        return Counter(np.array(literals.fields)[literals.narrow].tolist())

    def best(self, gate: Gate | None) -> Induced | None:
        """The best rule that meets the demands of a level of proof."""
        literals, seen = self._on_the_case.literals, set[Term]()
        marks = max(self._of_field.total(), 1)
        for candidate in self._candidates:
            rule = self._pruned(candidate, gate) if gate else candidate
            if not rule or rule in seen:
                continue
            seen.add(rule)
            tests = closest_cuts([literals.tests[i][0] for i in rule])
            condition = with_fine_cuts(
                Condition(tests, self.label), self.table, self._rest, literals, self.fields
            )
            if condition is None:
                continue
            evidence = backtest(condition, self.table, self.rows.start)
            spread = _LATER_SPREAD if self.known_fields else marks
            tried = marks * spread ** (len(tests) - 1)
            is_enough = gate is None or (
                evidence.gain >= gate.min_gain
                and evidence.p_chance * tried * self._looks <= gate.first
            )
            if is_enough:
                return Induced(condition, evidence, tried)
        return None

    @cached_property
    def _looks(self) -> float:
        """By how much each chance allowed is divided.

        The question is asked again as labels come in, and each doubling of their number has its
        part of the allowance.
        """
        return 1 + math.log2(self.table.times_grown)

    def _pruned(self, kept: Term, gate: Gate) -> Term:
        """A rule without the comparisons that miss their bars, the weakest dropped first."""
        rows, bars = self._on_the_case, self._of_field
        while kept:
            (fired,) = rows.fired([kept])
            margin = {}
            for i in kept:
                (others,) = rows.fired([tuple(j for j in kept if j != i)])
                name = rows.literals.fields[i]
                is_known = name in self.known_fields
                choices = bars[name] if is_known else bars.total()
                looks = self._looks if self.known_fields else 1
                bar = gate.bar(choices * looks, is_known=is_known)
                margin[i] = self._rest.contrast(fired, others & ~fired, _FLOOR) - bar
            weakest = min(kept, key=margin.__getitem__)
            if margin[weakest] >= 0:
                return kept
            kept = tuple(i for i in kept if i != weakest)
        return ()
