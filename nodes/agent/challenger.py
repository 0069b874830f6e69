"""A challenger: another version of the playbook that decides beside the live one, by its rules.

What it decides is called the shadow of a decision. It moves no counter; it is stored with the
decision, and graph/experiments/experiment.py compares the two when labels are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import cast

from acegraph.nodes.evidence.backtest import can_prove
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.rules.weights import fitted_weights
from acegraph.state import AceState, BulletPlaybook
from acegraph.state.maintenance.versions import bullets_at
from acegraph.state.run.schema import ChallengerDecision, RunSettings
from acegraph.state.values import Bullet, CaseTable, Verdict


@dataclass(frozen=True)
class Challenger:
    """Decides by the rules of another version of a playbook."""

    playbook: BulletPlaybook
    versions: dict[tuple[int, str], list[Bullet]] = field(default_factory=dict)
    """The bullets of versions by number and node, each read when first needed."""

    def decide(self, state: AceState, settings: RunSettings) -> ChallengerDecision:
        """What the version named in the settings decides on the transaction of a run."""
        version, node, case = settings["challenger"], settings["node"], state["case"]
        assert version is not None
        if (version, node) not in self.versions:
            self.versions[version, node] = active_at(self.playbook, version, node)
        ruleset = Ruleset.of(self.playbook, settings, self.versions[version, node])
        ruling = ruleset.decide(
            case["fields"], dict(map(itemgetter("field", "why"), state["doubts"]))
        )
        found: ChallengerDecision = {
            "version": version,
            "decision": None if ruling.undecided else cast(Verdict, ruling.decision),
            "risk_score": ruling.risk,
            "bullets": [bullet.id for bullet in ruling.fired],
        }
        return {**found, "undecided": ruling.undecided} if ruling.undecided else found


def ruleset_at(playbook: BulletPlaybook, version: int, settings: RunSettings) -> Ruleset:
    """The rules of a version, on the scale of today's labelled cases."""
    bullets = active_at(playbook, version, settings["node"])
    return replace(Ruleset.of(playbook, settings, bullets), version=version)


def active_at(playbook: BulletPlaybook, version: int, node: str) -> list[Bullet]:
    """The active bullets of a version.

    The weight of a bullet depends on the bullets active with it. Where those differ from today's,
    the weights are fitted again on today's labelled cases.
    """
    bullets = bullets_at(playbook, version)
    active = [b for b in bullets if b.node == node and b.status == "active"]
    if _identities(active) == _identities(playbook.get_bullets_for_node(node)):
        return active
    return _refit(active, playbook.cases(node))


def _identities(bullets: Sequence[Bullet]) -> set[tuple[str, str]]:
    return {(b.id, b.content) for b in bullets}


def _refit(active: Sequence[Bullet], table: CaseTable) -> list[Bullet]:
    checkable = [b for b in active if b.condition]
    if not checkable or not can_prove(table):
        return [replace(b, weight=None) for b in active]
    weights = dict(zip((b.id for b in checkable), fitted_weights(table, checkable), strict=True))
    return [replace(b, weight=weights.get(b.id, b.weight)) for b in active]
