"""What learning costs: a stream beside a bare graph of five nodes, a refinement beside one rule."""

import argparse
import sys
import time
from typing import Any

import numpy as np
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from acegraph.graph import TrainingPipeline, generate_transactions
from acegraph.nodes import Curator
from acegraph.nodes.curator.refine import refine
from acegraph.nodes.evidence.proof_levels import gate_of
from acegraph.nodes.reflector.induction import induce
from acegraph.nodes.rules.points import NO_LANGUAGE_MODEL, log_odds_over
from acegraph.state import APPROVE, DECLINE, AceContext, BulletPlaybook, Case, Condition


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


def refinement_in_inductions(cases: int = 10_000, bullets: int = 25) -> float:
    """How many inductions of a rule a refinement takes, with twenty fields and so many bullets."""
    rng, node = np.random.default_rng(1), AceContext().node
    numbers = rng.normal(size=(cases, 20)).round(2)
    odds = 2 * (numbers[:, :6] > 0.5).sum(axis=1) - 4.0
    fraud = rng.random(cases) < 1 / (1 + np.exp(-odds))
    playbook = BulletPlaybook()
    playbook.remember(
        [
            Case(str(i), {f"x{j}": float(x) for j, x in enumerate(row)}, verdict)
            for i, (row, verdict) in enumerate(
                zip(numbers, np.where(fraud, DECLINE, APPROVE).tolist(), strict=True)
            )
        ],
        node,
    )
    ours = NO_LANGUAGE_MODEL
    for i in range(bullets):
        rule = Condition.parse(f"DECLINE when x{i % 20} >= {1 + i // 20}")
        playbook.add_bullet(rule.render(), node, condition=rule, origin={"author": ours})
    table, active = playbook.cases(node), playbook.get_bullets_for_node(node)
    log_odds, gate = log_odds_over(table, active), gate_of("standard")
    wrong = next(case for case in table if case.label == DECLINE)
    started = time.process_time()
    induce(wrong.fields, wrong.label, table, log_odds, gate=gate)
    once = time.process_time() - started
    started = time.process_time()
    refine(playbook, node, Curator())
    return (time.process_time() - started) / once


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
    refinement_in_inductions(500)  # the first of a process imports what it needs
    inductions = refinement_in_inductions()
    out(
        f"refining 10,000 cases of 20 fields, 25 bullets: {inductions:.0f} inductions (60 wanted)\n"
    )
    return int(learning > 5 * bare)


if __name__ == "__main__":
    sys.exit(main())
