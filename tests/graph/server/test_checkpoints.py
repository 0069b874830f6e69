"""Checkpoints that would execute code: none of what we ship builds them."""

import pickle
import sqlite3
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, Interrupt, RetryPolicy

from acegraph.graph import create_ace_graph
from acegraph.graph.server.checkpoints import strict_serializer
from acegraph.state import AceContext, BulletPlaybook, CheckpointRefused

THREAD: Any = {"configurable": {"thread_id": "t"}}
ASK = AceContext(policy={"review_from": 0, "review_to": 1})
ANSWER = {"who": "ann", "verdict": "DECLINE", "why": "seen before"}


def call(code: int, module: str, name: str, *rest: Any) -> ormsgpack.Ext:
    """What a checkpoint says to have something called when it is read."""
    return ormsgpack.Ext(code, ormsgpack.packb([module, name, *rest]))


def crafted(trace: Path) -> list[bytes]:
    """Every way to call something, plain and hidden deep inside; each would write the file."""
    write = f"open({str(trace)!r}, 'w').close()"
    plain: list[Any] = [
        call(0, "builtins", "exec", write),
        call(1, "builtins", "exec", [write]),
        call(1, "subprocess", "check_call", [["touch", str(trace)]]),
        call(2, "subprocess", "check_call", {"args": ["touch", str(trace)]}),
        call(3, "pathlib", "Path", str(trace), "touch"),
        call(4, "subprocess", "check_call", {"args": ["touch", str(trace)]}),
        call(5, "subprocess", "check_call", {"args": ["touch", str(trace)]}, "model_construct"),
    ]
    hidden = [
        {"channel_values": {"decision": [plain[0]]}},
        call(2, "langgraph.types", "Interrupt", {"value": plain[0], "id": "i"}),
        ormsgpack.Ext(7, ormsgpack.packb({"deep": plain[0]})),
    ]
    return [ormsgpack.packb(what) for what in (*plain, *hidden)]


def test_every_crafted_checkpoint_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    for content in crafted(trace):
        with pytest.raises(CheckpointRefused, match="wants"):
            strict_serializer().loads_typed(("msgpack", content))
    assert not trace.exists()


def test_the_crafted_checkpoints_are_no_dummies(tmp_path: Path) -> None:
    """LangGraph's default builds them: the first of each kind leaves its trace."""
    trace = tmp_path / "executed"
    permissive = JsonPlusSerializer(allowed_msgpack_modules=True)
    for content in (crafted(trace)[0], crafted(trace)[2], crafted(trace)[-1]):
        permissive.loads_typed(("msgpack", content))
        assert trace.exists()
        trace.unlink()


@pytest.mark.parametrize("kind", ["pickle", "json", "yaml"])
def test_other_encodings_are_refused(kind: str) -> None:
    content = pickle.dumps({}) if kind == "pickle" else b"{}"
    with pytest.raises(CheckpointRefused):
        strict_serializer().loads_typed((kind, content))


def test_broken_bytes_are_refused_in_one_line() -> None:
    with pytest.raises(CheckpointRefused, match="cannot be read"):
        strict_serializer().loads_typed(("msgpack", b"\xc1\xff"))


def test_a_refused_checkpoint_is_not_read_again() -> None:
    with pytest.raises(CheckpointRefused) as error:
        strict_serializer().loads_typed(("yaml", b""))
    assert not RetryPolicy().retry_on(error.value)  # type: ignore[operator]


def test_what_a_run_of_ours_keeps_is_read_back() -> None:
    state = {"a": [1, 2.5, None, True, "ü"], 3: b"x", "asked": (Interrupt({"kind": "verdict"}),)}
    serde = strict_serializer()
    found = serde.loads_typed(serde.dumps_typed(state))
    assert found["asked"][0].value == {"kind": "verdict"}
    assert (found["a"], found[3]) == (state["a"], b"x")


class Own:
    """A class of a host's state."""

    def __init__(self, amount: int = 0) -> None:
        self.amount = amount


def test_a_host_allows_its_own_classes_by_name() -> None:
    content = ormsgpack.packb(call(1, __name__, "Own", [7]))
    with pytest.raises(CheckpointRefused, match="Own"):
        strict_serializer().loads_typed(("msgpack", content))
    assert strict_serializer(Own).loads_typed(("msgpack", content)).amount == 7


def test_a_paused_run_with_a_tampered_checkpoint_is_not_resumed(tmp_path: Path) -> None:
    trace, file = tmp_path / "executed", tmp_path / "checkpoints.db"
    playbook = BulletPlaybook()
    connection = sqlite3.connect(file, check_same_thread=False)
    saver = SqliteSaver(connection, serde=strict_serializer())
    graph = create_ace_graph(playbook=playbook, review=True).compile(checkpointer=saver)
    graph.invoke({"transaction": "pays $90", "decision_id": "d"}, THREAD, context=ASK)
    whole = connection.execute("SELECT checkpoint FROM checkpoints").fetchall()
    connection.execute("UPDATE checkpoints SET checkpoint = ?", (crafted(trace)[0],))
    with pytest.raises(CheckpointRefused):
        graph.invoke(Command(resume=ANSWER), THREAD)
    assert not trace.exists()
    assert playbook.decision("d")["label"] is None

    for row, (content,) in enumerate(whole, start=1):
        connection.execute("UPDATE checkpoints SET checkpoint = ? WHERE rowid = ?", (content, row))
    assert graph.invoke(Command(resume=ANSWER), THREAD)["decision"] == "DECLINE"
    connection.close()


def test_values_that_a_transaction_may_come_with_are_read_back() -> None:
    given = {"amount": Decimal("12.50"), "at": datetime(2026, 3, 1, 12, 0), "due": date(2026, 4, 1)}
    saver = InMemorySaver(serde=strict_serializer())
    graph = create_ace_graph().compile(checkpointer=saver)
    graph.invoke({"transaction": given}, THREAD)
    found = [s.values for s in graph.get_state_history(THREAD) if "transaction" in s.values]
    assert found[-1]["transaction"] == given
