"""Many decisions at once: the answers and the ledger of the graph, run by run."""

from typing import Any

import pytest

from acegraph.graph import create_ace_graph, generate_transactions
from acegraph.graph.operations.decide import decide_many
from acegraph.state import AceContext, AceError, BulletPlaybook, Case, Transaction, verify

NODE = "fraud_detection"
FROZEN = AceContext(learn=False, seed=3, policy={"explore": 0.3})


def trained() -> BulletPlaybook:
    """A playbook with labelled cases and rules; some rules hold on most payments."""
    playbook = BulletPlaybook()
    examples = generate_transactions(60, seed=1)
    past = [(e, Transaction.of(dict(e.fields))) for e in examples]
    playbook.remember([Case(e.id, t.fields, e.answer, t.text, t.digest()) for e, t in past], NODE)
    for rule in ("amount >= 20", "amount >= 300", "hour < 6", "vpn is true", "new_device is true"):
        playbook.add_bullet(f"DECLINE when {rule}", NODE, "offline")
    playbook.add_bullet("APPROVE when verified is true", NODE, "online")
    playbook.add_bullet("A crypto exchange at night deserves a second look.", NODE)
    return playbook


def inputs() -> list[Any]:
    """Payments of every kind: plain, labelled, sent again, of another content, without sense."""
    payments = [dict(e.fields) for e in generate_transactions(25, seed=2)]
    given: list[Any] = [
        {"transaction": payment, "decision_id": f"p{i}"} for i, payment in enumerate(payments)
    ]
    given[3]["ground_truth"] = "DECLINE"
    given += [given[0], {"transaction": payments[1], "decision_id": "p0"}]  # again; a conflict
    given += [{"transaction": {"amount": "?"}, "decision_id": "u1"}, {"transaction": {}}]
    return [*given, {"transaction": payments[2], "decision_id": "\0"}]


def one_by_one(playbook: BulletPlaybook, given: list[Any], context: AceContext) -> list[Any]:
    graph = create_ace_graph(playbook=playbook).compile()
    answers: list[Any] = []
    for one in given:
        try:
            answers.append(graph.invoke(one, context=context))
        except AceError as error:
            answers.append((type(error), str(error)))
    return answers


def unordered(answer: Any) -> Any:
    """An answer without the order of its rules; the graph shows the best ones, and says how many
    bullets in prose the embedded analyst cannot read.
    """
    if not isinstance(answer, dict):
        return answer
    reasons = sorted(r for r in answer["reasons"] if "bullet(s) in prose" not in r)
    return {**answer, "reasons": reasons, "bullets_used": sorted(answer["bullets_used"])}


@pytest.mark.parametrize("context", [FROZEN, AceContext(mode="vanilla"), AceContext(learn=False)])
def test_a_batch_answers_as_the_graph_does(context: AceContext) -> None:
    book = trained()
    alone, together = book.fork(), book.fork()
    expected = one_by_one(alone, inputs(), context)
    answers = [
        (type(one), str(one)) if isinstance(one, AceError) else one
        for one in decide_many(together, inputs(), context)
    ]
    assert list(map(unordered, answers)) == list(map(unordered, expected))
    assert len({answer["decision"] for answer in answers if isinstance(answer, dict)}) > 1
    ids = [f"p{i}" for i in range(25)]
    for decision_id in ids:
        one, other = alone.decision(decision_id), together.decision(decision_id)
        for moment in ("created_at", "decided_at", "known_at", "seen"):
            one.pop(moment), other.pop(moment)
        others = other.pop("bullets")
        assert set(one.pop("bullets")) <= {*others, "b7"}  # nobody reads the prose
        assert one.pop("settings") == {
            k: v for k, v in other.pop("settings").items() if k != "reads"
        }
        assert unordered(one) == unordered(other)
    assert not verify(together)


def test_what_is_learned_from_goes_through_the_graph() -> None:
    book = trained()
    given: Any = [{"transaction": {"amount": 5.0}, "decision_id": "x", "ground_truth": "DECLINE"}]
    (answer,) = decide_many(book, given)
    assert isinstance(answer, dict)
    assert answer["verdict"] == "undecided"  # what it lacks could change the decision
    assert book.lesson("x") is not None


def test_payments_of_one_customer_in_a_batch_see_each_other() -> None:
    book = BulletPlaybook()
    book.add_bullet("DECLINE when customer.payments_last_hour >= 2", NODE)
    book.set_sighting_columns(NODE, {"customer": "customer_id", "amount": "amount"})
    given: Any = [
        {"transaction": {"amount": 9.0, "customer_id": who}, "decision_id": f"{i}"}
        for i, who in enumerate(["ann", "bob", "ann", "ann", "bob"])
    ]
    decide_many(book, given, AceContext(learn=False))
    fields = [book.decision(f"{i}")["fields"] for i in range(5)]
    counts = [one["customer.payments_last_hour"] for one in fields]
    assert counts == [0, 0, 1, 2, 1]
