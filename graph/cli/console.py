"""What the commands share: options, input from the command line, and output on the terminal."""

import inspect
import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Final
from unicodedata import category

import typer
from rich import progress
from rich.console import Console, RenderableType
from rich.text import Text

from acegraph.nodes.text.reader import read_fields
from acegraph.state import InvalidInput, InvalidSettings, Transaction
from acegraph.state.database.encoding import file_of
from acegraph.state.database.places import shown_url
from acegraph.state.values.transaction import each_name_once

if TYPE_CHECKING:
    from acegraph.graph.data.file_rows import Progress
    from acegraph.graph.data.files import Dataset, FileLayout, Item
    from acegraph.graph.experiments.experiment import Experiment
    from acegraph.graph.tables.labelled import DrawnRows, LabelledTable
    from acegraph.nodes.curator.curator import Curation
    from acegraph.state import BulletPlaybook
    from acegraph.state.values.verdict import Verdict

DEFAULT_URL: Final = "sqlite:///ace.db"
_ROWS_TRIED: Final = 200
"""Rows of a file that are tried before it is reported that nothing can be read from it."""
_PAGE: Final = 100
"""The least width of a table in characters; in a narrower one rich would cut figures off."""

_gathered: ContextVar[list[str] | None] = ContextVar("gathered_warnings", default=None)
out = Console()
err = Console(stderr=True)


def _url_of(place: str) -> str:
    """A database URL; the plain name of a SQLite file becomes one."""
    return f"sqlite:///{place}" if re.fullmatch(r"[\w./ +-]+\.(db|sqlite3?)", place) else place


def _names(given: Sequence[str] | None) -> list[str]:
    """The names of a repeated option, each of which may hold several with commas."""
    return [name.strip() for text in given or () for name in text.split(",") if name.strip()]


