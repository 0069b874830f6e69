"""The curator: duplicates, twins that are none, evidence, bounds."""

import numpy as np
import pytest

from acegraph.nodes import Curator
from acegraph.nodes.curator.capacity import expired
from acegraph.state import Bullet, BulletPlaybook, Case, Condition

NODE = "fraud_detection"

TEN = "Decline when a card makes more than 10 purchases per hour, 90% of these are fraud"


def merged(*texts: str, **settings: object) -> list[str | None]:
    playbook, curator = BulletPlaybook(), Curator(**settings)  # type: ignore[arg-type]
    return [curator.merge_bullet(text, NODE, playbook) for text in texts]


def labelled(playbook: BulletPlaybook, n: int = 200, seed: int = 0) -> None:
    """Cases in which fraud is amount >= 100, but for one in twenty."""
    rng = np.random.default_rng(seed)
    past = []
    for i in range(n):
        amount, noise = float(rng.integers(1, 200)), float(rng.integers(0, 100))
        is_fraud = (amount >= 100) != (rng.random() < 0.05)
        label = "DECLINE" if is_fraud else "APPROVE"
        past.append(Case(f"h{i}", {"amount": amount, "noise": noise}, label))  # type: ignore[arg-type]
    playbook.remember(past, NODE)


@pytest.mark.parametrize(
    "again",
    [TEN, TEN.upper(), TEN.replace("90%", "95%"), TEN.replace("purchases", "purchase"), TEN + "."],
)
def test_a_text_that_says_the_same_is_a_duplicate(again: str) -> None:
    assert merged(TEN, again) == ["b1", None]


@pytest.mark.parametrize(
    "twin",
    [
        TEN.replace("Decline", "Approve").replace("fraud", "legitimate"),
        TEN.replace("10", "50"),
        TEN.replace("more than", "less than"),
        TEN.replace("per hour", "by proxy"),
    ],
)
def test_a_twin_that_says_something_else_is_added_and_linked(twin: str) -> None:
    playbook, curator = BulletPlaybook(), Curator()
    curator.merge_bullet(TEN, NODE, playbook)
    bullet_id = curator.merge_bullet(twin, NODE, playbook)
    assert bullet_id is not None
    assert playbook.get_bullet(bullet_id).related == ("b1",)


def test_equal_conditions_in_another_order_are_duplicates() -> None:
    assert merged(
        "DECLINE when amount >= 100 and vpn is true", "DECLINE when vpn is true and amount >= 100"
    ) == ["b1", None]


def test_duplicates_are_looked_for_in_the_same_node_only() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    assert curator.merge_bullet(TEN, NODE, playbook)
    assert curator.merge_bullet(TEN, "another_node", playbook)


def test_without_labelled_history_a_rule_is_a_candidate() -> None:
    playbook = BulletPlaybook()
    bullet_id = Curator().merge_bullet("DECLINE when amount >= 100", NODE, playbook)
    assert bullet_id is not None
    bullet = playbook.get_bullet(bullet_id)
    assert (bullet.status, bullet.proof, bullet.is_on_trial) == ("candidate", "unproven", True)


def test_without_a_gate_what_is_merged_is_active() -> None:
    playbook, curator = BulletPlaybook(), Curator(gate="off")
    for text in ("DECLINE when amount >= 100", "Decline crypto at night", "APPROVE when hour >= 9"):
        bullet_id = curator.merge_bullet(text, NODE, playbook)
        assert bullet_id is not None
        assert playbook.get_bullet(bullet_id).status == "active"


def test_a_rule_that_the_cases_bear_out_is_proven_and_weighed() -> None:
    playbook = BulletPlaybook()
    labelled(playbook)
    found = Curator().curate("DECLINE when amount >= 100", NODE, playbook)
    assert found.bullet_id is not None
    bullet = playbook.get_bullet(found.bullet_id)
    assert bullet.proof == "proven"
    assert bullet.evidence["precision"] > 0.9
    assert bullet.evidence["precision_low"] < bullet.evidence["precision"]
    assert bullet.weight is not None
    assert bullet.weight > 1


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("DECLINE when noise >= 50", "chance"),
        ("DECLINE when amount < 100", "chance"),
        ("DECLINE when amount >= 5000", "too few"),
    ],
)
def test_a_rule_that_the_cases_do_not_bear_out_is_refused(rule: str, why: str) -> None:
    playbook = BulletPlaybook()
    labelled(playbook)
    found = Curator().curate(rule, NODE, playbook)
    assert (found.action, found.bullet_id) == ("refused", None)
    assert why in found.reason
    assert len(playbook) == 0


def test_a_rule_that_adds_nothing_is_refused() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    labelled(playbook)
    curator.merge_bullet("DECLINE when amount >= 100", NODE, playbook)
    found = curator.curate("DECLINE when amount >= 99 and noise < 1000", NODE, playbook)
    assert found.action == "refused"


SAME, OPPOSITE = "fires on the same cases as b1", "fires where b1 does not, and says the same"


