"""`acegraph learn`: learn in the background what runs with `learn_later` have left to learn."""

import time
from dataclasses import asdict
from typing import Annotated

import typer

from acegraph.graph.cli.console import announce_models, lasting
from acegraph.graph.cli.printing import print_usage, progress_bar, say, told_as_json, wants_json


def learn(
    watch: Annotated[
        float | None,
        typer.Option(min=0.1, help="Go on, and look for new lessons after so many seconds."),
    ] = None,
) -> None:
    """Learn the lessons that wait in the playbook's queue (AceContext(learn_later=True)).

    Example: acegraph learn --watch 60
    """
    from acegraph.graph.operations.learning.background import learn_waiting

    announce_models()
    with lasting(must_exist=True) as book:
        while True:
            with progress_bar() as progress:
                report = learn_waiting(book, progress=progress(None))
            if told_as_json(asdict(report)):
                pass
            elif report.lessons or report.failed or watch is None:
                added = ", ".join(report.bullets_added) or "none"
                say(f"{report.lessons} lesson(s) learned, {report.failed} failed; bullets: {added}")
            if watch is None:
                break
            time.sleep(watch)
    if not wants_json.get():
        print_usage()
