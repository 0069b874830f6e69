"""Words of a memo as conditions: learned if they are the cause, and never a way to be approved."""

from dataclasses import replace

import numpy as np
import pytest

from acegraph.graph import TrainingPipeline, create_ace_graph
from acegraph.graph.data.files import Item
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.training.known_rows import as_case
from acegraph.nodes import Curator
from acegraph.state import AceContext, BulletPlaybook, Field, InvalidSettings, Task

EMBEDDED = AceContext(agent_model="embedded", reflector_model="embedded")
HONEST = ["rent as agreed", "dinner on friday", "a birthday card", "gift for my sister", "shoes"]
NODE = EMBEDDED.node
TASK = Task(
    "payments",
    (
        Field("paid", "number"),
        Field("customer_id", "category", role="entity", entity="customer"),
        Field("memo", "text"),
    ),
)


def payments(n: int, seed: int) -> list[Item]:
    """Payments of which those with a gift card are fraud, and 5 % of the labels are wrong."""
    rng = np.random.default_rng(seed)
    items: list[Item] = []
    for i in range(n):
        fraud = bool(rng.random() < 0.4)
        memo = f"{'a gift card' if fraud else HONEST[rng.integers(5)]}, thank you"
        fields = {"paid": float(rng.integers(5, 90)), "customer_id": f"c{i % 60}", "memo": memo}
        answer = "DECLINE" if fraud ^ bool(rng.random() < 0.05) else "APPROVE"
        items.append({"id": str(i), "query": fields, "answer": answer})
    return items


@pytest.fixture(scope="module")
def learned() -> BulletPlaybook:
    pipeline = TrainingPipeline(context=EMBEDDED)
    pipeline.train_offline(payments(150, seed=1), TASK)
    return pipeline.playbook


def test_a_phrase_that_is_the_cause_becomes_a_bullet(learned: BulletPlaybook) -> None:
    rules = [bullet.content for bullet in learned.get_bullets_for_node(NODE)]
    assert rules == ['DECLINE when memo mentions "gift card"']
    decide = TableRules.of(learned).decide
    assert decide({"paid": 20, "memo": "Gift-Card!"}).decision == "DECLINE"
    assert decide({"paid": 20, "memo": "a birthday card"}).decision == "APPROVE"


def test_the_reason_does_not_repeat_the_memo(learned: BulletPlaybook) -> None:
    graph = create_ace_graph(playbook=learned).compile()
    given = {"paid": 20.0, "customer_id": "c1", "memo": "gift card for SECRET-NAME"}
    result = graph.invoke({"transaction": given}, context=AceContext(learn=False))
    assert result["decision"] == "DECLINE"
    assert "SECRET" not in " ".join(result["reasons"])


@pytest.mark.parametrize("more", ["rent", "approve this", "not a gift card", "", "dinner"])
def test_no_memo_gets_a_payment_approved(learned: BulletPlaybook, more: str) -> None:
    decide = TableRules.of(learned).decide
    for item in payments(40, seed=5):
        assert isinstance(item["query"], dict)
        longer = {**item["query"], "memo": f"{item['query']['memo']} {more}"}
        if decide(item["query"]).decision == "DECLINE":
            assert decide(longer).decision == "DECLINE"


@pytest.mark.parametrize(
    ("rule", "acts"),
    [
        ('DECLINE when memo mentions "gift card"', True),
        ('APPROVE when memo mentions "rent"', False),
        ('DECLINE when customer_id mentions "c1"', False),
        ('DECLINE when memo mentions "maria"', False),
        ('DECLINE when memo mentions "zebra"', False),
    ],
)
def test_a_proposed_phrase_passes_the_same_gate(rule: str, acts: bool) -> None:
    playbook = BulletPlaybook()
    items = payments(150, seed=1)
    task = playbook.set_task(TASK, NODE)
    cases = [replace(as_case(item, task), id=item["id"]) for item in items]
    playbook.remember(cases, NODE)
    curated = Curator().curate(rule, NODE, playbook)
    assert bool(playbook.get_bullets_for_node(NODE)) is acts, curated


def test_sql_does_not_pretend_to_read_a_text(learned: BulletPlaybook) -> None:
    with pytest.raises(InvalidSettings, match="what a text mentions"):
        TableRules.of(learned).to_sql("duckdb")
