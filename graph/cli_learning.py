"""The commands that show learning and reading: demo, compare, read."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from acegraph.graph.console import (
    DEFAULT_URL,
    AsJson,
    Concurrency,
    Label,
    PlaybookUrl,
    Positive,
    Text,
    err,
    print_experiment,
    print_json,
    print_table,
    progress_bar,
    refuse_others,
    say,
)
from acegraph.nodes.reader import read_fields
from acegraph.state import InvalidDataset, InvalidInput, InvalidSettings, Transaction

_LOOKED_AT = 200
"""Rows of a file that tell whether anything can be read from it."""
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
    from acegraph.graph.challengers import check_challengers
    from acegraph.graph.experiment import run_demonstration
    from acegraph.graph.pictures import check_picture, draw_learning_curves
    from acegraph.nodes.providers import EMBEDDED_NAME, chat_model
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
        from acegraph.graph.cli_champion import challenge

        applies = ("file", "label", "text", "positive", "challenger", "costs", "playbook")
        refuse_others(options, "--challenger", (*applies, "as_json"))

        challenge(challenger, file, label, text, positive, None, costs, playbook, as_json)
        return
    others = [name for name in options.params if name != "playbook"]
    refuse_others(options, "compare without --challenger", others)
    from acegraph.graph.challengers import check_challengers
    from acegraph.graph.costs import CostMatrix
    from acegraph.graph.experiment import Plan, run_experiment
    from acegraph.graph.pictures import check_picture, draw_all, draw_learning_curves
    from acegraph.nodes.gate import gate_of
    from acegraph.nodes.providers import chat_model
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
    from acegraph.graph.proofs import left_out, proofs
    from acegraph.graph.splits import random_splits

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


def read(
    given: Annotated[str, typer.Argument(help="A text, a JSON object, or a labelled file.")],
    label: Label = None,
    text: Text = None,
    positive: Positive = None,
    as_json: AsJson = False,
) -> None:
    """Show what the reader makes of a transaction or a file, and what it ignores."""
    from acegraph.graph.reading import explain, explain_file
    from acegraph.graph.report import reading_table

    if _names_a_file(given):
        found = explain_file(load_items(Path(given), label, text, positive))
    else:
        found = explain(Transaction.of(given_transaction(given)))
    if as_json:
        print_json(asdict(found))
        return
    print_table(reading_table(found))
    say(f"ignored: {', '.join(found.ignored) or 'nothing'}")


def _names_a_file(given: str) -> bool:
    try:
        return Path(given).suffix.lower() in (".csv", ".json", ".jsonl") or Path(given).exists()
    except (OSError, ValueError):  # too long for a name, or not one at all
        return False


def _splits(
    files: tuple[Path | None, Path | None, Path | None],
    columns: tuple[str | None, str | None, str | None],
    sizes: tuple[int | None, int | None, int],
    kind: str,
    time: str | None,
) -> list[Any]:
    from acegraph.graph.splits import Split, random_splits, temporal_splits

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


def given_transaction(given: str) -> Any:
    """A transaction from a command line: text, or fields as JSON."""
    if not given.lstrip().startswith("{"):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the transaction begins with {{ and is not JSON: {error}") from None


def load_items(file: Path, label: str | None, text: str | None, positive: str | None) -> list[Any]:
    """The labelled cases of a file."""
    from acegraph.graph.dataset import load_dataset

    query = text or (None if label else "query")
    items = load_dataset(file, query=query, answer=label or "answer", positive=positive)
    given = [Transaction.of(item["query"]) for item in items[:_LOOKED_AT]]
    if not any(map(read_fields, given)):
        err.print(f"{file}: nothing could be read from its texts (see 'acegraph read {file}')")
    return items
