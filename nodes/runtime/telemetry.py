"""OpenTelemetry for whoever uses it: a span for each node and each decision, and counts.

Nothing is imported here: a process that records telemetry has imported `opentelemetry`. Spans name
ids, settings and verdicts, never a transaction.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any, Final

from acegraph.state import AceState

_NAME: Final = "ace"


@cache
def _tracer(trace: ModuleType) -> Any:
    return trace.get_tracer(_NAME)


@cache
def _counter(metrics: ModuleType) -> Any:
    """The counter of decisions, made once: OpenTelemetry keeps each that is made."""
    meter = metrics.get_meter(_NAME)
    return meter.create_counter(f"{_NAME}.decisions", description="Decisions given.")


@contextmanager
def node_span(step: str) -> Iterator[Any]:
    """A span around the body of a node; None where nobody records."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        yield None
        return
    # The text of an exception may repeat what it was given: only its kind is told.
    quiet = {"record_exception": False, "set_status_on_exception": False}
    with _tracer(trace).start_as_current_span(f"{_NAME}.{step}", **quiet) as span:
        try:
            yield span
        except Exception as error:
            span.set_attribute("error.type", type(error).__name__)
            raise


def note_decision(state: AceState, began: int | None = None) -> None:
    """Count a decision; with a beginning, in nanoseconds, it gets a span of its own."""
    trace = sys.modules.get("opentelemetry.trace")
    metrics = sys.modules.get("opentelemetry.metrics")
    if trace is None and metrics is None:
        return
    said = attributes_of(state)
    if trace is not None and began is not None:
        _tracer(trace).start_span(f"{_NAME}.decision", attributes=said, start_time=began).end()
    if metrics is not None:
        names = ("decision", "ace_mode", "playbook_version")
        _counter(metrics).add(1, {name: said[name] for name in names})


def trace_metadata(state: AceState) -> dict[str, object]:
    """What traces of the models that are asked say of a run; the model names itself there."""
    settings = state["settings"]
    return {
        "decision_id": state["case"]["id"],
        "ace_mode": settings["mode"],
        "ace_node": settings["node"],
        "playbook_version": state["playbook_version"],
    }


def attributes_of(state: AceState) -> dict[str, Any]:
    """What a span says of a run: which decision it belongs to."""
    decision = state.get("decision")
    return trace_metadata(state) | ({"decision": decision} if decision else {})
