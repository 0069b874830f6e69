"""`acegraph monitor`: what changed lately; where somebody should look, it exits with 1."""

from typing import Annotated

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    AsJson,
    PlaybookUrl,
    lasting,
    print_json,
    say,
)


def monitor(
    days: Annotated[float, typer.Option(min=0.01, help="How many days to look back.")] = 7.0,
    most_waiting: Annotated[
        int, typer.Option(min=0, help="Alert when more than this wait for a person.")
    ] = 100,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Say what changed in the last days: drift, bullets that turned bad, queues, labels.

    Exits with 1 where somebody should look. Run it every hour or day, for instance by cron.
    """
    from acegraph.graph.operations.monitoring.watch import watch

    with lasting(playbook, must_exist=True) as book:
        found = watch(book, days=days, most_waiting=most_waiting)
    if as_json:
        print_json(found.to_json())
    else:
        say(f"{found.decisions} decisions in {days:g} days, {found.labels} labels")
        if not found.stability:
            say(f"too few payments, or too few of the {found.trained} training rows, to see drift")
        for name, index in sorted(found.stability.items(), key=lambda pair: -pair[1]):
            say(f"  {index:6.2f}  {name}")
        for alert in found.alerts:
            say(f"{alert.kind}: {alert.text}")
    if found.alerts:
        raise typer.Exit(1)
