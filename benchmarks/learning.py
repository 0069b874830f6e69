"""Decisions per second, learning included, beside as many bare runs of a five-node graph."""

import argparse
import sys
import time
from typing import Any

from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.state import AceContext


class Bare(TypedDict, total=False):
    """The state of the graph that does nothing."""

    transaction: str
    step: int


def bare_graph() -> Any:
    """Five nodes that do nothing: what the framework itself costs."""
    builder = StateGraph(Bare)
    names = [f"node{i}" for i in range(5)]
    for number, name in enumerate(names):
        builder.add_node(name, lambda state, number=number: {"step": number})
    for left, right in zip([START, *names], [*names, END], strict=True):
        builder.add_edge(left, right)
    return builder.compile()


def main(words: list[str] | None = None) -> int:
    """Measure and print; 1 where learning costs more than five times the bare graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=10_000)
    n = parser.parse_args(words).decisions
    examples = generate_transactions(n, seed=1)
    embedded = dict.fromkeys(
        ("agent_model", "judge_model", "reflector_model", "embedding_model"), "embedded"
    )
    graph = bare_graph()
    graph.invoke({"transaction": "warm"})
    started = time.process_time()
    for example in examples:
        graph.invoke({"transaction": example.query})
    bare = time.process_time() - started
    pipeline = TrainingPipeline(context=AceContext(**embedded))
    started = time.process_time()
    report = pipeline.train_online(examples)
    learning = time.process_time() - started
    out = sys.stdout.write
    out(f"bare five-node graph: {n / bare:,.0f} decisions per second of CPU\n")
    out(f"deciding and learning: {n / learning:,.0f} decisions per second of CPU")
    out(f" ({report.mistakes} mistakes, {report.bullets_active} active bullets)\n")
    out(f"ratio: {learning / bare:.2f} (at most 5)\n")
    return int(learning > 5 * bare)


if __name__ == "__main__":
    sys.exit(main())
