"""The arrays behind selection: always what the bullets say, whoever changed them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acegraph.nodes.selector.stages import Candidates, cosines, pass_semantic, pick_diverse
from acegraph.state import Bullet, BulletPlaybook, Condition
from acegraph.state.playbook.index import VectorMatrix, View, unit
from acegraph.state.playbook.rule_table import CANNOT_SAY, FAILS, HOLDS, Conjunctions, RuleTable
from acegraph.state.values.condition import Comparison

NODE = "fraud_detection"

numbers = st.sampled_from([-1, 0, 1, 2, 2.5, 3, 1e300, -0.0])
words = st.sampled_from(["a", "b", "", "1"])
values = st.one_of(numbers, words, st.booleans())
names = st.sampled_from(["x", "y", "z"])
comparisons = st.one_of(
    st.builds(Comparison, names, st.sampled_from(["<", "<=", ">", ">="]), numbers),
    st.builds(Comparison, names, st.sampled_from(["is", "is not"]), values),
    st.builds(Comparison, names, st.sampled_from(["is missing", "is known"])),
)
conditions = st.builds(
    Condition,
    st.lists(comparisons, min_size=1, max_size=3).map(tuple),
    st.sampled_from(["APPROVE", "DECLINE"]),
)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.none() | conditions, min_size=1, max_size=12),
    st.lists(st.dictionaries(names, st.none() | values, max_size=3), min_size=1, max_size=5),
)
def test_all_conditions_at_once_answer_as_each_alone(
    rules: list[Condition | None], cases: list[dict[str, object]]
) -> None:
    table, said = RuleTable(), {True: HOLDS, False: FAILS, None: CANNOT_SAY}
    conjunctions = Conjunctions([rule.comparisons for rule in rules if rule])
    for row, rule in enumerate(rules):
        table.put(row, rule)
    for fields in cases:  # what is kept of one must not answer another
        wanted = [said[rule.holds(fields)] if rule else CANNOT_SAY for rule in rules]  # type: ignore[arg-type]
        assert table.holds(fields, len(rules)).tolist() == wanted  # type: ignore[arg-type]
        alone = [rule.holds(fields) for rule in rules if rule]  # type: ignore[arg-type]
        held = conjunctions.that_hold(fields)  # type: ignore[arg-type]
        assert held == [place for place, answer in enumerate(alone) if answer]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.none() | conditions, min_size=1, max_size=12), conditions)
def test_conditions_that_test_the_same_are_found(
    rules: list[Condition | None], wanted: Condition
) -> None:
    table = RuleTable()
    for row, rule in enumerate(rules):
        table.put(row, rule)
    found = set(table.same_tests(wanted, len(rules)).tolist())
    assert found == {i for i, r in enumerate(rules) if r and r.tests() == wanted.tests()}


def arrays_say_what_the_bullets_say(playbook: BulletPlaybook) -> None:
    view = playbook.view(NODE)
    bullets = playbook.get_bullets_for_node(NODE, status=None)
    assert list(view.bullets(np.arange(view.size))) == bullets
    helpful, harmful, rates = view.records(1)
    assert helpful.tolist() == [b.helpful_count for b in bullets]
    assert harmful.tolist() == [b.harmful_count for b in bullets]
    assert rates.tolist() == [b.get_success_rate() for b in bullets]
    assert view.in_context(None).tolist() == [b.status == "active" for b in bullets]
    assert view.in_context("online").tolist() == [
        b.status == "active" and b.source == "online" for b in bullets
    ]


def undone(playbook: BulletPlaybook) -> None:
    with playbook.writing():
        playbook.add_bullet("never to be", NODE)
        playbook.update_stats("b3", True)
        raise ZeroDivisionError


def test_the_arrays_follow_every_change(playbook: BulletPlaybook) -> None:
    playbook.view(NODE)
    for i in range(40):
        rule = f"DECLINE when x > {i}" if i % 3 else f"prose {i}"
        playbook.add_bullet(rule, NODE, "online" if i % 2 else "offline")
        playbook.add_bullet("elsewhere", "another_node")
    playbook.update_stats("b3", True)
    playbook.update_stats("b5", False)
    playbook.set_status("b7", "retired", "tried")
    playbook.set_weights({"b9": 0.5})
    arrays_say_what_the_bullets_say(playbook)
    with pytest.raises(ZeroDivisionError):
        undone(playbook)
    arrays_say_what_the_bullets_say(playbook)
    playbook.add_bullet("comes under the same number", NODE)
    arrays_say_what_the_bullets_say(playbook)


def test_a_view_does_not_change_under_its_reader() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("one", NODE)
    view = playbook.view(NODE)
    playbook.update_stats("b1", True)
    playbook.set_status("b1", "retired", "tried")
    for i in range(50):
        playbook.add_bullet(f"more {i}", NODE)
    assert view.size == 1
    assert (view.records(1)[0].tolist(), view.in_context(None).tolist()) == ([0.0], [True])


def test_a_matrix_grows_without_copying_each_time() -> None:
    matrix, copies = VectorMatrix(3), 0
    for row in range(3_000):
        before = matrix.rows
        matrix.put(row, np.array([row, 1, 0], np.float32))
        copies += matrix.rows is not before
    assert copies < 80
    assert len(matrix.rows) < 3_000 * 1.1
    assert matrix.rows[2_999].tolist() == unit(np.array([2_999, 1, 0], np.float32)).tolist()


def test_a_bullet_out_of_order_is_not_taken_in_place() -> None:
    view = View()
    assert view.put(Bullet("b2", "two", NODE))
    assert not view.put(Bullet("b1", "one", NODE))
    assert not view.put(Bullet("b2", "another text", NODE))


def test_what_rounding_leaves_open_is_settled_in_double_precision() -> None:
    rng = np.random.default_rng(1)
    matrix = unit(rng.standard_normal((200, 1536)).astype(np.float32))
    query = unit(rng.standard_normal(1536).astype(np.float32))
    rows, products = np.arange(200), matrix @ query
    exact = cosines(matrix, rows, query)
    order = rng.permutation(200)
    candidates = Candidates(
        matrix, rows, query, products, np.full(200, -np.inf), 1 - 0.4 * exact - 4e-9 * order, 0.4
    )
    assert pick_diverse(candidates, 5, 0.0) == np.argsort(order)[:5].tolist()
    for row in rows:
        assert pass_semantic(products, rows, matrix, query, float(exact[row]))[row]
        assert not pass_semantic(products, rows, matrix, query, float(exact[row]) + 2e-9)[row]
