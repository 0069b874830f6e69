"""What `acegraph compare --challenger` does: two versions of a playbook on the same cases."""

from pathlib import Path
from typing import Annotated

import typer

from acegraph.graph.console import (
    DEFAULT_URL,
    AsJson,
    Label,
    PlaybookUrl,
    Positive,
    Text,
    lasting,
    print_json,
    progress_bar,
    say,
)


def challenge(
    version: Annotated[int, typer.Argument(help="The version that challenges today's.")],
    file: Annotated[
        Path | None,
        typer.Argument(help="Labelled cases; without, what it said in shadow.", show_default=False),
    ] = None,
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    amount: Annotated[str | None, typer.Option(help="Field that mistakes cost in full.")] = None,
    costs: Annotated[
        str, typer.Option(help="Price of a mistake, as missed_fraud=5, false_decline=1")
    ] = "",
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Compare a version of the playbook with today's on the same labelled cases.

    Without a file: with what it decided in shadow on the live stream (AceContext(challenger=...)).
    """
    from acegraph.graph.champion import Costs, Duel, duel, live_duel
    from acegraph.graph.cli_learning import load_items

    prices = Costs.parse(costs, amount)
    with lasting(playbook, must_exist=True) as book, progress_bar() as told:
        found: Duel
        if file is None:
            found = live_duel(book, version, costs=prices)
        else:
            items = load_items(file, label, text, positive)
            found = duel(book, version, items, costs=prices, progress=told(None))
    if as_json:
        print_json(found.to_json())
    else:
        _say(found.to_json())


def _say(found: dict[str, dict[str, float]]) -> None:
    from acegraph.graph.evaluation import p_words

    for role in ("champion", "challenger"):
        figures = found[role]
        name = "in force" if figures["version"] is None else f"version {figures['version']}"
        share = (
            "none decided" if figures["accuracy"] is None else f"{figures['accuracy']:.3f} right"
        )
        say(f"{role:<11} {name:<12} {share}, {figures['undecided_rate']:.3f} undecided")
    paired, cost, costs = found["paired"], found["cost_difference"], found["costs"]
    say(
        f"{found['cases']} cases: the challenger alone was right on {paired['gained']}, the "
        f"champion alone on {paired['lost']} (McNemar's exact test, {p_words(paired['p_value'])})"
    )
    unit = f"times {costs['amount']}" if costs["amount"] else "each"
    say(
        f"cost, challenger minus champion: {cost['mean']:+.2f}, 95 % interval {cost['low']:+.2f} "
        f"to {cost['high']:+.2f} (a false decline {costs['false_decline']:g}, a missed fraud "
        f"{costs['missed_fraud']:g}, {unit})"
    )
