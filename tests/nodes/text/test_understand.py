"""What is said of keys that a task does not know."""

import pytest

from acegraph.graph import create_ace_graph
from acegraph.graph.operations.decide import decide_many
from acegraph.state import BulletPlaybook, Field, InvalidTransaction, Task

GIVEN = {"amount": 5, "amount_usd": 4_900}


@pytest.mark.parametrize(("unknown", "said"), [("ignore", ["amount_usd"]), ("grow", [])])
def test_a_key_that_is_ignored_is_named_in_the_warnings(unknown: str, said: list[str]) -> None:
    task = Task("t", (Field("amount", "number"),), unknown=unknown)  # type: ignore[arg-type]
    book = BulletPlaybook(task=task)
    [answer] = decide_many(book, [{"transaction": GIVEN}])
    alone = create_ace_graph(playbook=book).compile().invoke({"transaction": GIVEN})
    for one in (answer, alone):
        assert isinstance(one, dict)
        told = [warning.partition(": ")[2] for warning in one["warnings"]]
        assert told == said


def test_a_key_that_is_refused_is_never_approved() -> None:
    book = BulletPlaybook(task=Task("t", (Field("amount", "number"),), unknown="refuse"))
    [answer] = decide_many(book, [{"transaction": GIVEN}])
    assert isinstance(answer, InvalidTransaction)
