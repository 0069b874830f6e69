"""OpenTelemetry for whoever uses it: a span for each node, or for a decision of many.

Nothing is imported here: a process that records telemetry has imported `opentelemetry`. Spans name
ids, settings and verdicts, never a transaction.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import ModuleType
from typing import Any, Final

from acegraph.state import AceState

_NAME: Final = "ace"


def node_span(step: str) -> AbstractContextManager[Any]:
    """A span around the body of a node; None where nobody records."""
    trace = sys.modules.get("opentelemetry.trace")
    return _span(trace, step) if trace and _is_set_up(trace) else nullcontext()


def _is_set_up(trace: ModuleType) -> bool:
    """Whether somebody has said where spans go."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def _span(trace: ModuleType, step: str) -> Iterator[Any]:
    # The text of an exception may repeat what it was given: only its kind is told.
    quiet = {"record_exception": False, "set_status_on_exception": False}
    tracer = trace.get_tracer(_NAME)
    with tracer.start_as_current_span(f"{_NAME}.{step}", **quiet) as span:
        try:
            yield span
        except Exception as error:
            span.set_attribute("error.type", type(error).__name__)
            raise


def note_decision(state: AceState, began: int) -> None:
    """Give a decision a span of its own; it began so many nanoseconds after 1970."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace and _is_set_up(trace):
        tracer, said = trace.get_tracer(_NAME), attributes_of(state)
        tracer.start_span(f"{_NAME}.decision", attributes=said, start_time=began).end()


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
