"""`acegraph consume`: decisions and labels as JSON lines, from any event bus.

A line goes out for each line that came in, after the commit. Whoever forwards lines remembers the
last one that was answered: what comes again counts once.
"""

import json
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import groupby
from queue import Empty, Queue
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer

from acegraph.graph.cli.console import DEFAULT_URL, Learn, PlaybookUrl, Redact, lasting, warn
from acegraph.state.errors import AceError, InvalidInput, PlaybookError
from acegraph.state.values.transaction import each_name_once

if TYPE_CHECKING:
    from acegraph.graph.operations.decide import Decider
    from acegraph.state import BulletPlaybook

_END: Final = None
_PAUSE_SECONDS: Final = 0.5
_DECISION: Final = ("transaction", "decision_id", "ground_truth")
Line = Mapping[str, Any] | AceError


def consume(
    batch: Annotated[int, typer.Option(min=1, help="Lines in one write at most.")] = 250,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait for more lines before a write.")
    ] = 0.2,
    patience: Annotated[
        float, typer.Option(min=0, help="Seconds to go on trying while the database is away.")
    ] = 60.0,
    learn: Learn = True,
    redact: Redact = None,
    playbook: PlaybookUrl = DEFAULT_URL,
) -> None:
    """Read decisions and labels from standard input, and answer each with a line.

    A line is {"transaction": ..., "decision_id": ...} or {"decision_id": ..., "label": ...}. The
    answer comes after the commit. A line that comes again counts once.
    """
    from acegraph.graph.operations.decide import Decider
    from acegraph.state import AceContext

    with lasting(playbook) as book:
        context = AceContext(learn=None if learn else False, redact=redact or [])
        decider = Decider(book, context)
        for lines in _batches(sys.stdin, batch, wait):
            for answer in _patiently(decider, lines, patience, learn):
                typer.echo(json.dumps(answer, ensure_ascii=False))
            sys.stdout.flush()


def _batches(source: TextIO, size: int, wait: float) -> Iterator[list[Line]]:
    """The lines that come within a short time of each other."""
    lines: Queue[str | None] = Queue(maxsize=4 * size)

    def read() -> None:
        for line in source:
            lines.put(line)
        lines.put(_END)

    Thread(target=read, daemon=True).start()
    is_open = True
    while is_open:
        batch: list[Line] = []
        end: float | None = None
        while len(batch) < size:
            try:
                left = None if end is None else max(end - time.monotonic(), 0)
                line = lines.get(timeout=left)
            except Empty:
                break
            if line is _END:
                is_open = False
                break
            end = end or time.monotonic() + wait
            if line.strip():
                batch.append(_parsed(line))
        if batch:
            yield batch


def _parsed(line: str) -> Line:
    from acegraph.graph.operations.feedback import check_names

    try:
        item = json.loads(line, object_pairs_hook=each_name_once)
        if not isinstance(item, dict):
            return InvalidInput("a line is one JSON object")
        if "label" not in item:
            check_names(item, _DECISION, _DECISION[:2])
    except ValueError as error:  # InvalidInput is one
        return error if isinstance(error, InvalidInput) else InvalidInput("a line is no JSON")
    return item


def _patiently(
    decider: "Decider", lines: list[Line], patience: float, learn: bool
) -> list[dict[str, Any]]:
    """The answers; while the database is away it is tried again, which counts nothing twice."""
    end = time.monotonic() + patience
    while True:
        try:
            return list(_answers(decider, lines, learn))
        except PlaybookError as error:
            if time.monotonic() > end:
                raise
            warn(f"trying again: {error}")
            time.sleep(_PAUSE_SECONDS)


def _answers(decider: "Decider", lines: list[Line], learn: bool) -> Iterator[dict[str, Any]]:
    for kind, some in groupby(lines, _kind):
        if kind == "error":
            yield from ({"error": _in_json(one)} for one in some if isinstance(one, AceError))
        elif kind == "label":
            yield from _labelled(decider.playbook, list(some), learn)
        else:
            given: list[Any] = list(some)
            for item, answer in zip(given, decider.decide_many(given), strict=True):
                if isinstance(answer, AceError):
                    yield {"decision_id": item["decision_id"], "error": _in_json(answer)}
                else:
                    yield dict(answer)


def _kind(line: Line) -> str:
    if isinstance(line, AceError):
        return "error"
    return "label" if "label" in line else "decision"


def _labelled(
    playbook: "BulletPlaybook", lines: list[Any], learn: bool
) -> Iterator[dict[str, Any]]:
    from acegraph.graph.operations.feedback import feedback_many, read_label

    labels, errors = {}, {}
    for number, line in enumerate(lines):
        try:
            labels[number] = read_label(line)
        except InvalidInput as error:
            errors[number] = error
    unknown = set(feedback_many(playbook, labels.values(), learn=learn).unknown)
    for number, line in enumerate(lines):
        if number in errors:
            yield {"decision_id": line.get("decision_id"), "error": _in_json(errors[number])}
        else:
            decision_id, label = labels[number]
            status = "unknown" if decision_id in unknown else "stored"
            yield {"decision_id": decision_id, "label": label.value, "status": status}


def _in_json(error: AceError) -> dict[str, str]:
    return {"type": type(error).__name__, "message": str(error)}
