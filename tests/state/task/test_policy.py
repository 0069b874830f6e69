"""What a policy refuses, and its form as data."""

import pytest

from acegraph.state.errors import InvalidSettings
from acegraph.state.task.policy import Policy


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"costs": {"missed_fraud": -1}}, "cost missed_fraud is a number from 0"),
        ({"costs": {"missed_fraud": 0, "false_decline": 0}}, "a missed fraud costs something"),
        (
            {"costs": {"missed_fraud": 1e308}},
            "cost missed_fraud is a number from 0 to 1,000,000,000",
        ),
        ({"costs": {"fraud": 1}}, "no cost 'fraud'"),
        ({"limit": 0}, "limit lies between 0 and 1"),
        ({"base_rate": 1}, "base_rate lies between 0 and 1"),
        ({"explore": 1.5}, "explore is a share from 0 to 1"),
        ({"review_from": 0.7}, "review_from 0.7 is above review_to 0.6"),
        ({"limit": 0.5, "costs": {"missed_fraud": 1}}, "either costs or a limit"),
        ({"mature_days": {"bank": -1}}, "mature_days of 'bank'"),
    ],
)
def test_what_cannot_be_meant_is_refused(wrong, said):
    with pytest.raises(InvalidSettings, match=said):
        Policy(**wrong)


def test_only_what_is_unusual_is_written_and_it_comes_back():
    policy = Policy(costs={"missed_fraud": 1, "false_decline": 0.2}, explore=0.05, version=3)
    assert policy.to_json().keys() == {"costs", "explore", "version"}
    assert Policy.from_json(policy.to_json()) == policy


def test_a_wrong_key_is_one_line():
    with pytest.raises(InvalidSettings, match=r"^policy: explor: Unexpected"):
        Policy.from_json({"explor": 0.1})
