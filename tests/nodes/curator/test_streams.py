"""A stream is refined whenever its labelled cases have doubled; a purge learns that anew."""

from pathlib import Path

import numpy as np

from acegraph.graph import TrainingPipeline, create_ace_graph, feedback, learn_waiting
from acegraph.graph.operations.learning.purge import purge
from acegraph.state import AceContext, BulletPlaybook, Case
from acegraph.state.values.bullet import REFINEMENT

NODE = "fraud_detection"


def payments(n: int, seed: int = 1) -> list[tuple[dict[str, float], str]]:
    """Payments with three causes, each of which says little alone, and their right answers."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        fields = {f"x{i}": round(float(rng.normal()), 2) for i in range(4)}
        odds = 5 * (sum(fields[f"x{i}"] > 0 for i in range(3)) - 1.5)
        is_fraud = bool(rng.random() < 1 / (1 + np.exp(-odds)))
        found.append((fields, "DECLINE" if is_fraud else "APPROVE"))
    return found


def decide_all(playbook: BulletPlaybook, n: int, *, is_fed: bool = False) -> None:
    """Decide a stream in which three of four answers come with the payment; the others come from a
    partner afterwards, and they are lies, or not at all.
    """
    graph = create_ace_graph(playbook=playbook).compile()
    for i, (fields, answer) in enumerate(payments(n)):
        is_known = i % 4 != 0
        given = {"transaction": fields, "decision_id": f"d{i}"}
        graph.invoke(given | ({"ground_truth": answer} if is_known else {}))
        if is_fed and not is_known:
            lie = "APPROVE" if answer == "DECLINE" else "DECLINE"
            feedback(playbook, f"d{i}", lie, source="partner feed")


def test_a_stream_is_refined_when_its_labels_have_doubled_and_the_report_says_what_went() -> None:
    playbook, looks = BulletPlaybook(), set()
    graph = create_ace_graph(playbook=playbook).compile()
    for i, (fields, answer) in enumerate(payments(212, seed=3)):
        given = {"transaction": fields, "decision_id": f"d{i}", "ground_truth": answer}
        before = {b.id for b in playbook.get_bullets_for_node(NODE)}
        graph.invoke(given)
        gone = before - {b.id for b in playbook.get_bullets_for_node(NODE)}
        assert gone <= set((playbook.lesson(f"d{i}") or {"retired": ()})["retired"])
        looks.add(playbook.refined_from(NODE))
    lesson, first, second = sorted(looks - {0})
    assert lesson < 100 <= first < 200 <= second
    refined = [b for b in playbook if REFINEMENT in b.origin]
    assert refined
    assert all(b.source == "online" and b.origin["decision"] for b in refined)


def _right(playbook: BulletPlaybook) -> float:
    """The share of fresh payments that the frozen playbook decides right."""
    items = [
        {"id": f"f{i}", "query": fields, "answer": answer}
        for i, (fields, answer) in enumerate(payments(400, seed=77))
    ]
    return float(TrainingPipeline(playbook).evaluate(items, "online", learn=False).right.mean())


def test_a_refined_stream_decides_after_a_purge_as_if_the_labels_had_never_come() -> None:
    clean, poisoned = BulletPlaybook(), BulletPlaybook()
    decide_all(clean, 180)
    decide_all(poisoned, 180, is_fed=True)
    assert any(REFINEMENT in b.origin for b in clean)
    assert _right(poisoned) < _right(clean) - 0.02
    purge(poisoned, "partner feed")
    assert _right(poisoned) >= _right(clean) - 0.02


def test_a_stream_replaces_nothing_that_was_trained() -> None:
    items = [
        {"id": f"i{i}", "query": fields, "answer": answer}
        for i, (fields, answer) in enumerate(payments(215, seed=2))
    ]
    pipeline = TrainingPipeline(concurrency=2)
    assert pipeline.train_offline(items[:90]).bullets_active > 0
    trained = [b.id for b in pipeline.playbook.get_bullets_for_node(NODE)]
    pipeline.train_online(items[90:])
    assert pipeline.playbook.refined_from(NODE) >= 100
    assert all(pipeline.playbook.get_bullet(i).status == "active" for i in trained)


def test_the_first_lesson_is_one_bullet_and_what_a_person_wrote_stays() -> None:
    playbook = BulletPlaybook()
    past = [Case(f"h{i}", f, a) for i, (f, a) in enumerate(payments(190))]  # type: ignore[arg-type]
    playbook.remember(past, NODE)
    by_hand = playbook.add_bullet("APPROVE when x0 < 0 and x1 < 0", NODE)
    graph = create_ace_graph(playbook=playbook).compile()
    for i, (fields, answer) in enumerate(payments(40, seed=9)):
        known = len(playbook)
        graph.invoke({"transaction": fields, "decision_id": f"d{i}", "ground_truth": answer})
        if playbook.refined_from(NODE) < 200:
            assert len(playbook) <= known + 1
    assert any(REFINEMENT in b.origin for b in playbook)
    assert playbook.get_bullet(by_hand).status == "active"


def test_an_agent_that_sees_only_the_bullets_shown_keeps_them() -> None:
    playbook = BulletPlaybook()
    graph = create_ace_graph(playbook=playbook, agent=lambda _: "APPROVE").compile()
    for i, (fields, answer) in enumerate(payments(120)):
        given = {"transaction": fields, "decision_id": f"d{i}"}
        graph.invoke(given | ({"ground_truth": answer} if i % 2 else {}))
        feedback(playbook, f"d{i}", answer)
    assert len(playbook.cases(NODE)) == 120
    assert playbook.refined_from(NODE) == 0


def test_with_many_labels_the_background_refines_and_no_run_waits_for_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'p.db'}"
    with BulletPlaybook(url) as playbook:
        past = [Case(f"h{i}", {"x0": float(i % 7), "amount": 20}, "APPROVE") for i in range(3_300)]
        wrong = {"transaction": {"x0": 1.0, "amount": 20}, "ground_truth": "DECLINE"}
        graph = create_ace_graph(playbook=playbook).compile()
        for name, known in (("first", past[:2_100]), ("second", past[2_100:])):
            playbook.remember(known, NODE)
            assert graph.invoke(wrong | {"decision_id": name})["verdict"] == "wrong"
            assert playbook.refined_from(NODE) == 2_101  # the first lesson; the second has no look
        graph.invoke(wrong | {"decision_id": "later"}, context=AceContext(learn_later=True))
        assert learn_waiting(playbook).lessons == 1
    with BulletPlaybook(url) as playbook, playbook.fork() as copy:
        assert (playbook.refined_from(NODE), copy.refined_from(NODE)) == (3_303, 3_303)


def test_beside_a_refined_set_a_rule_is_sought_when_mistakes_have_cost_enough() -> None:
    playbook, costs = BulletPlaybook(), {"missed_fraud": 1.0, "false_decline": 0.1}
    past = [Case(f"h{i}", f, a) for i, (f, a) in enumerate(payments(60))]  # type: ignore[arg-type]
    playbook.remember(past, NODE)
    reasons = []
    for i, (answer, policy) in enumerate(
        [
            *[("DECLINE", {})] * 2,  # no set stands yet
            *[("DECLINE", {})] * 5,
            *[("APPROVE", {"costs": costs})] * 2,
        ]
    ):
        if i == 2:
            rule = "DECLINE when x0 >= 9"
            playbook.add_bullet(rule, NODE, origin={REFINEMENT: 1})
        wrong = "APPROVE" if answer == "DECLINE" else "DECLINE"
        graph = create_ace_graph(playbook=playbook, agent=lambda _, wrong=wrong: wrong).compile()
        given = {"transaction": {"x0": 0.1}, "ground_truth": answer, "decision_id": f"d{i}"}
        graph.invoke(given, context=AceContext(policy=policy))
        lesson = playbook.lesson(f"d{i}")
        assert lesson
        reasons.append(lesson["reason"].partition("cost ")[2])
    assert reasons == [
        "",
        "",
        "1.0 of 4",
        "2.0 of 4",
        "3.0 of 4",
        "",
        "1.0 of 4",
        "1.1 of 4",
        "1.2 of 4",
    ]
