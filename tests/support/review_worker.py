"""A run that is paused for a person, and the process that dies while it waits."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph.state import CompiledStateGraph
from psycopg.rows import dict_row

from acegraph.graph import create_ace_graph
from acegraph.graph.server.checkpoints import strict_serializer
from acegraph.state import AceContext, BulletPlaybook

ASK = AceContext(mode="online", policy={"review_from": 0, "review_to": 1})
RULE = "DECLINE when amount >= 100"
LEARNED = "APPROVE when amount >= 400 and hour >= 9"
GIVEN = {"transaction": {"amount": 500, "hour": 12}, "decision_id": "d"}


@contextmanager
def opened(url: str) -> Iterator[Any]:
    """A checkpointer on a database of its own connection, as each process would have it."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), check_same_thread=False)
        try:
            yield SqliteSaver(connection, serde=strict_serializer())
        finally:
            connection.close()
        return
    with psycopg.Connection.connect(url, autocommit=True, row_factory=dict_row) as connection:
        yield PostgresSaver(connection, serde=strict_serializer())


def graph_on(playbook: BulletPlaybook, saver: Any = None) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph with an agent that follows the rule and a reflector that always learns."""
    return create_ace_graph(
        playbook=playbook,
        agent=lambda given: {"decision": "DECLINE", "risk_score": 0.5, "reasons": ["rule"]},
        reflector=lambda given: {"new_bullet": LEARNED, "confidence": 0.9},
        context=ASK,
        review=True,
    ).compile(checkpointer=saver)


def pause_and_die(playbook_url: str, saver_url: str, config: Any) -> None:
    """Start a run; once it waits, end without a word."""
    with BulletPlaybook(playbook_url) as playbook, opened(saver_url) as saver:
        paused = graph_on(playbook, saver).invoke(GIVEN, config)
        os._exit(9 if "__interrupt__" in paused else 1)
