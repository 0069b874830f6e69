"""Monitoring: what is alerted, and what is not."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from acegraph.graph.operations.decide import decide_many
from acegraph.graph.operations.feedback import feedback_many, read_label
from acegraph.graph.operations.monitoring.watch import Watch, watch
from acegraph.state import AceInput, BulletPlaybook, Case, Policy
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task

NODE = "fraud_detection"


def payment(number: int, factor: float = 1.0) -> dict[str, Any]:
    usual = 10 + (number * 37) % 90
    return {"amount": factor * usual, "hour": number % 24, "channel": ("web", "app")[number % 2]}


@pytest.fixture(scope="module")
def trained() -> Iterator[BulletPlaybook]:
    """A playbook with 400 cases of files, and a bullet that was proved on them."""
    with BulletPlaybook() as book:
        ids = [f"table:{i:08}:x" if i % 2 else f"history:{NODE}:{i}" for i in range(400)]
        rows = [Case(name, payment(i), "APPROVE") for i, name in enumerate(ids)]
        book.remember(rows, NODE)
        proved = {"fires": 60, "precision": 0.9}
        book.add_bullet("DECLINE when amount >= 95", NODE, evidence=proved)
        yield book


@pytest.fixture
def playbook(trained: BulletPlaybook) -> Iterator[BulletPlaybook]:
    with trained.fork() as book:
        yield book


def decide(book: BulletPlaybook, count: int, factor: float = 1.0) -> None:
    given: list[AceInput] = [
        {"transaction": payment(i, factor), "decision_id": f"d{i}"} for i in range(count)
    ]
    assert all(isinstance(one, dict) for one in decide_many(book, given))


def give_labels(book: BulletPlaybook, count: int, days_ago: float = 0) -> None:
    at = (datetime.now(UTC) - timedelta(days=days_ago)).isoformat()
    labels = [{"decision_id": f"d{i}", "label": "APPROVE", "at": at} for i in range(count)]
    report = feedback_many(book, [read_label(one) for one in labels], learn=False)
    assert report.changed == count


def kinds(found: Watch) -> set[tuple[str, str]]:
    return {(alert.kind, alert.name) for alert in found.alerts}


def test_payments_like_those_of_the_training_are_no_alert(playbook: BulletPlaybook) -> None:
    decide(playbook, 200)
    found = watch(playbook)
    assert found.alerts == []
    assert (found.decisions, found.trained) == (200, 400)
    assert found.stability.keys() == {"risk", "amount", "hour", "channel"}
    assert max(found.stability.values()) < 0.1


def test_a_field_that_moved_is_named_and_one_that_did_not_is_not(playbook: BulletPlaybook) -> None:
    decide(playbook, 200, factor=4.0)
    assert kinds(watch(playbook)) >= {("drift", "amount"), ("drift", "risk")}
    assert not {("drift", "hour"), ("drift", "channel")} & kinds(watch(playbook))


def test_too_few_payments_tell_nothing(playbook: BulletPlaybook) -> None:
    decide(playbook, 20, factor=4.0)
    assert watch(playbook).stability == {}


def test_a_bullet_that_turned_bad_is_named(playbook: BulletPlaybook) -> None:
    decide(playbook, 20, factor=20.0)  # all above its threshold
    give_labels(playbook, 20)
    (alert,) = [one for one in watch(playbook).alerts if one.kind == "bullet"]
    assert (alert.name, "0 times of 20" in alert.text) == ("b1", True)
    later = datetime.now(UTC) + timedelta(days=30)
    assert watch(playbook, now=later).alerts == []  # what it did before that is no news


def test_labels_that_stopped_coming_are_an_alert(playbook: BulletPlaybook) -> None:
    decide(playbook, 20)
    give_labels(playbook, 12, days_ago=3)
    assert ("labels", "labels") in kinds(watch(playbook, days=2))
    assert ("labels", "labels") not in kinds(watch(playbook, days=7))


def test_a_queue_that_is_too_long_is_an_alert(playbook: BulletPlaybook) -> None:
    playbook.add_bullet("APPROVE when hour < 2", NODE, status="candidate")
    assert ("queue", "review") in kinds(watch(playbook, most_waiting=0))
    assert watch(playbook, most_waiting=1).alerts == []


def test_declines_without_labels_are_not_known_to_be_right(playbook: BulletPlaybook) -> None:
    assert watch(playbook).declines_right == {}
    decide(playbook, 20, factor=20.0)
    assert watch(playbook).declines_right == {"low": 0.0, "high": 1.0}
    give_labels(playbook, 20)
    assert watch(playbook).declines_right["mean"] == 0.0


def test_outcomes_that_never_come_are_an_alert_once_they_should_have() -> None:
    def outcomes_missing(book: BulletPlaybook, days: float) -> list[str]:
        found = watch(book, now=datetime.now(UTC) + timedelta(days=days))
        return [alert.text for alert in found.alerts if alert.name == "outcomes"]

    with BulletPlaybook() as book:
        rows = [
            Case(f"c{i}", payment(i), "DECLINE" if i % 4 == 0 else "APPROVE") for i in range(40)
        ]
        book.remember(rows, NODE)
        book.add_bullet("DECLINE when amount >= 1000", NODE)
        decide(book, 30)
        assert [outcomes_missing(book, days) for days in (20, 70)] == [[], []]
        approved = [book.decision(f"d{i}")["decision"] for i in range(30)].count("APPROVE")
        assert 10 < approved < 30  # of the others no outcome can come
        told = f"no outcome is known of {approved} payments decided 30 to 60 days ago"
        assert outcomes_missing(book, 45) == [told]
        book.set_policy(Policy(mature_days={"no_chargeback": 60}))
        assert outcomes_missing(book, 45) == []
        book.set_policy(Policy())
        give_labels(book, 1)
        assert outcomes_missing(book, 45) == []


def test_where_fraud_is_rare_some_payments_without_an_outcome_are_no_alert() -> None:
    with BulletPlaybook() as book:
        rows = [
            Case(f"c{i}", payment(i), "DECLINE" if i % 50 == 0 else "APPROVE") for i in range(800)
        ]
        book.remember(rows, NODE)
        decide(book, 60)
        found = watch(book, now=datetime.now(UTC) + timedelta(days=45))
        assert not [alert for alert in found.alerts if alert.name == "outcomes"]


def test_a_rule_that_declines_and_gets_no_outcome_is_named_unless_something_is_explored() -> None:
    """Payments of 90 days; of those that the rule declines none has a label after the 50th."""
    when = Field("paid_at", "time", role="time")
    with BulletPlaybook() as book:
        book.set_task(Task("cards", (when, Field("amount", "number", role="amount"))), NODE)
        start, rows = datetime(2025, 3, 1, tzinfo=UTC), list[Case]()
        for i in range(360):
            amount, day = float(i % 10), i // 4
            if day <= 50 or amount < 8:
                paid_at = (start + timedelta(days=day)).isoformat()
                rows.append(Case(f"c{i}", {"paid_at": paid_at, "amount": amount}, "APPROVE"))
        book.remember(rows, NODE)
        silent = book.add_bullet("DECLINE when amount >= 8", NODE)
        book.add_bullet("DECLINE when amount < 2", NODE)
        book.add_bullet("APPROVE when amount >= 8 and amount < 9", NODE)
        (alert,) = watch(book).alerts
        assert (alert.kind, alert.name) == ("bullet", silent)
        assert "no outcome for 40 days" in alert.text
        book.set_policy(Policy(explore=0.02), NODE)
        assert watch(book).alerts == []
