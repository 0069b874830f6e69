"""A process that runs the compiled graph on a shared playbook, until it is done or killed.

Each decision is acknowledged when the graph has returned: from then on it must never be lost.
"""

import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from langgraph.checkpoint.sqlite import SqliteSaver

from acegraph.graph import create_ace_graph
from acegraph.state import AceContext, BulletPlaybook, PlaybookError
from acegraph.state.ledger.ledger import DecisionAndLabel
from acegraph.state.values.decision import Recorded

T = TypeVar("T")


def case(worker: int, number: int) -> dict[str, object]:
    """A transaction with its answer. The agent declines all: every third is a mistake that the
    bullet has no part in, every ninth one that it shares.
    """
    fires = number % 3 != 0
    # Of a customer at a time: it is kept for later payments to look back on.
    who = {"customer_id": f"c{worker}", "at": "2026-01-31 13:00"}
    seen = {**who, "customer.payments_last_day": number}
    return {
        "transaction": {"amount": 1000 + number if fires else 10, **seen},
        "ground_truth": "DECLINE" if fires and number % 9 != 7 else "APPROVE",
        "decision_id": f"{worker}-{number}",
    }


def counted(worker: int, number: int) -> tuple[int, int, int]:
    """What one such decision adds to the bullet: helpful, harmful, selected."""
    if number % 3 == 0:
        return 0, 0, 0
    return (0, 1, 1) if number % 9 == 7 else (1, 0, 1)


def until_it_answers(call: Callable[[], T]) -> T:
    """The server may be away: who got no answer tries again."""
    while True:
        try:
            return call()
        except PlaybookError:
            continue


def run(
    url: str, worker: int, first: int, count: int, times: int, answers: Connection | None = None
) -> None:
    """Decide `count` transactions, starting with `first`, each sent several times."""
    with until_it_answers(lambda: BulletPlaybook(url)) as playbook:
        graph = create_ace_graph(
            playbook=playbook,
            agent=lambda given: {"decision": "DECLINE"},
            reflector=lambda given: None,
        ).compile()
        context = AceContext(mode="offline_online")
        for number in range(first, first + count):
            given = case(worker, number)
            for _ in range(times):
                until_it_answers(lambda given=given: graph.invoke(given, context=context))
            if answers is not None:
                answers.send(number)


class Dies(BulletPlaybook):
    """The process ends right after a decision was written."""

    def record_many(self, given: Sequence[DecisionAndLabel]) -> list[Recorded | PlaybookError]:
        super().record_many(given)
        os._exit(9)


def live(url: str, checkpoints: str, is_first: bool) -> None:
    """Decide and die between the write and its checkpoint; in a second life, go on from there."""
    book = (Dies if is_first else BulletPlaybook)(url)
    with SqliteSaver.from_conn_string(checkpoints) as saver:
        graph = create_ace_graph(playbook=book, agent=lambda given: "DECLINE").compile(saver)
        given: Any = {"transaction": {"amount": 900}, "ground_truth": "DECLINE"}
        config: Any = {"configurable": {"thread_id": "1"}}
        # The checkpoint before the crash is written, the one after it never is.
        result = graph.invoke(given if is_first else None, config, durability="sync")
        assert result["verdict"] == "right"
