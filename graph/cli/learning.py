"""`acegraph train`, `demo`, `compare`, `challenge`, `prove`: learn from a file, and measure it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from acegraph.graph.cli.console import (
    DEFAULT_URL,
    AsJson,
    Concurrency,
    Label,
    PlaybookUrl,
    Positive,
    Text,
    err,
    lasting,
    load_items,
    print_experiment,
    print_json,
    print_table,
    print_usage,
    progress_bar,
    refuse_others,
    say,
)
from acegraph.state import InvalidDataset, InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acegraph.graph.training.pipeline import TrainingReport
    from acegraph.state import Bullet


def train(
    file: Annotated[Path, typer.Argument(help="JSON list, JSON lines or CSV of labelled cases.")],
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    online: Annotated[bool, typer.Option(help="Learn as a stream instead of as history.")] = False,
    concurrency: Concurrency = 1,
    max_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop before more calls to language models.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="Stop when so many tokens are spent.")
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    as_json: AsJson = False,
) -> None:
    """Learn bullets from a labelled file into a playbook."""
    from acegraph.graph.training.pipeline import TrainingPipeline

    items = load_items(file, label, text, positive)
    with lasting(playbook) as book, progress_bar() as told:
        pipeline = TrainingPipeline(
            book,
            progress=told(None),
            concurrency=concurrency,
            max_calls=max_calls,
            max_tokens=max_tokens,
        )
        try:
            report = pipeline.train_online(items) if online else pipeline.train_offline(items)
        except KeyboardInterrupt:
            say(
                f"interrupted; what was learned so far is kept in {playbook}; run it again to go on"
            )
            raise
        bullets = book.get_bullets_for_node(pipeline.context.node)
    if as_json:
        print_json(report.to_json())
        return
    _tell_training(report, bullets, playbook)


def _tell_training(report: "TrainingReport", bullets: "Sequence[Bullet]", playbook: str) -> None:
    from acegraph.graph.cli.tables import bullet_table

    say(
        f"{report.cases} case(s), {report.mistakes} mistake(s), {report.bullets_added} bullet(s) "
        f"added, {report.bullets_active} active in {playbook}"
    )
    if report.stopped:
        say(f"stopped: {report.stopped}; what was learned is kept, run it again to go on")
    print_usage()
    if bullets:
        print_table(bullet_table(bullets, "Active bullets"))
    elif report.repeated == report.cases:
        say(
            "Nothing was learned: this playbook learned from all of these cases before, and does "
            "so once. Another --playbook starts anew."
        )
    else:
        say("Nothing was learned: no rule did better than chance explains.")


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
    from acegraph.graph.cli.console import load_items
    from acegraph.graph.experiments.duel import Costs, Duel, duel, live_duel

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
    from acegraph.graph.metrics.paired import p_words

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


ShuffleLabels = Annotated[
    bool, typer.Option(help="Deal the labels out at random: nothing can be learned then.")
]


def demo(
    seeds: Annotated[int, typer.Option(min=1, help="How many independent worlds to average.")] = 1,
    train: Annotated[int, typer.Option(min=20, help="Labelled cases to learn from.")] = 400,
    test: Annotated[int, typer.Option(min=20, help="Held-out cases in the stream.")] = 600,
    shuffle_labels: ShuffleLabels = False,
    model: Annotated[
        str | None, typer.Option(help="A chat model instead of the embedded analyst (needs a key).")
    ] = None,
    concurrency: Concurrency = 1,
    picture: Annotated[Path, typer.Option(help="Where to write the learning curves.")] = Path(
        "out/learning_curves.png"
    ),
    as_json: AsJson = False,
) -> None:
    """Learn on generated transactions, then decide a held-out stream in every mode.

    Prints all modes beside plain learners on the same rows and the best attainable, ranking and
    money, and the bullets that were learned; writes a picture. Needs no key and no network.
    """
    from acegraph.graph.experiments.baselines import check_challengers
    from acegraph.graph.experiments.experiment import run_demonstration
    from acegraph.graph.experiments.pictures import check_picture, draw_learning_curves
    from acegraph.nodes.models.providers import EMBEDDED_NAME, chat_model
    from acegraph.state import AceContext

    if model:
        chat_model("agent", model)  # says at once what is missing
        context = AceContext(agent_model=model)
    else:  # whatever key is set: a demonstration costs nothing
        embedded = dict.fromkeys(("agent_model", "judge_model", "reflector_model"), EMBEDDED_NAME)
        context = AceContext(**embedded, embedding_model=EMBEDDED_NAME)
    check_challengers()
    check_picture(picture)
    with progress_bar() as told:
        found, attainable = run_demonstration(
            seeds,
            train,
            test,
            shuffle_labels=shuffle_labels,
            context=context,
            progress=told,
            concurrency=concurrency,
        )
    if as_json:
        print_json(found.to_json())
    else:
        print_experiment(found, model, expected=True)
        say(f"Learning curves: {picture}")
    draw_learning_curves(found.modes, picture, best=attainable)


def compare(
    options: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="One labelled file, split.")] = None,
    train_file: Annotated[Path | None, typer.Option(help="Labelled cases to learn from.")] = None,
    test_file: Annotated[Path | None, typer.Option(help="Labelled cases to decide.")] = None,
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    train: Annotated[
        int | None, typer.Option(min=2, help="Training rows per seed. Not given: 40 % of the file.")
    ] = None,
    test: Annotated[
        int | None, typer.Option(min=2, help="Test rows per seed. Not given: what is left.")
    ] = None,
    challenger: Annotated[
        int | None,
        typer.Option(help="Compare this version of --playbook with today's instead."),
    ] = None,
    playbook: PlaybookUrl = DEFAULT_URL,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits.")] = 1,
    split: Annotated[str, typer.Option(help="random, or temporal: learn from before.")] = "random",
    time: Annotated[str | None, typer.Option(help="Column of the time; else found.")] = None,
    delay_days: Annotated[
        float | None, typer.Option(min=0, help="Also decide with labels that come so much later.")
    ] = None,
    label_noise: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share of training labels to turn round.")
    ] = 0.0,
    shuffle_labels: ShuffleLabels = False,
    gate: Annotated[str, typer.Option(help="off, lenient, standard or strict.")] = "standard",
    credit: Annotated[
        str, typer.Option(help="part: bullets that fired; selected: all shown.")
    ] = "part",
    costs: Annotated[
        str,
        typer.Option(
            help="What mistakes cost, in shares of the amount: missed_fraud=1, false_decline=0.1 "
            "unless given; with --challenger in prices per case: missed_fraud=5, false_decline=1."
        ),
    ] = "",
    baselines: Annotated[bool, typer.Option(help="Fit plain learners on the same rows.")] = True,
    concurrency: Concurrency = 1,
    picture: Annotated[Path | None, typer.Option(help="Write learning curves here.")] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Write all pictures into this folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare all modes, and plain learners, on your own labelled data.

    Example: acegraph compare cards.csv --label is_fraud --train 500 --test 1000 --seeds 5
    """
    if challenger is not None:
        applies = ("file", "label", "text", "positive", "challenger", "costs", "playbook")
        refuse_others(options, "--challenger", (*applies, "as_json"))

        challenge(challenger, file, label, text, positive, None, costs, playbook, as_json)
        return
    others = [name for name in options.params if name != "playbook"]
    refuse_others(options, "compare without --challenger", others)
    from acegraph.graph.experiments.baselines import check_challengers
    from acegraph.graph.experiments.experiment import Plan, run_experiment
    from acegraph.graph.experiments.pictures import check_picture, draw_all, draw_learning_curves
    from acegraph.graph.metrics.costs import CostMatrix
    from acegraph.nodes.evidence.proof_levels import gate_of
    from acegraph.nodes.models.providers import chat_model
    from acegraph.state import AceContext

    if time and split != "temporal" and delay_days is None:
        raise InvalidSettings("--time goes with --split temporal or --delay-days")
    agent = chat_model("agent", None)
    for path in (picture, pictures / "all.png" if pictures else None):
        if path:
            check_picture(path)
    if baselines:
        check_challengers()
    gate_of(gate)
    plan = Plan(gate, label_noise, shuffle_labels, delay_days, time, CostMatrix.parse(costs))  # type: ignore[arg-type]
    context = AceContext().with_changes(credit=credit)
    files = (file, train_file, test_file)
    splits = _splits(files, (label, text, positive), (train, test, seeds), split, time)
    with progress_bar() as told:
        found = run_experiment(
            splits,
            context=context,
            progress=told,
            baselines=baselines,
            plan=plan,
            concurrency=concurrency,
        )
    if as_json:
        print_json(found.to_json())
    else:
        print_experiment(found, agent.name if agent else None)
    if picture:
        draw_learning_curves(found.modes, picture)
    if pictures:
        draw_all(found, pictures)
    for where in filter(None, (picture, pictures)):
        err.print(f"Pictures: {where}", highlight=False)


