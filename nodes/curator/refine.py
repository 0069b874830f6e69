"""Refine a playbook: replace what it learned bullet by bullet by a better set of rules, if proved.

Only bullets that the embedded reflector wrote are replaced. What a person wrote, imported, approved
or changed stays as it is, and so does prose.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from acegraph.nodes.curator.curator import Curator
from acegraph.nodes.curator.screening import proposal_of
from acegraph.nodes.evidence.backtest import backtest
from acegraph.nodes.evidence.drift import since_change
from acegraph.nodes.evidence.stakes import COSTS
from acegraph.nodes.rules.learner.whole import RuleSet, best_rules
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, log_odds_over
from acegraph.nodes.rules.scale import HIGHEST_RISK, HighestRisk
from acegraph.state.run.lesson import Lesson
from acegraph.state.values import (
    BY,
    BY_ITSELF,
    REFINEMENT,
    Bullet,
    CaseTable,
    Condition,
    CostMatrix,
    Source,
    of_source,
)

if TYPE_CHECKING:
    from acegraph.state import BulletPlaybook

logger = logging.getLogger(__name__)

_SURE: Final = 1.64
"""Standard errors by which held-out cases must be explained better than by what stands. With costs
any gain counts: cases then weigh unequally, which makes the standard error larger. Any gain counts
too where rules are only left out, and where none stand."""
_FIRST_LOOK: Final = 100
"""From so many labelled cases on a stream is refined: at 100, 200, 400 and so on."""
_MOST_IN_A_RUN: Final = 2_000
"""Up to so many cases a run refines on its way; it takes some seconds. From more, a worker in the
background does (`learn_later`), or `acegraph train`."""


@dataclass(frozen=True)
class Refinement:
    """What a refinement changed."""

    added: tuple[str, ...]
    retired: tuple[str, ...]
    active: tuple[str, ...]
    """All that are active after it."""
    rule_set: RuleSet


def refine_if_due(playbook: BulletPlaybook, lesson: Lesson, curator: Curator) -> Refinement | None:
    """Refine the playbook of a stream if its labelled cases have doubled since the last look.

    The first lesson of a playbook is one bullet, as ever: from there on cases are counted. An agent
    of the caller's own keeps its bullets, because it knows nothing of those that are not shown.
    """
    settings = lesson.settings
    node, count = settings["node"], len(playbook.cases(settings["node"]))
    before, source = playbook.refined_from(node), settings["learn_as"]
    may_take_long = count <= _MOST_IN_A_RUN or settings.get("learn_later", False)
    counts_all = NO_LANGUAGE_MODEL in lesson.reasons or "decided_by" in settings
    is_due = may_take_long and _looks(count) > _looks(before) if before else True
    if not counts_all or not is_due:
        return None
    with playbook.writing():
        if playbook.refined_from(node) != before:
            return None  # another worker looks
        playbook.keep_refined_from(node, count)
    if not before:
        return None
    return refine(playbook, node, curator, source, settings.get("costs"), lesson=lesson)


def _looks(cases: int) -> int:
    """How many looks at the whole are due until there are so many labelled cases."""
    return (cases // _FIRST_LOOK).bit_length()


def refine(
    playbook: BulletPlaybook,
    node: str,
    curator: Curator,
    source: Source = "offline",
    costs: str | None = None,
    lesson: Lesson | None = None,
) -> Refinement | None:
    """Replace the bullets of a node by a set of rules that explains held-out cases better.

    With `costs`, as `AceContext` takes them, it is most exact where most is at stake. In a stream a
    `lesson` led to it: then only bullets of this `source` are replaced, so that what was trained
    can be frozen. None if no such set is proved, or if bullets of this playbook wait for a person
    or for no proof.
    """
    if curator.gate is None or curator.entry != "active":
        return None
    version, bullets = playbook.version, playbook.get_bullets_for_node(node, status=None)
    cases = playbook.cases(node)
    if lesson is None:
        playbook.keep_refined_from(node, len(cases))
    table = since_change(cases, bullets)
    active = [b for b in bullets if b.condition and b.status == "active"]
    own = [b for b in _replaceable(active, playbook) if not lesson or b.source == source]
    most = curator.capacity - len(active) + len(own)
    if lesson:
        active = of_source(active, lesson.settings["source"])
    staying = [b.condition for b in active if b.condition and b not in own]
    standing = [*staying, *(b.condition for b in own if b.condition)]
    if most <= 0:
        return None
    rule_set = best_rules(
        table,
        standing,
        most=most,
        costs=CostMatrix.parse(costs) if costs else None,
        staying=len(staying),
        is_stream=lesson is not None,
        signal=curator.gate.signal,
    )
    if rule_set is None or not _is_better(rule_set, standing, costs):
        return None
    with playbook.writing():
        is_learned = lesson is not None and playbook.lesson(lesson.decision_id) is not None
        if playbook.version != version or is_learned:
            playbook.keep_refined_from(node, len(cases) // 2)  # not done: the next lesson looks
            return None
        origin = _origin(version, curator, costs, lesson, rule_set.highest)
        adoption = _Adoption(playbook, curator, node, source, table, origin)
        return adoption.adopt(rule_set, own)


def _is_better(rule_set: RuleSet, standing: Sequence[Condition], costs: str | None) -> bool:
    """Whether the set should replace the rules that stand."""
    only_leaves_out = set(rule_set.conditions) < set(standing)
    is_any_enough = costs or only_leaves_out or not standing
    return rule_set.sureness_over_standing > (0.0 if is_any_enough else _SURE)


def _origin(
    version: int, curator: Curator, costs: str | None, lesson: Lesson | None, highest: HighestRisk
) -> dict[str, object]:
    """Where the new bullets come from, so that a purge can refine again in the same way, and the
    highest risk that was borne out.
    """
    origin: dict[str, object] = {"author": NO_LANGUAGE_MODEL, REFINEMENT: version}
    if highest.risk < 1:
        origin[HIGHEST_RISK] = asdict(highest)
    if costs:
        origin[COSTS] = costs
    if lesson:
        origin |= {"decision": lesson.decision_id, "label_source": lesson.label_source}
    return origin


@dataclass(frozen=True)
class _Adoption:
    """Makes a set of rules the bullets of a node, in one database transaction."""

    playbook: BulletPlaybook
    curator: Curator
    node: str
    source: Source
    table: CaseTable
    origin: Mapping[str, object]

    def adopt(self, rule_set: RuleSet, own: Sequence[Bullet]) -> Refinement:
        """Add the new rules, retire the bullets whose rules are not in the set, fit the weights.

        A rule that differs from a retired one by its cuts alone is a revision of that bullet.
        """
        why, wanted = rule_set.in_words, set(rule_set.conditions)
        retired = [b for b in own if b.condition not in wanted]
        known = {b.condition for b in self.playbook.get_bullets_for_node(self.node)}
        new = [condition for condition in rule_set.conditions if condition not in known]
        revised = _revised(retired, new)
        for bullet in retired:
            how = "revised" if bullet in revised.values() else "replaced"
            self.playbook.set_status(bullet.id, "retired", f"{how}; {why}", "curator")
        standing = self.playbook.get_bullets_for_node(self.node)
        added = [
            bullet_id
            for condition in new
            if (bullet_id := self._add(condition, revised.get(condition), standing, why))
        ]
        gone = {b.id for b in retired}
        while useless := self.curator.tend(self.node, self.playbook):
            gone.update(useless)
        active = tuple(b.id for b in self.playbook.get_bullets_for_node(self.node))
        kept = tuple(b for b in added if b not in gone)
        logger.info("refined: %d bullets added, %d retired", len(kept), len(gone))
        return Refinement(kept, tuple(sorted(gone)), active, rule_set)

    def _add(
        self, condition: Condition, before: Bullet | None, standing: Sequence[Bullet], why: str
    ) -> str | None:
        """Add a rule, unless it fails the screening that every proposal goes through."""
        draft, origin = Bullet("", condition.render(), self.node, self.source), dict(self.origin)
        if before:
            origin |= {"revises": before.id, "revision": before.revision + 1}
            why = f"revision {before.revision + 1} of {before.id}; {why}"
        draft = replace(draft, condition=condition, origin=origin)
        if self.curator.screen and self.curator.screen(proposal_of(draft, self.playbook)):
            return None
        tested = backtest(condition, self.table, log_odds_over(self.table, standing))
        return self.playbook.add_bullet(
            draft.content,
            self.node,
            self.source,
            condition=condition,
            status=self.curator.entry_of(draft),
            reason=why,
            proof="proven",
            evidence={**tested.to_json()},
            origin=draft.origin,
            related=(before.id,) if before else (),
        )


def _revised(retired: Sequence[Bullet], new: Sequence[Condition]) -> dict[Condition, Bullet]:
    """For each new rule the retired bullet that compares the same fields in the same way."""
    before = {_without_cuts(b.condition): b for b in retired if b.condition}
    found: dict[Condition, Bullet] = {}
    for condition in new:
        if bullet := before.pop(_without_cuts(condition), None):  # each is revised once
            found[condition] = bullet
    return found


def _without_cuts(condition: Condition) -> tuple[object, ...]:
    """What a rule compares, whatever the numbers at which it cuts."""
    is_cut = ("<", ">=", BY)
    tests = {(t.field, t.op, None if t.op in is_cut else t.value) for t in condition.comparisons}
    return (condition.verdict, frozenset(tests))


def _replaceable(active: Sequence[Bullet], playbook: BulletPlaybook) -> list[Bullet]:
    """The bullets that the embedded reflector wrote, and that no person has touched.

    What came without an origin, a program or a person has written.
    """
    touched = {row["bullet"] for row in playbook.history() if row["source"] not in BY_ITSELF}
    return [
        b
        for b in active
        if b.origin
        and b.origin.get("author", NO_LANGUAGE_MODEL) == NO_LANGUAGE_MODEL
        and "imported_from" not in b.origin
        and b.id not in touched
    ]
