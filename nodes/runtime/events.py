"""What a run tells while it goes on: custom stream events, and metadata for traces.

An event names bullets and ids, never a value of a transaction. `graph.stream(...,
stream_mode="custom")` gives the events.
"""

from collections.abc import Iterator
from typing import Final, NotRequired

from langgraph.config import get_stream_writer
from typing_extensions import TypedDict

from acegraph.state import AceState
from acegraph.state.run.schema import Update

_LEARNED: Final = {
    "added": "bullet_learned",
    "revived": "bullet_learned",
    "held": "bullet_held",
    "duplicate": "bullet_refused",
    "refused": "bullet_refused",
}
"""The event for each thing that the curator may do with a proposal."""


class Event(TypedDict):
    """One custom stream event."""

    event: str
    decision_id: str
    bullet: NotRequired[str]
    reason: NotRequired[str]
    step: NotRequired[str]


def tell(events: Iterator[Event]) -> None:
    """Write events to the stream of the run that is under way."""
    writer = get_stream_writer()
    for event in events:
        writer(event)


def events_of(state: AceState, update: Update) -> Iterator[Event]:
    """What a node's update means: bullets shown, learned, held, refused, retired."""
    case = update["case"] if "case" in update else state["case"]
    if "bullets" in update:  # only the selector writes them
        for shown in update["bullets"]:
            yield {"event": "bullet_shown", "decision_id": case["id"], "bullet": shown["id"]}
        return  # what else it writes only resets the state
    curation = update.get("curation")
    if curation and state.get("reflection"):
        event: Event = {
            "event": _LEARNED[curation["action"]],
            "decision_id": case["id"],
            "reason": curation["reason"],
        }
        yield event | ({"bullet": curation["bullet_id"]} if curation["bullet_id"] else {})
    for bullet_id in curation["retired"] if curation else ():
        yield {"event": "bullet_retired", "decision_id": case["id"], "bullet": bullet_id}


def waiting_event(state: AceState, step: str) -> Iterator[Event]:
    """A person is asked."""
    yield {"event": "waiting_for_review", "decision_id": state["case"]["id"], "step": step}


def trace_metadata(state: AceState) -> dict[str, object]:
    """What traces of the models that are asked say of a run; the model names itself there."""
    settings = state["settings"]
    return {
        "decision_id": state["case"]["id"],
        "ace_mode": settings["mode"],
        "ace_node": settings["node"],
        "playbook_version": state["playbook_version"],
    }
