"""`acegraph serve --stdin`: decisions and labels as JSON lines, from any event bus.

A line goes out for each line that came in, after the commit. Whoever forwards lines remembers the
last one that was answered: what comes again counts once.
"""

import json
import os
import sys
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final, cast

import typer

from acegraph.state import AceError, InvalidInput
from acegraph.state.values import each_name_once

if TYPE_CHECKING:
    from acegraph.graph.build import Parts
    from acegraph.state import AceContext, AceInput, BulletPlaybook, Label

_AT_ONCE: Final = 65_536
"""So many bytes are read at a time."""
_DECISION: Final = ("transaction", "decision_id", "ground_truth")


def answer_lines(playbook: "BulletPlaybook", context: "AceContext") -> None:
    """Answer the lines of standard input until it ends."""
    from acegraph.graph.build import gather_parts

    parts = gather_parts(playbook, context=context)
    for lines in _batches():
        for answer in _answers(parts, lines, learn=context.learn is not False):
            typer.echo(json.dumps(answer, ensure_ascii=False))
        sys.stdout.flush()


def _batches() -> Iterator[list[bytes]]:
    """The lines that have come by the time at which those before are answered."""
    begun = b""
    while come := os.read(0, _AT_ONCE):
        *lines, begun = (begun + come).split(b"\n")
        yield lines
    yield [begun]


def _answers(parts: "Parts", lines: list[bytes], *, learn: bool) -> Iterator[dict[str, object]]:
    from acegraph.graph.operations.decide import decide_many
    from acegraph.graph.operations.feedback import feedback_many

    for kind, some in groupby((_read(line) for line in lines if line.strip()), key=type):
        if kind is dict:
            given = [cast("AceInput", one) for one in some]
            for item, answer in zip(given, decide_many(parts, given), strict=True):
                if isinstance(answer, AceError):
                    yield _refused(item["decision_id"], answer)
                else:
                    yield dict(answer)
        elif kind is tuple:
            labels = [cast("tuple[str, Label]", one) for one in some]
            unknown = feedback_many(parts.playbook, labels, learn=learn).unknown
            for decision_id, label in labels:
                status = "unknown" if decision_id in unknown else "stored"
                yield {"decision_id": decision_id, "label": label.value, "status": status}
        else:
            yield from (json.loads(str(answer)) for answer in some)


def _read(line: bytes) -> object:
    """A decision as its input, a label with the id of its decision, or a refusal as text."""
    from acegraph.graph.operations.feedback import check_names, read_label

    item: object = {}
    try:
        item = json.loads(line, object_pairs_hook=each_name_once)
        if not isinstance(item, dict):
            raise InvalidInput("a line is one JSON object")
        if "label" in item:
            return read_label(item)
        check_names(item, _DECISION, _DECISION[:2])
    except ValueError as error:  # InvalidInput is one
        why = error if isinstance(error, InvalidInput) else InvalidInput("a line is no JSON")
        decision_id = item.get("decision_id") if isinstance(item, dict) else None
        return json.dumps(_refused(decision_id, why))
    return item


def _refused(decision_id: object, error: AceError) -> dict[str, object]:
    return {
        "decision_id": decision_id,
        "error": {"type": type(error).__name__, "message": str(error)},
    }