def prove(
    file: Annotated[
        Path | None, typer.Argument(help="Labelled cases; generated ones if not given.")
    ] = None,
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    train: Annotated[int, typer.Option(min=20, help="Training rows per seed.")] = 500,
    test: Annotated[int, typer.Option(min=20, help="Test rows per seed.")] = 1000,
    seeds: Annotated[int, typer.Option(min=1, help="How many splits.")] = 10,
    only: Annotated[
        str, typer.Option(help="Of noise, shuffles, credit, drift, growth, delay; else all.")
    ] = "",
) -> None:
    """Prove learning where it is hard: wrong labels, no labels, drift, growth, late labels.

    Takes minutes. Drift and growth use generated streams; the others also run on your file.
    """
    from acegraph.graph.data.splits import random_splits
    from acegraph.graph.experiments.proofs import left_out, proofs

    items = load_items(file, label, text, positive) if file else None
    many = max(seeds, 20)
    splits = list(random_splits(items, train, test, many)) if items else None
    available = proofs(splits, items, train, test, seeds)
    wanted = only.split(",") if only else list(available)
    for name in wanted:
        if name not in available:
            raise InvalidSettings(f"a proof is one of {', '.join(available)}, not {name!r}")
    for name, why in left_out(items).items():
        if only and name in wanted:
            raise InvalidDataset(f"{file}: no proof of {name}: {why}")
        if name in wanted:
            say(f"{name} is left out: {why}")
            wanted.remove(name)
    for name in wanted:
        for line in available[name]():
            say(line)


def _splits(
    files: tuple[Path | None, Path | None, Path | None],
    columns: tuple[str | None, str | None, str | None],
    sizes: tuple[int | None, int | None, int],
    kind: str,
    time: str | None,
) -> list[Any]:
    from acegraph.graph.data.splits import Split, random_splits, temporal_splits

    match files:
        case Path() as file, None, None:
            items = load_items(file, *columns)
            if kind == "random":
                return list(random_splits(items, *sizes))
            if kind == "temporal":
                return list(temporal_splits(items, *sizes, time))
            raise InvalidSettings(f"a split is random or temporal, not {kind!r}")
        case None, Path() as past, Path() as stream:
            if kind != "random" or sizes != (None, None, 1):
                raise InvalidSettings(
                    "--train-file and --test-file are the split: leave out --train, --test, "
                    "--seeds and --split"
                )
            return [Split(load_items(past, *columns), load_items(stream, *columns))]
        case _:
            raise InvalidSettings("compare wants FILE, or --train-file and --test-file")