@pytest.mark.parametrize(
    ("rule", "cut", "why", "is_refused"),
    [
        ("DECLINE when amount >= 93", 93, SAME, True),
        ("DECLINE when amount >= 85", 85, SAME, False),
        ("APPROVE when amount < 93", 93, OPPOSITE, True),
        ("APPROVE when amount < 75", 75, OPPOSITE, False),
    ],
)
def test_a_rule_that_says_what_another_says_is_refused(
    rule: str, cut: int, why: str, is_refused: bool
) -> None:
    playbook, curator = BulletPlaybook(), Curator()
    past = [
        Case(str(i), {"amount": float(i % 200)}, "DECLINE" if i % 200 >= cut else "APPROVE")
        for i in range(1000)
    ]
    playbook.remember(past, NODE)
    assert curator.curate("DECLINE when amount >= 100", NODE, playbook).action == "added"
    curation = curator.curate(rule, NODE, playbook)
    assert (curation.reason == why) is is_refused
    assert (curation.action == "added") is not is_refused


def test_the_gate_can_be_switched_off() -> None:
    playbook = BulletPlaybook()
    labelled(playbook)
    found = Curator(gate="off").curate("DECLINE when noise >= 50", NODE, playbook)
    assert found.action == "added"


def test_a_full_playbook_retires_its_least_useful_bullet() -> None:
    playbook, curator = BulletPlaybook(), Curator(capacity=2, gate="off")
    for text in ("Gift cards at night", "Crypto through a proxy"):
        curator.merge_bullet(text, NODE, playbook)
    playbook.update_stats("b2", True)
    curator.merge_bullet("Small payments in quick succession", NODE, playbook)
    assert [b.id for b in playbook.get_bullets_for_node(NODE)] == ["b2", "b3"]
    assert "least useful" in playbook.history()[-1]["reason"]


def test_a_retired_rule_that_proves_itself_again_is_revived() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    labelled(playbook)
    curator.merge_bullet("DECLINE when amount >= 100", NODE, playbook)
    playbook.set_status("b1", "retired", "holiday", "curator")
    found = curator.curate("DECLINE when amount >= 100", NODE, playbook)
    assert (found.action, found.bullet_id) == ("revived", "b1")
    assert playbook.get_bullet("b1").status == "active"


def test_a_decision_adds_its_bullet_once() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    origin = {"decision": "d1"}
    first = curator.curate("Gift cards at night", NODE, playbook, origin=origin)
    again = curator.curate("Gift cards at night", NODE, playbook, origin=origin)
    assert first.bullet_id == again.bullet_id == "b1"
    assert len(playbook) == 1


def test_a_rule_whose_cause_is_gone_is_retired() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    labelled(playbook, 100)
    curator.merge_bullet("DECLINE when amount >= 100", NODE, playbook)
    assert Condition.parse("DECLINE when amount >= 100") == playbook.get_bullet("b1").condition
    flipped = [
        Case(f"f{i}", {"amount": float(i), "noise": 0.0}, "APPROVE" if i >= 100 else "DECLINE")
        for i in range(200)
    ]
    playbook.remember(flipped, NODE)
    assert curator.tend(NODE, playbook) == ["b1"]
    assert playbook.get_bullet("b1").status == "retired"


def test_of_equals_a_full_playbook_retires_the_oldest() -> None:
    playbook, curator = BulletPlaybook(), Curator(capacity=2, gate="off")
    for text in ("Decline gift cards at night", "Decline wire transfers abroad"):
        playbook.add_bullet(text, NODE)
    assert curator.curate("Decline tickets resold by phone", NODE, playbook).retired == ("b1",)
    playbook.set_status("b1", "active", "wanted back")
    assert playbook.get_bullet("b1").status == "active"


def test_a_playbook_far_over_its_capacity_keeps_the_best() -> None:
    playbook = BulletPlaybook()
    for i in range(30):
        playbook.add_bullet(f"{i} {'abcdefghij'[i % 10] * i}", NODE)
    for i in (3, 17, 29):
        playbook.update_stats(f"b{i}", True)
    assert len(Curator(capacity=3).tend(NODE, playbook)) == 27
    assert [b.id for b in playbook.get_bullets_for_node(NODE)] == ["b3", "b17", "b29"]


def test_text_that_is_cleaned_is_recognised_when_it_comes_again() -> None:
    playbook, curator = BulletPlaybook(), Curator()
    odd = "Decline odd\u200b things at night "
    first, again = (
        curator.curate(odd, "fraud_detection", playbook, origin={"decision": "d1"})
        for _ in range(2)
    )
    assert first.bullet_id == again.bullet_id == "b1"


def test_the_newest_candidate_stays_where_every_author_has_one() -> None:
    waiting = [
        Bullet(f"b{i}", f"rule {i}", NODE, origin={"author": f"author {i}"}) for i in (1, 2, 3)
    ]
    gone = [bullet.id for bullet, _ in expired(waiting, room=1, keep="b1")]
    assert gone == ["b2", "b3"]
