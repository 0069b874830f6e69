"""A policy: what accepts more risk waits for a second person, and runs do as it says."""

from pathlib import Path

import pytest
from command_line import from_json, run

from acegraph.graph import create_ace_graph
from acegraph.graph.operations.policies import approve_policy, propose, waiting_policy
from acegraph.state import AceContext, BulletPlaybook, InvalidSettings
from acegraph.state.errors import OutdatedVersion
from acegraph.state.run.context import settle

NODE = "fraud_detection"


@pytest.mark.parametrize(
    ("changes", "waits"),
    [
        ({"explore": 0.1}, True),
        ({"judge_bar": 0.7}, True),
        ({"review_from": 0.5}, True),
        ({"costs": {"missed_fraud": 1, "false_decline": 0.1}}, True),  # the cases decided before
        ({"mature_days": {"no_chargeback": 90}}, True),
        ({"judge_bar": 0.9, "review_to": 0.9, "review_from": 0.1}, False),
        ({"shadow": 3}, False),
    ],
)
def test_what_may_accept_more_risk_waits_for_a_second_person(
    playbook: BulletPlaybook, changes: dict[str, object], waits: bool
) -> None:
    propose(playbook, NODE, changes, "ann", "a try")
    assert (waiting_policy(playbook, NODE) is not None) == waits
    assert (playbook.policy(NODE).version == 0) == waits
    if waits:
        with pytest.raises(InvalidSettings, match="ann proposed it"):
            approve_policy(playbook, NODE, " Ann")
        approve_policy(playbook, NODE, "bob")
    assert waiting_policy(playbook, NODE) is None
    [version] = playbook.declarations("policy", NODE)
    assert (version["set_by"], version["approved_by"]) == ("ann", "bob" if waits else None)


def test_costs_are_safer_where_they_decline_more(playbook: BulletPlaybook) -> None:
    costs = {"missed_fraud": 1.0, "false_decline": 0.1}
    propose(playbook, NODE, {"costs": costs}, "ann", "prices", alone=True)
    propose(playbook, NODE, {"costs": {**costs, "false_decline": 0.05}}, "ann", "fewer")
    assert waiting_policy(playbook, NODE) is None
    looser = propose(playbook, NODE, {"costs": costs}, "ann", "more")
    assert looser.looser == ("false_decline",)
    propose(playbook, NODE, {"explore": 0.0, "costs": None}, "ann", "as before", alone=True)
    assert playbook.policy(NODE).costs is None


def test_a_change_that_waited_too_long_is_refused(playbook: BulletPlaybook) -> None:
    propose(playbook, NODE, {"explore": 0.1}, "ann", "labels")
    propose(playbook, NODE, {"judge_bar": 0.9}, "bob", "a better judge")
    with pytest.raises(OutdatedVersion, match="set yours again"):
        approve_policy(playbook, NODE, "bob")


@pytest.mark.parametrize("changes", [{"explore": 2}, {"limits": 1}, {"explore": "much"}])
def test_what_cannot_be_meant_is_refused(playbook: BulletPlaybook, changes: object) -> None:
    with pytest.raises(InvalidSettings, match="policy"):
        propose(playbook, NODE, changes, "ann", "why", alone=True)  # type: ignore[arg-type]
    assert playbook.declarations("policy", NODE) == []


def test_a_run_does_as_the_policy_says_unless_it_is_asked_otherwise(
    playbook: BulletPlaybook,
) -> None:
    propose(playbook, NODE, {"explore": 1.0}, "ann", "all labels", alone=True)
    graph = create_ace_graph(playbook=playbook, agent=lambda case: "DECLINE").compile()
    done = graph.invoke({"transaction": {"amount": 5}, "decision_id": "d1"})
    assert done["decision"] == "APPROVE"  # let through, so that it gets a label
    assert playbook.decision("d1")["settings"]["policy_version"] == 1
    assert settle(playbook, AceContext(policy={"explore": 0.5}))["explore"] == 0.5
    assert settle(playbook, AceContext(node="another"))["explore"] == 1.0


def test_the_command_shows_proposes_and_approves(tmp_path: Path) -> None:
    assert "says so" in run(tmp_path, "policy", "judge_bar=0.8", "--why", "x", code=2).stderr
    assert run(tmp_path, "policy").stdout.startswith("  version: 0\n")
    words = ("policy", "explore=0.02", "mature_days=no_chargeback=90")
    assert "--why is wanted" in run(tmp_path, *words, code=2).stderr
    said = run(tmp_path, *words, "--why", "labels", "--who", "ann").stdout
    assert "waiting: content explore 0.02, mature_days no_chargeback 90" in said
    assert (
        "ask somebody else" in run(tmp_path, "policy", "--approve", "--who", "ann", code=2).stderr
    )
    run(tmp_path, "policy", "--approve", "--who", "bob")
    shown = from_json(run(tmp_path, "policy", "--json"))
    assert (shown["policy"]["explore"], shown["waiting"]) == (0.02, None)
    run(tmp_path, "policy", "explore=", "--why", "enough")
    assert from_json(run(tmp_path, "policy", "--json"))["policy"]["explore"] == 0.0
