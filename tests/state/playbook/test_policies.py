"""A policy counts at once and for all who use a playbook; of two writers one is told."""

from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import pytest
from hidden import hiding

from acegraph.graph import create_ace_graph
from acegraph.state import AceContext, BulletPlaybook, InvalidSettings, PlaybookError
from acegraph.state.database.migrations import hidden_in, policy_in
from acegraph.state.errors import OutdatedVersion
from acegraph.state.gone import SETTINGS
from acegraph.state.task.policy import Policy

RISKY = {"amount": 2500.0, "hour": 3, "vpn": True}


def decided(playbook: BulletPlaybook, given: dict[str, Any], name: str, **policy: Any) -> Any:
    context = AceContext(policy=policy or None)
    graph = create_ace_graph(playbook=playbook).compile()
    return graph.invoke({"transaction": given, "decision_id": name}, context=context)


def test_a_node_without_a_policy_has_that_of_fraud_detection(playbook: BulletPlaybook) -> None:
    assert playbook.policy("cards") == Policy()
    playbook.set_policy(Policy(explore=0.1))
    assert (playbook.policy().explore, playbook.policy("cards").explore) == (0.1, 0.1)
    playbook.set_policy(Policy(explore=0.2), "cards")
    assert (playbook.policy().explore, playbook.policy("cards").explore) == (0.1, 0.2)


def test_who_read_an_older_policy_is_told(playbook: BulletPlaybook) -> None:
    playbook.set_policy(Policy(explore=0.1))
    read = playbook.policy()
    playbook.set_policy(replace(read, judge_bar=0.9), by="ann")
    with pytest.raises(OutdatedVersion, match="which ann set"):
        playbook.set_policy(replace(read, explore=0.3), by="bob")
    assert playbook.policy() == Policy(explore=0.1, judge_bar=0.9, version=2)


def _set(url: str, name: str) -> str:
    with BulletPlaybook(url) as book:
        try:
            book.set_policy(Policy(explore=0.5, version=1), by=name)
        except PlaybookError as error:
            return type(error).__name__
    return name


@pytest.mark.slow  # the first one of test_declarations.py is not
def test_of_two_processes_that_set_a_policy_at_once_one_wins_and_the_other_is_told(
    lasting_url: str,
) -> None:
    with BulletPlaybook(lasting_url) as book:
        book.set_policy(Policy(explore=0.1))
    with get_context("spawn").Pool(2) as pool:
        said = pool.starmap(_set, [(lasting_url, "ann"), (lasting_url, "bob")])
    with BulletPlaybook(lasting_url) as book:
        (winner,) = {"ann", "bob"} & set(said)
        assert set(said) == {winner, "OutdatedVersion"}
        assert [one["set_by"] for one in book.declarations("policy", "fraud_detection")][1:] == [
            winner
        ]


def test_a_limit_declines_from_its_risk_on() -> None:
    playbook = BulletPlaybook()
    assert decided(playbook, RISKY, "a")["decision"] == "DECLINE"
    playbook.set_policy(Policy(limit=0.99))
    found = decided(playbook, RISKY, "b")
    assert found["decision"] == "APPROVE"
    assert any("0.99, by the policy" in reason for reason in found["reasons"])
    costs = {"missed_fraud": 1.0, "false_decline": 0.1}
    assert decided(playbook, RISKY, "c", costs=costs)["decision"] == "DECLINE"
    assert playbook.decision("c")["settings"]["policy"] == {"costs": costs}


def test_what_is_expected_decides_only_where_the_policy_says_so() -> None:
    playbook = BulletPlaybook()
    doubtful = {"amount": "plenty", "hour": 14, "vpn": True}
    assert decided(playbook, doubtful, "a")["decision"] == "UNDECIDED"
    playbook.set_policy(Policy(undecided="expect"))
    assert decided(playbook, doubtful, "b")["decision"] == "APPROVE"


def test_a_decision_keeps_the_version_of_its_policy() -> None:
    playbook = BulletPlaybook()
    decided(playbook, RISKY, "a")
    playbook.set_policy(Policy(explore=0.0, judge_bar=0.9))
    decided(playbook, RISKY, "b")
    assert [playbook.decision(i)["policy_version"] for i in ("a", "b")] == [None, 1]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_is_gone_says_where_it_went(name: str) -> None:
    with pytest.raises(InvalidSettings, match=f"^setting '{name}' is gone: .*{SETTINGS[name][:9]}"):
        AceContext(**{name: 1})


def test_a_payment_that_was_stored_before_a_field_was_hidden_is_still_known() -> None:
    playbook, given = BulletPlaybook(), {"amount": 20, "who": "Ann"}
    first = decided(playbook, given, "a")
    hiding(["who"], playbook)
    before = playbook.clock.position
    assert decided(playbook, given, "a")["decision"] == first["decision"]
    assert playbook.clock.position == before


def test_the_words_of_a_hidden_field_are_not_kept_in_the_task() -> None:
    task = BulletPlaybook().task()
    hidden = task.hiding(["country", "who"])
    words = {one.name: one.words for one in hidden.fields if not one.stored}
    assert words == {"country": (), "who": ()}


def test_old_settings_become_a_policy_and_what_one_hid_stays_hidden() -> None:
    old = [
        {"costs": "missed_fraud=1,false_decline=0.1", "base_rate": None, "redact": ["card"]},
        {"base_rate": 0.02, "mature_days": {"no_chargeback": 90}, "redact": []},
        {"mature_days": {"no_chargeback": 30, "bank": 5}, "redact": ["who"]},
    ]
    policy = policy_in(old)
    assert policy.costs == {"missed_fraud": 1.0, "false_decline": 0.1}
    assert (policy.base_rate, policy.mature_days) == (None, {"no_chargeback": 90, "bank": 5})
    assert hidden_in(old) == ["card", "who"]
