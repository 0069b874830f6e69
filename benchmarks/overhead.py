"""What the graph costs beyond LangGraph itself: CPU of a run that learns, and of the import."""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from common import compare, table
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from acegraph.graph import create_ace_graph
from acegraph.state import AceInput, AceOutput, AceState, BulletPlaybook, PlaybookError
from acegraph.state.ledger.ledger import DecisionAndLabel
from acegraph.state.values.decision import Recorded

RUNS = 20
"""Runs per turn: one alone is too short to time."""
IMPORTS = {
    "langgraph": "from langgraph.graph import StateGraph",
    "acegraph": "from acegraph.graph import create_ace_graph",
}
TRANSACTION = {"amount": 40, "hour": 15}


class Bare(TypedDict, total=False):
    """The state of a graph that does nothing."""

    transaction: dict[str, Any]
    done: str


def bare_graph(**schemas: Any) -> Any:
    """Five nodes that do nothing, one of them with a conditional edge."""
    builder = StateGraph(**schemas)
    names = ("selector", "agent", "judge", "reflector", "curator")
    for name in names:
        builder.add_node(
            name, lambda state: {"decision" if "output_schema" in schemas else "done": "x"}
        )
    builder.add_edge(START, names[0])
    builder.add_edge(names[0], names[1])
    builder.add_edge(names[1], names[2])
    builder.add_conditional_edges("judge", lambda state: "reflector")
    builder.add_edge("reflector", "curator")
    builder.add_edge("curator", END)
    return builder.compile()


def running(graph: Any, given: dict[str, Any]) -> Any:
    """A function that runs the graph several times."""

    def work() -> None:
        for _ in range(RUNS):
            graph.invoke(given)

    return work


class Unwritten(BulletPlaybook):
    """A playbook that stops writing after its first runs: a ledger that costs nothing."""

    is_off = False

    def record_many(self, given: Sequence[DecisionAndLabel]) -> list[Recorded | PlaybookError]:
        """Answer as if the decisions had been written."""
        if not self.is_off:
            return super().record_many(given)
        return [
            Recorded(made.decision, made.node, is_new_decision=True, counted=True, label=label)
            for made, label in given
        ]

    def lesson(self, decision_id: str) -> dict[str, Any] | None:
        """Answer as if nothing had been learned."""
        return None if self.is_off else super().lesson(decision_id)

    def conclude(self, decision_id: str, lesson: Mapping[str, Any]) -> None:
        """Do nothing, as if the lesson had been written."""
        if not self.is_off:
            super().conclude(decision_id, lesson)

    def writing(self) -> Any:
        """Without a database transaction."""
        return nullcontext() if self.is_off else super().writing()


def ace_graph(playbook: BulletPlaybook) -> Any:
    """Our graph, with constant answers of agent and reflector."""
    lesson = {
        "new_bullet": "Gift cards bought at night deserve a decline",
        "problem_types": [],
        "confidence": 0.5,
    }
    return create_ace_graph(
        playbook=playbook, agent=lambda _: "APPROVE", reflector=lambda _: lesson
    ).compile()


def import_seconds(statement: str) -> float:
    """The CPU time of an import in a process of its own."""
    code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> dict[str, Any]:
    """Measure and print the table."""
    wrong = {"transaction": TRANSACTION, "ground_truth": "DECLINE"}
    unwritten = Unwritten()
    with tempfile.TemporaryDirectory() as folder:
        graphs = {
            "memory": ace_graph(BulletPlaybook()),
            "no ledger": ace_graph(unwritten),
            "SQLite ledger": ace_graph(BulletPlaybook(f"sqlite:///{folder}/ace.db")),
        }
        for _ in range(3):  # the bullet is learned, shown and found wanting
            assert all(graph.invoke(wrong)["verdict"] == "wrong" for graph in graphs.values())
        unwritten.is_off = True
        same_state = bare_graph(
            state_schema=AceState, input_schema=AceInput, output_schema=AceOutput
        )
        bare, with_state, *ours = compare(
            running(bare_graph(state_schema=Bare), {"transaction": TRANSACTION}),
            running(same_state, wrong),
            *(running(graph, wrong) for graph in graphs.values()),
        )
    figures = {"bare ms": 1e3 * bare / RUNS, "bare with our state / bare": with_state / bare}
    for name, seconds in zip(graphs, ours, strict=True):
        figures[f"{name} ms"], figures[f"{name} / bare"] = 1e3 * seconds / RUNS, seconds / bare
    times: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(21):
        for name, seconds in times.items():
            seconds.append(import_seconds(IMPORTS[name]))
    medians = [statistics.median(seconds) for seconds in times.values()]
    figures |= {
        "import StateGraph ms": 1e3 * medians[0],
        "import create_ace_graph / StateGraph": medians[1] / medians[0],
    }
    table(
        "A run on the wrong path, all five nodes, CPU",
        [[n, f"{f:.2f}"] for n, f in figures.items()],
    )
    return figures


if __name__ == "__main__":
    main()
