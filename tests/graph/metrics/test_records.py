"""What a rule does on labelled cases, and what the playbook would not do without it."""

from collections import Counter
from dataclasses import replace

from acegraph.graph.metrics.intervals import Share
from acegraph.graph.metrics.records import Cases, Counts, Standing, standings_of
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.state import BulletPlaybook, Case, Condition, Field, Policy, Task
from acegraph.state.values.cases import CaseTable

NODE = "fraud_detection"


def test_a_rule_adds_what_the_playbook_declines_because_of_it() -> None:
    playbook = BulletPlaybook(task=Task("numbers", (Field("x", "number"),)))
    for text in ("DECLINE when x >= 4", "DECLINE when x >= 8"):
        playbook.add_bullet(text, NODE)
    prose = playbook.get_bullet(playbook.add_bullet("look twice", NODE))
    rows = (Case(f"c{i}", {"x": i}, "DECLINE" if i >= 5 else "APPROVE") for i in range(10))
    cases, ruleset = Cases(CaseTable(rows)), Ruleset.of(playbook)
    first, second = (cases.record_of(playbook.get_bullet(name), ruleset) for name in ("b1", "b2"))
    assert first is not None
    assert second is not None
    assert (first.right, first.added) == (Share(5, 6), Counts(4, 3, 1))
    assert (second.right, second.added) == (Share(2, 2), Counts())
    assert cases.record_of(prose, ruleset) is None


def test_a_rule_was_last_right_on_a_payment_and_not_when_its_label_came() -> None:
    task = Task("numbers", (Field("at", "time", "time"), Field("x", "number")))
    days = ("2026-03-01", "2026-01-13", "2026-01-02", "2026-02-01")
    rows = [
        Case(f"c{i}", {"at": day, "x": i}, label, known_at=f"2027-01-0{i + 1}")
        for i, day in enumerate(days)
        for label in ["DECLINE" if i in (1, 2) else "APPROVE"]
    ]
    playbook, table = BulletPlaybook(task=task), CaseTable(rows)
    bullet, never, prose = (
        playbook.get_bullet(playbook.add_bullet(text, NODE))
        for text in ("DECLINE when x >= 0", "DECLINE when x >= 3", "look twice")
    )
    assert Standing.of(bullet, Cases(table)).last_right == "2027-01-03"
    trained = CaseTable(replace(row, id=f"history:{row.id}") for row in rows)
    assert Standing.of(bullet, Cases(trained)).last_right == ""
    table.task = task
    found = [Standing.of(one, Cases(table)).last_right for one in (bullet, never, prose)]
    assert found == ["2026-01-13", "", ""]


def test_where_fraud_is_rare_a_rule_is_measured_by_the_usual_share() -> None:
    playbook = BulletPlaybook()
    bullet = playbook.get_bullet(playbook.add_bullet("DECLINE when x >= 95", NODE))
    rows = [
        Case(f"c{i}", {"x": i}, "DECLINE" if i >= 98 else "APPROVE", weight=1.0 if i >= 98 else 4.0)
        for i in range(100)
    ]
    # Two of 394 payments are frauds, and two of 14 where it fires.
    assert Standing.of(bullet, Cases(CaseTable(rows))).lift == round(2 / 14 / (2 / 394), 1) == 28.1
    assert Standing.of(bullet, Cases(CaseTable(rows[90:]))).lift is not None
    assert Standing.of(bullet, Cases(CaseTable(rows[96:]))).lift is None


def paid(policy: Policy, **weights: float) -> dict[str, Standing]:
    """What labelled payments of two weeks, 2 of 100 frauds, say of rules with weights."""
    fields = Field("at", "time", "time"), Field("price", "number", "amount"), Field("x", "number")
    playbook = BulletPlaybook(task=Task("shop", fields))
    playbook.set_policy(policy, NODE, by="ann", reason="prices")
    rows = [
        Case(
            f"c{i}",
            {"at": f"2026-03-{1 + i * 14 // 99:02}", "price": 100.0 + i, "x": i},
            "DECLINE" if i >= 98 else "APPROVE",
        )
        for i in range(100)
    ]
    playbook.remember_table(rows, Counter(one.label for one in rows), NODE)
    rules = {f"DECLINE when x >= {name[1:]}": weight for name, weight in weights.items()}
    ids = [playbook.add_bullet(text, NODE, weight=weight) for text, weight in rules.items()]
    bullets = [playbook.get_bullet(one) for one in ids]
    return standings_of(playbook, bullets)


def test_with_costs_a_rule_is_measured_in_money_by_the_dates_of_payments() -> None:
    costs = Policy(costs={"missed_fraud": 1.0, "false_decline": 0.1})
    first, second = paid(costs, x94=9.0, x98=0.01).values()
    # In two weeks 198 and 199 are saved, and a tenth of 194 to 197 is lost.
    assert first.saved_a_week == round((198 + 199 - 78.2) / 2, 2)
    assert first.stopped_a_day == round(4 / 14, 3)
    assert (second.lift, second.saved_a_week, second.stopped_a_day) == (50, 0, 0)
    assert paid(Policy(), x94=9.0)["b1"].saved_a_week is None


def test_groups_of_a_protected_field_have_their_own_records() -> None:
    table = CaseTable(
        Case(f"c{i}", {"x": i, "sex": "FM"[i % 2]}, "DECLINE" if i >= 8 else "APPROVE")
        for i in range(12)
    )
    rule = Condition.parse("DECLINE when x >= 5")
    assert Cases(table).by_group(rule) == {}
    table.task = Task("t", (Field("x", "number"), Field("sex", "category", "protected")))
    told = {
        one.name: (one.rows, one.right, one.wrong) for one in Cases(table).by_group(rule)["sex"]
    }
    assert told == {"F": (6, Share(2, 3), Share(1, 4)), "M": (6, Share(2, 4), Share(2, 4))}
