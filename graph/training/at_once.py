"""Learning from all labelled cases at once: the one place that calls the learner."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np

from acegraph.graph.data.rows import Progress
from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.refine import refine
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.evidence.residuals import Mask
from acegraph.nodes.reflector.case_by_case import learn_case_by_case
from acegraph.nodes.rules.columns import declined_over
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.database.encoding import now
from acegraph.state.run.context import settle
from acegraph.state.values import REFINEMENT, Case, CaseTable, Condition

_STORED_AT_ONCE: Final = 5_000


@dataclass(frozen=True)
class Figures:
    """What labelled history is, and how many of it the playbook gets wrong."""

    cases: int
    frauds: int
    mistakes: int
    repeated: int
    """Cases that the playbook knew before."""


class History(Protocol):
    """Labelled cases, all known from the start."""

    def remember(self) -> tuple[int, int]:
        """Store the cases as evidence; gives how many are new to the playbook, and of how many it
        had another label.
        """

    def figures(self, remembered: int) -> Figures:
        """The figures after learning; so many cases were new, or had another label."""


@dataclass(frozen=True)
class ListedCases:
    """History of which every row is a case."""

    cases: Sequence[Case]
    playbook: BulletPlaybook
    context: AceContext
    progress: Progress

    def remember(self) -> tuple[int, int]:
        """Store the cases as evidence; a large set is stored in parts, all at one time."""
        new, corrected, at = 0, 0, now()
        for start in range(0, len(self.cases), _STORED_AT_ONCE):
            part = self.cases[start : start + _STORED_AT_ONCE]
            counts = Counter(case.label for case in part)
            added = self.playbook.remember_table(part, counts, self.context.node, at=at)
            new, corrected = new + added[0], corrected + added[1]
            self.progress("storing", start + len(part), len(self.cases))
        return new, corrected

    def figures(self, remembered: int) -> Figures:
        """How the playbook decides the cases as it is now."""
        cases = CaseTable(self.cases)
        wrong = int(mistakes_over(cases, self.playbook, self.context).sum())
        known = len({case.id for case in self.cases}) - remembered
        return Figures(len(self.cases), int(cases.fraud.sum()), wrong, known)


@dataclass(frozen=True)
class Learned:
    """What was learned."""

    refined: int = 0
    """How many bullets a set of rules has put in place of others."""
    refinement: str = ""
    """How much better the set explains held-out cases, in words; empty if none was proved."""
    held_out: dict[str, float] = field(default_factory=dict)


def learn_at_once(playbook: BulletPlaybook, context: AceContext, curator: Curator) -> Learned:
    """Put a better set of rules in place of what was learned before, if one is proved; else learn
    single rules.
    """
    node, costs = context.node, settle(playbook, context).get("costs")
    done = refine(playbook, node, curator, costs=costs)
    if done:
        found = done.rule_set
        return Learned(len(done.added), found.in_words, found.held_out)
    _learn_case_by_case(playbook, node, curator)
    curator.tend(node, playbook)
    return Learned()


def _learn_case_by_case(playbook: BulletPlaybook, node: str, curator: Curator) -> None:
    """Learn single rules where no set is proved and none stands: from few frauds."""
    bullets = playbook.get_bullets_for_node(node, status=None)
    if any(b.status == "active" and REFINEMENT in b.origin for b in bullets):
        return
    table = since_change(playbook.cases(node), bullets)
    for case, reflection in learn_case_by_case(table, bullets, curator.gate):
        condition = reflection.get("condition")
        curator.curate(
            reflection["new_bullet"],
            node,
            playbook,
            "offline",
            condition=Condition.from_json(condition) if condition else None,
            problem_types=reflection["problem_types"],
            confidence=reflection["confidence"],
            origin={"decision": case.id, "label": case.label, "author": NO_LANGUAGE_MODEL},
        )


def mistakes_over(cases: CaseTable, playbook: BulletPlaybook, context: AceContext) -> Mask:
    """Which labelled cases a playbook decides otherwise than their labels say."""
    ruleset = Ruleset.of(playbook, settle(playbook, context))
    return np.asarray(declined_over(ruleset, cases) != cases.fraud)