MODEL_HELP: Final = "The chat model that decides; else ACE_AGENT_MODEL, else the embedded analyst."
PlaybookUrl = Annotated[
    str,
    typer.Option(
        "--playbook",
        envvar="ACE_PLAYBOOK_URL",
        callback=_url_of,
        help="Where the playbook lives: a database URL, or the name of a file, as ace.db.",
    ),
]
Who = Annotated[str, typer.Option("--who", help="Who does it; the ledger keeps the name.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what it would do, on a copy; change nothing.")
]
Learn = Annotated[
    bool, typer.Option(help="Count decisions, and learn from labels that prove one wrong.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Concurrency = Annotated[
    int,
    typer.Option(min=1, help="Cases under way at once; worth it where language models answer."),
]
Jobs = Annotated[
    int, typer.Option(min=1, help="Seeds that run at once, each in a process of its own.")
]
Redact = Annotated[
    list[str] | None,
    typer.Option(
        "--redact",
        envvar="ACE_REDACT",
        callback=_names,
        help="A field whose value is never stored; several with commas, or given again.",
    ),
]
Drift = Annotated[
    bool,
    typer.Option(help="After a change of the fraud, older cases stop being evidence."),
]
Rates = Annotated[
    str | None,
    typer.Option(
        envvar="ACE_RATES",
        help="What one unit of a currency is worth in the base currency, as EUR=1.08,GBP=1.27: "
        "amounts are converted.",
    ),
]
MatureDays = Annotated[
    str | None,
    typer.Option(
        envvar="ACE_MATURE_DAYS",
        help="From which age in days on a source can call a payment honest, as no_chargeback=90: "
        "younger ones get no label.",
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(help="Write a report here: one HTML file with all tables and pictures."),
]
ShuffleLabels = Annotated[
    bool, typer.Option(help="Deal the labels out at random: nothing can be learned then.")
]


@dataclass(frozen=True)
class Columns:
    """Options of several commands: which columns of a labelled file hold what."""

    label: Annotated[
        str | None, typer.Option(help="Column or key of the right answer (else: answer).")
    ] = None
    text: Annotated[
        str | None,
        typer.Option(
            help="Column or key of the transaction's text (query if neither is given); with "
            "--label alone, all other columns are its fields."
        ),
    ] = None
    positive: Annotated[
        str | None, typer.Option(help="The label that means fraud, unless it is a usual word or 1.")
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; several with commas, or given again."),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(help="A column to use although it looks like a leak or has many values."),
    ] = None
    id: Annotated[str | None, typer.Option(help="Column of the row's id (else: id).")] = None
    time: Annotated[
        str | None, typer.Option(help="Column of the time: a date, or seconds; else found.")
    ] = None
    amount: Annotated[
        str | None, typer.Option(help="Column of the amount, which mistakes cost.")
    ] = None
    day_first: Annotated[
        bool | None,
        typer.Option("--day-first/--month-first", help="How 01/02/2025 is meant; else found."),
    ] = None
    rates: Rates = None
    derive: Annotated[
        bool,
        typer.Option(
            "--derive",
            help="Derive fields from earlier rows of the same customer, card, device and merchant.",
        ),
    ] = False

    @property
    def layout(self) -> "FileLayout":
        """The options as the reader takes them."""
        from acegraph.graph.data.files import FileLayout
        from acegraph.state import AceContext

        return FileLayout(
            query=self.text or (None if self.label else "query"),
            answer=self.label or "answer",
            positive=self.positive,
            ids=self.id or "id",
            drop=_names(self.drop),
            keep=_names(self.keep),
            time=self.time,
            amount=self.amount,
            day_first=self.day_first,
            rates=AceContext().with_changes(rates=self.rates or {}).rates or {},
        )

    @property
    def words(self) -> list[str]:
        """The options as they are typed, those that were given."""
        words: list[str] = []
        for name, value in vars(self).items():
            if name == "day_first" and value is not None:
                words.append("--day-first" if value else "--month-first")
            elif name == "derive":
                words += ["--derive"] if value else []
            elif value is not None:
                values = value if isinstance(value, list) else [value]
                words += [word for one in values for word in (f"--{name}", one)]
        return words

    def read(self, file: Path) -> "Dataset":
        """The labelled rows of a file, with how they were read; shows its progress."""
        return self._read_all([file])[0]

    def _read_all(self, files: Sequence[Path]) -> "list[Dataset]":
        """Several files; derived fields of a file also come from the files before it."""
        from acegraph.graph.data.earlier_rows import EarlierRows
        from acegraph.graph.data.files import read_dataset

        earlier = EarlierRows() if self.derive else None
        with progress_bar() as progress:
            return [read_dataset(file, self.layout, progress(None), earlier) for file in files]

    def load(self, file: Path) -> "list[Item]":
        """The labelled rows of a file as it is; what a person should know is reported."""
        return self._reported(file, self.read(file)).items

    def load_to_learn(self, file: Path, *others: Path) -> "list[Dataset]":
        """The rows of files to learn from or test on, all without what looks like a leak in the
        first.
        """
        files = [file, *others]
        return self.without_leaks(list(map(self._reported, files, self._read_all(files))))

    def draw_to_learn(
        self, file: Path, table: "LabelledTable", known: "Mapping[int, Verdict]"
    ) -> "DrawnRows":
        """Rows that are drawn from a whole table to learn from, and those that are known with other
        labels; shows its progress.
        """
        with progress_bar() as progress:
            drawn = table.draw(progress(None), known)
        dataset = replace(drawn.dataset, unlabelled=drawn.unlabelled)
        (dataset,) = self.without_leaks([self._reported(file, dataset)])
        return replace(drawn, dataset=dataset)

    def without_leaks(self, datasets: "list[Dataset]") -> "list[Dataset]":
        """Data sets without the fields that look like a leak in the first."""
        from acegraph.graph.data.leakage import ENOUGH, find_leaks, has_enough

        leaks = find_leaks(datasets[0])
        if not has_enough(datasets[0]):
            warn(f"fewer than {ENOUGH} rows of a label: no column was checked for leaks")
        for name, why in leaks.items():
            warn(f"{name} left out: {why}; --keep {shlex.quote(name)} uses it")
        return [dataset.without(leaks.keys()) for dataset in datasets]

    def _reported(self, file: Path, dataset: "Dataset") -> "Dataset":
        for note in dataset.notes:
            warn(note)
        if dataset.unlabelled:
            warn(f"{file}: {dataset.unlabelled} rows have no label: left out")
        first = [Transaction.of(item["query"]) for item in dataset.items[:_ROWS_TRIED]]
        if not any(map(read_fields, first)):
            warn(f"{file}: nothing could be read from its texts (see 'acegraph read {file}')")
        return dataset


@dataclass(frozen=True)
class RiskOptions:
    """Options of several commands: from which risk on a payment is declined."""

    costs: Annotated[
        str | None,
        typer.Option(
            envvar="ACE_COSTS",
            help="What mistakes cost, as missed_fraud=1,false_decline=0.1,decline_fee=5: they "
            "decide from which risk on a payment is declined. Else the labelled cases decide.",
        ),
    ] = None
    base_rate: Annotated[
        float | None,
        typer.Option(help="The share of fraud among your payments, if the labels have another."),
    ] = None


@dataclass(frozen=True)
class DecidingOptions(RiskOptions):
    """Options of several commands: who decides, and from which risk on a payment is declined."""

    agent_model: Annotated[str | None, typer.Option("--model", help=MODEL_HELP)] = None


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take its options in groups, each group a dataclass.

    Typer reads a signature in which the fields of each group stand in the place of the group. The
    command gets the groups.
    """
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    groups: dict[str, type] = {
        parameter.name: parameter.annotation
        for parameter in parameters
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)
    }
    options: list[inspect.Parameter] = []
    for parameter in parameters:
        group = groups.get(parameter.name)
        options += inspect.signature(group).parameters.values() if group else [parameter]

    @wraps(command)
    def run(**values: object) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    by_name = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    run.__dict__["__signature__"] = inspect.Signature(by_name)
    return run


def announce_models(agent: str | None = None) -> None:
    """Say first, on standard error, which models are asked and where; a missing key is refused."""
    from acegraph.nodes.models import providers
    from acegraph.nodes.models.named import model_name

    given = {"agent": agent, "judge": None, "reflector": None, "embedding": None}
    names = {role: model_name(role, name) for role, name in given.items()}
    servers = [providers.server_for(name) for name in names.values() if name]
    named = ", ".join(f"{role} {name}" for role, name in names.items() if name)
    decides = "" if names["agent"] else "the embedded analyst decides; "
    if servers and servers[0].can_be_asked:
        asked = f"asked at {servers[0].address}: {named}; transactions are sent there"
        typer.echo(one_line(f"{decides}{asked}"), err=True)
    elif not servers and os.environ.get("OPENAI_API_KEY"):
        how = "a key is set, but no model is named (--model, ACE_AGENT_MODEL)"
        typer.echo(f"{decides}{how}", err=True)


def warn_of_misspelt(redact: Sequence[str], items: "Sequence[Item]") -> None:
    """Say which names to redact are no field of any row: most likely they are misspelt."""
    from acegraph.state.ledger.redaction.redact import unmatched

    left = list(redact)
    for item in items:
        if not left:
            return
        transaction = Transaction.of(item["query"])
        left = unmatched(left, read_fields(transaction), transaction.text)
    _warn_of_unmatched(left)


def warn_of_misspelt_columns(redact: Sequence[str], columns: Iterable[str]) -> None:
    """Say which names to redact are no column of a table, whose rows are not read yet."""
    from acegraph.state.ledger.redaction.redact import unmatched

    _warn_of_unmatched(unmatched(redact, dict.fromkeys(columns), ""))


def _warn_of_unmatched(names: Sequence[str]) -> None:
    if names:
        warn(f"redact: no row has a field called {', '.join(names)}")


def options_given(context: typer.Context) -> dict[str, str]:
    """The options on the command line by their names, with their values as words.

    Of a file only the name is told: a report should not tell where it was.
    """
    options = {}
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            values = value if isinstance(value, list | tuple) else [value]
            words = (one.name if isinstance(one, Path) else str(one) for one in values)
            is_flag = isinstance(value, bool)
            options[name] = ("yes" if value else "no") if is_flag else ", ".join(words)
    return options


def refuse_others(context: typer.Context, beside: str, applies: Sequence[str]) -> None:
    """Refuse the options on the command line that mean nothing beside another one."""
    given = (name for name in options_given(context) if name not in applies)
    refused = [f"--{name.replace('_', '-')}" for name in given]
    if refused:
        raise InvalidSettings(f"{beside} does not go with {', '.join(refused)}")


def parse_transaction(text: str) -> "str | dict[str, object]":
    """A transaction from the command line: text, or fields as JSON."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        fields_given: dict[str, object] = json.loads(text, object_pairs_hook=each_name_once)
    except InvalidInput:
        raise
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the transaction begins with {{ and is not JSON: {error}") from None
    return fields_given


def field_and_value(text: str) -> tuple[str, str]:
    """`customer_id=C-1` as a pair."""
    name, sign, value = text.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise InvalidInput(f"FIELD=VALUE wanted, as customer_id=C-1; found {text!r}")
    return name.strip(), value.strip()


@contextmanager
def lasting(
    url: str, *, must_exist: bool = False, dry_run: bool = False
) -> "Iterator[BulletPlaybook]":
    """The playbook of a command, in a database: a playbook in memory would end with the command.

    For a dry run it is a copy in memory.
    """
    from acegraph.state import BulletPlaybook

    with BulletPlaybook(existing(url) if must_exist else place_of(url)) as book:
        if not dry_run:
            yield book
            return
        with book.fork() as copy:
            yield copy
    warn(f"dry run: nothing was changed in {shown_url(url)}")


def existing(url: str) -> str:
    """The URL, if there is a playbook; else it is refused."""
    if not may_exist(url):
        raise InvalidSettings(f"no playbook at {url}; 'acegraph train FILE' makes one")
    return url


def may_exist(url: str) -> bool:
    """Whether there is a file with the playbook, or a server that may have it."""
    file = file_of(place_of(url))
    return file is None or file.exists()


def place_of(url: str) -> str:
    """The URL, if a playbook can be there; else it is refused."""
    file = file_of(url)
    if file is not None and shown_url(url) != url:
        raise InvalidSettings(f"a playbook in a file has no password or option, as {DEFAULT_URL}")
    if file is None and (url.startswith("sqlite:") or "://" not in url):
        is_path = re.fullmatch(r"[\w./-]+", url)  # anything else may hold a password
        hint = f"; did you mean sqlite:///{url}?" if is_path else ""
        raise InvalidSettings(f"a command needs a playbook in a file, as {DEFAULT_URL}{hint}")
    if file is not None and not file.parent.is_dir():
        raise InvalidSettings(f"no folder {file.parent} for the playbook {url}")
    return url


class _Rate(progress.ProgressColumn):
    """Cases per second, and the tokens that this process has spent."""

    def render(self, task: progress.Task) -> Text:
        """The text beside the bar."""
        from acegraph.nodes.runtime.usage import PROCESS

        speed = f"{task.speed:.1f}/s" if task.speed else ""
        tokens = PROCESS.total.tokens
        return Text(f"{speed} {tokens:,} tokens" if tokens else speed)


@contextmanager
def progress_bar(silent: float = 30.0) -> "Iterator[Callable[[int | None], Progress]]":
    """Progress on standard error, so that output can be piped; gives the callback of a seed.

    Where that is no terminal, a line after so many `silent` seconds says how far the work is.
    """
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        _Rate(),
    )
    quiet = not err.is_terminal
    with progress.Progress(*columns, console=err, transient=True, disable=quiet) as bar:
        tasks: dict[str, progress.TaskID] = {}
        under_way: list[str] = []

        def of_seed(seed: int | None) -> "Progress":
            def report(what: str, done: int, total: int) -> None:
                name = what if seed is None else f"seed {seed + 1}: {what}"
                if name not in tasks:
                    tasks[name] = bar.add_task(name, total=total)
                bar.update(tasks[name], completed=done)
                under_way[:] = [name if total <= 1 else f"{name}: {done:,} of {total:,}"]

            return report

        with _told_every(silent, under_way) if quiet else nullcontext():
            yield of_seed


@contextmanager
def _told_every(seconds: float, under_way: Sequence[str]) -> "Iterator[None]":
    """Say on standard error what is under way, after so many seconds and again."""
    began, is_done = monotonic(), Event()

    def tell() -> None:
        while not is_done.wait(seconds):
            for what in under_way:
                typer.echo(f"{what}, after {monotonic() - began:.0f} s", err=True)

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_done.set()
        teller.join()


def visible(text: str, keep: str = "\n\t") -> str:
    """A text that cannot steer a terminal: invisible characters are written out, as in JSON."""
    if text.isprintable():
        return text
    is_seen = {c: c.isprintable() or c in keep or category(c) == "Zs" for c in set(text)}
    return "".join(c if is_seen[c] else json.dumps(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """A visible text on one line: a value with a line break cannot pass for a line of ours."""
    return visible(text, keep="\t")


def say(text: str) -> None:
    """Print one line for people, without any markup: transactions may hold brackets."""
    typer.echo(one_line(text))


def warn(text: str) -> None:
    """Print one line on standard error; whoever gathers warnings gets it too."""
    typer.echo(one_line(text), err=True)
    if (gathered := _gathered.get()) is not None:
        gathered.append(text)


@contextmanager
def gathered_warnings() -> Iterator[list[str]]:
    """The warnings that are printed meanwhile, so that they can be said again at the end."""
    warnings: list[str] = []
    token = _gathered.set(warnings)
    try:
        yield warnings
    finally:
        _gathered.reset(token)


def say_curation(curation: "Curation") -> None:
    """Print what the curator did with a lesson."""
    from acegraph.nodes.curator.node import NOTHING_LEARNED

    if curation.reason == NOTHING_LEARNED:  # there was no proposal that could be refused
        say(f"learned: nothing ({curation.reason})")
    else:
        say(f"{curation.action}: {curation.reason}")


def print_table(table: RenderableType) -> None:
    """Print a table on a page that is wide enough."""
    Console(width=max(out.width if out.is_terminal else 0, _PAGE)).print(table)


def print_experiment(experiment: "Experiment", *, expected: bool = False) -> None:
    """Print the tables of an experiment, and what decided: a model, or the embedded analyst."""
    from acegraph.graph.cli import tables

    print_table(tables.experiment_table(experiment, expected=expected))
    is_rare = experiment.counts_money
    print_table((tables.rare_fraud_tables if is_rare else tables.money_table)(experiment))
    print_table(tables.group_tables(experiment))
    if experiment.bullets:
        print_table(tables.bullet_table(experiment.bullets, "Bullets learned offline (last seed)"))
        print_table(tables.record_table(experiment.records))
    for seed, report in enumerate(experiment.training, start=1):
        if report.change:
            say(f"Seed {seed}, training: {report.change} (--no-drift counts all).")
    by = experiment.model or "the embedded analyst: no language model was used"
    say(f"Decided by {by}.")
    print_usage()


def print_usage() -> None:
    """Print what language models have cost so far, if any were asked."""
    from acegraph.nodes.models.named import prices
    from acegraph.nodes.runtime.usage import PROCESS, in_words

    for line in in_words(PROCESS.by_model, prices()):
        say(line)


def print_json(data: object) -> None:
    """Print one object for machines."""
    typer.echo(visible(json.dumps(data, indent=2, ensure_ascii=False, default=str)))
