"""Lists: who is blocked, allowed or watched, until when, and what comes first."""

from typing import Any

import pytest

from acegraph.graph import create_ace_graph
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.operations.monitoring.lists import add, approve_entry, end, shown
from acegraph.graph.operations.replay import replay
from acegraph.state import AceContext, BulletPlaybook, InvalidInput, InvalidSettings, verify
from acegraph.state.errors import InvalidAnswer
from acegraph.state.maintenance.erase import erase
from acegraph.state.maintenance.people.review_queue import waiting
from acegraph.state.task.field import Field
from acegraph.state.task.task import Task
from acegraph.state.values import APPROVE, DECLINE, UNDECIDED, Label

NODE = AceContext().node
TASK = Task(
    "shops",
    (
        Field("amount", "number", "amount", usual=True),
        Field("shop", "category", "entity", entity="merchant"),
        Field("card", "category", "entity", entity="card", stored=False),
    ),
)
ANN, WHY = "analyst:ann", "skimmer, ticket 4711"


@pytest.fixture
def book() -> BulletPlaybook:
    """A playbook that declines from 1,000 on."""
    playbook = BulletPlaybook()
    playbook.set_task(TASK, NODE, by="ann", reason="shops")
    playbook.add_bullet("DECLINE when amount >= 1000", NODE)
    playbook.set_weights({bullet.id: 9.0 for bullet in playbook})
    return playbook


def pay(playbook: BulletPlaybook, amount: object = 20, **who: str) -> Any:
    """What the graph says; a batch must say the same."""
    given = {"transaction": {"amount": amount, **who}}
    result = create_ace_graph(playbook=playbook).compile().invoke(given)
    (again,) = decide_many(playbook, [given])
    assert isinstance(again, dict)
    assert again["decision"] == result["decision"]
    return result


def put(playbook: BulletPlaybook, where: str, kind: str, name: str, **more: Any) -> int:
    (entry,) = add(playbook, NODE, where, kind, [name], ANN, WHY, **more)
    return entry.number


def allow(playbook: BulletPlaybook, kind: str, name: str) -> None:
    number = put(playbook, "allow", kind, name)
    given = {"who": "bob", "approve": True, "why": "checked"}
    assert approve_entry(playbook, f"list-{number}", given) == "active"


def test_a_block_declines_at_once_whatever_the_rules_say(book: BulletPlaybook) -> None:
    assert pay(book, shop="Acme")["decision"] == APPROVE
    put(book, "block", "merchant", "Acme")
    result = pay(book, shop=" acme ")
    assert (result["decision"], result["risk_score"]) == (DECLINE, 1.0)
    assert "merchant Acme is on the block list since " in result["reasons"][0]
    assert result["reasons"][0].endswith(f": {WHY}")
    assert pay(book, "much", shop="Acme")["decision"] == DECLINE
    assert pay(book, shop="Other")["decision"] == APPROVE


ORDER = [
    ((), 20, APPROVE),
    ((), 2_000, DECLINE),
    (("block",), 20, DECLINE),
    (("allow",), 2_000, APPROVE),
    (("block", "allow"), 20, DECLINE),
    (("allow",), "much", UNDECIDED),
    (("watch",), 2_000, DECLINE),
    (("watch", "allow"), 2_000, APPROVE),
]


@pytest.mark.parametrize(("lists", "amount", "wanted"), ORDER)
def test_what_comes_first(
    book: BulletPlaybook, lists: tuple[str, ...], amount: object, wanted: str
) -> None:
    for one in lists:
        if one == "allow":
            allow(book, "merchant", "Acme")
        else:
            put(book, one, "merchant", "Acme")
    assert pay(book, amount, shop="Acme")["decision"] == wanted
    assert verify(book) == []


def test_an_allow_waits_for_a_second_person(book: BulletPlaybook) -> None:
    number = put(book, "allow", "merchant", "Acme")
    assert pay(book, 2_000, shop="Acme")["decision"] == DECLINE
    (asked,) = waiting(book)
    assert (asked.id, asked.kind, asked.about) == (f"list-{number}", "entry", "allow merchant Acme")
    with pytest.raises(InvalidAnswer, match="ask somebody else"):
        approve_entry(book, asked.id, {"who": "Ann", "approve": True, "why": "mine"})
    assert approve_entry(book, asked.id, {"who": "bob", "approve": False, "why": "no"}) == "ended"
    assert waiting(book) == []
    with pytest.raises(InvalidInput, match="waits for nobody"):
        approve_entry(book, asked.id, {"who": "bob", "approve": True, "why": "yes"})
    put(book, "allow", "merchant", "Acme", alone=True)
    assert pay(book, 2_000, shop="Acme")["decision"] == APPROVE


def test_a_person_is_asked_about_whoever_is_watched(book: BulletPlaybook) -> None:
    put(book, "watch", "merchant", "Acme")
    result = pay(book, shop="Acme")
    assert result["decision"] == APPROVE
    asked = {one.id: one.why for one in waiting(book)}
    assert "merchant Acme is on the watch list since " in asked[result["decision_id"]]


def test_an_entry_ends_at_its_minute_or_when_somebody_says_so(book: BulletPlaybook) -> None:
    put(book, "block", "merchant", "Acme", days=0)
    assert pay(book, shop="Acme")["decision"] == APPROVE
    number = put(book, "block", "merchant", "Acme", days=None)
    assert pay(book, shop="Acme")["decision"] == DECLINE
    end(book, number, ANN, "replaced")
    assert pay(book, shop="Acme")["decision"] == APPROVE
    assert [one.ended_by for one in shown(book)] == ["", ANN]
    with pytest.raises(InvalidInput, match="no entry 99"):
        end(book, 99, ANN, "replaced")


def test_what_a_list_decided_counts_for_no_rule_and_is_repeated(book: BulletPlaybook) -> None:
    put(book, "block", "merchant", "Acme")
    blocked = pay(book, 2_000, shop="Acme")["decision_id"]
    allow(book, "merchant", "Good")
    allowed = pay(book, 2_000, shop="Good")["decision_id"]
    for case in (blocked, allowed):
        book.label(case, Label(DECLINE))
        assert book.decision(case)["settings"]["listed"]
        assert replay(book, case).is_reproduced
    assert {(one.helpful_count, one.harmful_count) for one in book} == {(0, 0)}
    assert verify(book) == []


def test_whom_nobody_may_read_is_kept_by_the_last_letters(book: BulletPlaybook) -> None:
    put(book, "block", "card", "4111111111111234")
    assert [one.name for one in shown(book)] == ["...1234"]
    assert pay(book, card="4111111111111234")["decision"] == DECLINE
    erase(book, entity=("card", "4111111111111234"))
    assert shown(book) == []
    assert pay(book, card="4111111111111234")["decision"] == APPROVE


@pytest.mark.parametrize(
    ("words", "names", "told"),
    [
        (("deny", "merchant"), ["a"], "a list is block, allow, watch"),
        (("block", "shop"), ["a"], "no kind 'shop' in the task, which names merchant, card"),
        (("block", "merchant"), ["a", "", "b", "n/a"], r"2 of 4 name nobody \(row 2, row 4\)"),
    ],
)
def test_what_cannot_be_added_is_told_and_nothing_is_added(
    book: BulletPlaybook, words: tuple[str, str], names: list[str], told: str
) -> None:
    with pytest.raises((InvalidInput, InvalidSettings), match=told):
        add(book, NODE, *words, names, ANN, WHY)
    with pytest.raises(InvalidSettings, match="--why is wanted"):
        add(book, NODE, "block", "merchant", ["a"], ANN, " ")
    assert shown(book) == []
