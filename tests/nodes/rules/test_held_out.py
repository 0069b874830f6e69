"""Held-out cases: beside a refined set a further rule of a stream must save something."""

import numpy as np

from acegraph.nodes import Curator
from acegraph.nodes.rules.held_out import saves
from acegraph.state import Bullet, BulletPlaybook, Case, Condition
from acegraph.state.values.bullet import REFINEMENT
from acegraph.state.values.cases import CaseTable

NODE = "fraud_detection"
LARGE = Condition.parse("DECLINE when size >= 900")
WEB = Condition.parse('DECLINE when kind is "web"')


def cases(seed: int, in_the_web: float, n: int = 1_500) -> list[Case]:
    """Large payments are often fraud, of the others those in the web as often as is said here."""
    rng, found = np.random.default_rng(seed), []
    for i in range(n):
        size, kind = float(rng.integers(0, 1_000)), str(rng.choice(["shop", "fuel", "web"]))
        chance = 0.8 if size >= 900 else in_the_web if kind == "web" else 0.002
        answer = "DECLINE" if rng.random() < chance else "APPROVE"
        found.append(Case(f"c{i}", {"size": size, "kind": kind}, answer))  # type: ignore[arg-type]
    return found


def test_a_rule_saves_where_it_changes_decisions_for_the_better() -> None:
    standing = [Bullet("b1", LARGE.render(), NODE, condition=LARGE, origin={REFINEMENT: 1})]
    for seed in range(5):
        assert saves(WEB, CaseTable(cases(seed, 0.6)), standing)
        assert not saves(WEB, CaseTable(cases(seed, 0.06)), standing)


def test_beside_a_refined_set_a_rule_of_the_stream_must_save_something() -> None:
    """What is nearly as rare a fraud as before is declined neither with the rule nor without."""
    playbook, curator = BulletPlaybook(), Curator()
    playbook.remember(cases(3, 0.06), NODE)
    playbook.add_bullet(LARGE.render(), NODE, condition=LARGE, origin={REFINEMENT: 1})
    refused = curator.curate(WEB.render(), NODE, playbook, origin={"decision": "c1"})
    assert refused.action == "refused"
    assert refused.reason.startswith("beside a refined set a rule must save something")
    assert curator.curate(WEB.render(), NODE, playbook).action == "added"
