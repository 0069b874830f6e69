"""ACE inside other graphs, and beside packages with the same short names."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from acegraph.graph import create_ace_graph
from acegraph.state import AceContext, BulletPlaybook

RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"


class Shared(TypedDict, total=False):
    transaction: str
    ground_truth: str
    decision: str
    verdict: str
    mailed: bool


def mail(state: Shared) -> Shared:
    return {"mailed": state["decision"] == "DECLINE"}


def test_a_host_that_shares_keys_adds_the_graph_as_a_node() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount >= 100", "fraud_detection")
    host = StateGraph(Shared)
    host.add_node("fraud", create_ace_graph(playbook=playbook).compile())
    host.add_node("mail", mail)
    host.add_edge(START, "fraud")
    host.add_edge("fraud", "mail")
    host.add_edge("mail", END)
    graph = host.compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    result = graph.invoke({"transaction": RISKY, "ground_truth": "DECLINE"}, thread)
    assert (result["decision"], result["verdict"], result["mailed"]) == ("DECLINE", "right", True)
    assert playbook.get_bullet("b1").helpful_count == 1


class Order(TypedDict, total=False):
    basket: dict[str, Any]
    blocked: bool


@dataclass
class ShopContext:
    """The host's own settings; `mode` means something else here."""

    mode: str = "express"


def test_a_host_with_another_state_uses_an_adapter() -> None:
    ace = create_ace_graph().compile()

    def check_fraud(state: Order) -> Order:
        answer = ace.invoke({"transaction": state["basket"]}, context=AceContext(learn=False))
        return {"blocked": answer["decision"] == "DECLINE"}

    host = StateGraph(Order)
    host.add_node("check_fraud", check_fraud)
    host.add_edge(START, "check_fraud")
    host.add_edge("check_fraud", END)
    graph = host.compile()
    assert graph.invoke({"basket": {"amount": 5, "hour": 12}})["blocked"] is False
    risky = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}
    assert graph.invoke({"basket": risky})["blocked"] is True


def test_a_hosts_context_is_the_hosts_own() -> None:
    seen = []

    def first(state: Shared, runtime: Runtime[ShopContext]) -> Shared:
        seen.append(runtime.context.mode)
        return {}

    host = StateGraph(Shared, context_schema=ShopContext)
    host.add_node("first", first)
    host.add_node("fraud", create_ace_graph(context=AceContext(mode="vanilla")).compile())
    host.add_edge(START, "first")
    host.add_edge("first", "fraud")
    host.add_edge("fraud", END)
    result = host.compile().invoke({"transaction": RISKY}, context=ShopContext())
    assert (result["decision"], seen) == ("DECLINE", ["express"])


def test_a_host_can_hand_settings_down() -> None:
    @dataclass
    class Context:
        ace: AceContext

    playbook = BulletPlaybook()
    playbook.add_bullet("APPROVE when amount >= 100", "fraud_detection")
    playbook.set_weights({"b1": -4.0})
    host = StateGraph(Shared, context_schema=Context)
    host.add_node("fraud", create_ace_graph(playbook=playbook).compile())
    host.add_edge(START, "fraud")
    host.add_edge("fraud", END)
    graph = host.compile()
    with_bullets = graph.invoke({"transaction": RISKY}, context=Context(AceContext()))
    vanilla = graph.invoke({"transaction": RISKY}, context=Context(AceContext(mode="vanilla")))
    assert (with_bullets["decision"], vanilla["decision"]) == ("APPROVE", "DECLINE")


@pytest.mark.slow
def test_a_project_with_its_own_graph_nodes_and_state_packages_works(tmp_path: Path) -> None:
    for name in ("graph", "nodes", "state"):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").write_text(f"WHOSE = 'the host {name}'\n")
    script = tmp_path / "main.py"
    script.write_text(
        "import graph, nodes, state\n"
        "from acegraph.graph import create_ace_graph\n"
        "from acegraph.nodes import Curator\n"
        "from acegraph.state import BulletPlaybook\n"
        "answer = create_ace_graph().compile().invoke({'transaction': 'pays $5'})\n"
        "print(graph.WHOSE, nodes.WHOSE, state.WHOSE, answer['decision'], sep=', ')\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "the host graph, the host nodes, the host state, APPROVE"


@pytest.mark.slow
def test_our_rooms_are_never_imported_by_their_bare_names() -> None:
    code = (
        "import sys, acegraph.graph.cli.main, acegraph.graph.studio\n"
        "print([n for n in ('graph', 'nodes', 'state') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
