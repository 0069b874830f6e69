"""Tables for people: experiments, bullets, readings, history, differences.

They take figures from elsewhere and print nothing themselves. No cell is read as markup: the text
of transactions and bullets may hold brackets.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from acegraph.graph.data.explain import Readings
from acegraph.graph.experiments.words import MODE_NAMES, footnotes, names_of, share, unit_of_cost
from acegraph.graph.metrics.intervals import Estimate, of_share
from acegraph.graph.metrics.paired import Difference as Gap
from acegraph.graph.metrics.paired import p_words
from acegraph.state.values import Bullet, clean_text

if TYPE_CHECKING:
    from acegraph.graph.experiments.experiment import Compared, Experiment
    from acegraph.graph.metrics.records import Record, Standing
    from acegraph.graph.operations.monitoring.entities import Entity
    from acegraph.state.playbook.lists import Entry
    from acegraph.state.task.task import Task

_LONGEST: Final = 96
_LEAST_TEXT: Final = 20
"""So wide is a column of texts at least."""
Cell = Callable[["Compared"], str]
Columns = Mapping[str, Cell]


def _grid(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], caption: str = ""
) -> Table:
    """A table without lines between columns, so that it fits a terminal.

    The heading of a text begins with `=`, that of a figure with `>`; figures and names stay on one
    line.
    """
    table = Table(
        title=_cell(title),
        title_justify="left",
        caption=Text(caption) if caption else None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for column in columns:
        is_text = column.startswith("=")
        table.add_column(
            column.lstrip("=>"),
            justify="right" if column.startswith(">") else "left",
            overflow="fold" if is_text else "ellipsis",
            no_wrap=not is_text,
            min_width=_LEAST_TEXT if is_text else None,
        )
    for row in rows:
        table.add_row(*(one if isinstance(one, Text) else _cell(one) for one in row))
    return table


def _cell(value: object) -> Text:
    """A value on one line, which cannot steer a terminal."""
    return Text(" ".join(clean_text(str(value)).split()))


def experiment_table(experiment: "Experiment") -> Group:
    """All modes and learners with intervals, and the paired test of each against the first."""
    columns = {
        ">acc.": _mean("accuracy"),
        ">balanced, 95 %": _interval("balanced_accuracy"),
        ">false\ndeclines": _mean("false_decline_rate"),
        ">missed\nfraud": _mean("missed_fraud_rate"),
        ">against": lambda one: _gap(one.gain, 100, "{:+.1f}"),
    }
    title = "The same held-out stream, decided in every way"
    table = _figures(title, columns, experiment)
    return Group(table, Text("\n".join(footnotes(experiment))))


def money_table(experiment: "Experiment") -> Table:
    """How the risk ranks fraud, and money against the first mode.

    Where fraud is rare they say most: plain accuracy is high for whoever approves everything.
    """
    costs, first = experiment.costs, next(iter(experiment.modes))
    columns = {
        ">average\nprecision, 95 %": _interval("average_precision"),
        ">recall\nat 1 %": _mean("recall_at_1_percent"),
        ">value\ncaught": _mean("value_caught"),
        ">cost per 1,000\npayments, 95 %": _interval("cost_per_1000", _whole),
        ">against": lambda one: _gap(one.cost, 1, "{:+,.0f}"),
    }
    nothing = 1000 * experiment.compared(first).cost_if_all_approved
    return _figures(
        "Where fraud is rare",
        columns,
        experiment,
        f"A ranking by chance has an average precision of {experiment.fraud_rate:.3f}. Approving "
        f"everything costs {_whole(nothing)} per 1,000 payments; {unit_of_cost(experiment)}: "
        f"{costs.missed_fraud:g} for a missed fraud, {costs.false_decline:g} for a false decline.",
    )


def _figures(title: str, columns: Columns, experiment: "Experiment", caption: str = "") -> Table:
    """A row of figures for each mode and learner; the last column is against the first of them."""
    names = names_of(experiment)
    *headings, against = columns
    headings = ["mode", *headings, f"{against} {next(iter(names.values()))}"]
    compared = {label: experiment.compared(name) for name, label in names.items()}
    rows = ([label, *(cell(one) for cell in columns.values())] for label, one in compared.items())
    return _grid(title, headings, rows, caption)


def _mean(name: str) -> Cell:
    return lambda one: _with_interval(one.figures[name]).partition(" [")[0]


def _interval(name: str, write: Callable[[float], str] = share) -> Cell:
    return lambda one: _with_interval(one.figures[name], write)


def _gap(gap: Gap, times: float, written: str) -> str:
    """A difference with its p-value; nothing where there is none to tell, as of the first mode."""
    if not gap.low < gap.high:
        return ""
    if math.isnan(gap.mean):
        return " to ".join(written.format(times * end) for end in (gap.low, gap.high))
    return f"{written.format(times * gap.mean)}, {p_words(gap.p_value)}"


def _with_interval(figure: Estimate, write: Callable[[float], str] = share) -> str:
    """A figure with its interval; only its ends where labels are missing; else a stroke."""
    if math.isnan(figure.mean):
        return "-" if math.isnan(figure.low) else f"{write(figure.low)} to {write(figure.high)}"
    return f"{write(figure.mean)} [{write(figure.low)}, {write(figure.high)}]"


def _whole(x: float) -> str:
    """A figure of some size, without decimals; of large ones thousands.

    >>> _whole(1234.5), _whole(19_913.2)
    ('1,234', '19.9k')
    """
    if math.isnan(x) or abs(x) >= 1e12:
        return "-" if math.isnan(x) else f"{x:.3g}"
    return f"{x:,.0f}" if abs(x) < 10_000 else f"{x / 1000:,.1f}k"


def group_tables(experiment: "Experiment") -> Group:
    """How the groups of each field fared in the mode that learns from both, or in the last."""
    modes = list(experiment.modes)
    mode = "offline_online" if "offline_online" in modes else modes[-1]
    columns = ("group", ">honest\npayments", ">false declines, 95 %", ">fraud")
    return Group(
        *(
            _grid(
                f"By {name}: {MODE_NAMES.get(mode, mode)}",
                (*columns, ">missed fraud, 95 %"),
                (
                    (
                        *(one.group, one.honest, _with_interval(one.false_decline_rate)),
                        *(one.fraud, _with_interval(one.missed_fraud_rate)),
                    )
                    for one in groups
                ),
            )
            for name, groups in experiment.groups(mode).items()
        )
    )


def bullet_table(
    bullets: Sequence[Bullet], title: str, standings: "Mapping[str, Standing] | None" = None
) -> Table:
    """Bullets with their counters and their backtest, and what labelled cases say, if given."""
    known = standings or {}
    below = "; below: by the dates and amounts of the labelled cases"
    return _grid(
        title,
        ["id", "=heuristic", "source", "status", ">helpful", ">harmful", ">shown", ">backtest"],
        (
            (
                *(b.id, _heuristic(b), b.source, b.status),
                *(b.helpful_count, b.harmful_count, b.times_selected),
                Text("\n").join([_cell(_backtest(b)), *_standing(known.get(b.id))]),
            )
            for b in bullets
        ),
        "helpful and harmful: outcomes where it fired, also while it was held back and not shown; "
        "backtest: right of fired, before it acted"
        + below
        * any(any(vars(one).values()) for one in known.values()),
    )


def _heuristic(bullet: Bullet) -> Text:
    """The text of a bullet, and on a line of its own what it really tests, if that is not all."""
    rule = bullet.condition.render() if bullet.condition else ""
    text = _cell(bullet.content)
    return text if rule in ("", bullet.content) else Text("\n= ").join((text, _cell(rule)))


def _standing(standing: "Standing | None") -> Iterator[Text]:
    """When it was last right, how much more of what is rare it finds than there usually is, and
    what mistakes would cost more without it.
    """
    if standing and standing.last_right:
        yield Text(f"last right {standing.last_right[:10]}")
    if standing and standing.lift is not None:
        yield Text(f"{standing.lift:g} x usual share")
    if standing and (saved := standing.saved_a_week) is not None:
        yield Text(f"{'costs' if saved < -0.5 else 'saves'} {_whole(abs(saved))} a week")
    if standing and (stopped := standing.stopped_a_day):
        rare = f"stops 1 honest in {_whole(1 / stopped)} days"
        yield Text(rare if stopped < 1 else f"stops {_whole(stopped)} honest a day")


def _backtest(bullet: Bullet) -> str:
    """How often it was right of how often it fired, or the proof if its evidence does not say."""
    right, fires = bullet.evidence.get("right"), bullet.evidence.get("fires")
    return bullet.proof if right is None or fires is None else f"{right}/{fires}"


def task_table(task: "Task", used: Mapping[str, Sequence[str]]) -> Table:
    """The fields of a task, with the bullets that look at each."""
    rows = [
        (
            *(one.name, f"{one.kind}, {one.role}" if one.role else one.kind, one.wanted),
            *("usual" if one.usual else "", _of(used, one.name, *one.part_names)),
        )
        for one in task.fields
    ]
    rows += [
        (one.name, one.what, "", ", ".join(one.of), _of(used, one.name)) for one in task.derived
    ]
    columns = ("=field", "kind", "=usual values", "", "=used by")
    return _grid("the fields that the playbook knows", columns, rows)


def _of(used: Mapping[str, Sequence[str]], *names: str) -> str:
    return ", ".join(dict.fromkeys(bullet for name in names for bullet in used.get(name, ())))


def reading_table(readings: Readings) -> Table:
    """The fields that the reader read, and where from."""
    rows = ((one.field, one.what, one.origin) for one in readings.read)
    return _grid("What was read", ("=field", "=value", "=read from"), rows)


def history_table(entries: Sequence[Mapping[str, object]], title: str) -> Table:
    """Every change of a playbook with its version, oldest first."""
    names = ("version", "at", "bullet", "change", "source", "content", "reason")
    rows = (
        [str(e["at"])[:16].replace("T", " ") if n == "at" else e[n] for n in names] for e in entries
    )
    headings = ("version", "when", "bullet", "change", "by", "=heuristic", "=reason")
    return _grid(title, headings, rows)


def cases_table(decided: Sequence[Mapping[str, object]]) -> Table:
    """Some cases with what was decided and what became of them."""
    names = ("id", "decision", "label", "label_source")
    rows = (
        [*(one.get(name) or "-" for name in names), str(one["text"])[:_LONGEST]] for one in decided
    )
    return _grid("The newest payments", ("=id", "decision", "label", "by", "=payment"), rows)


def entity_table(entities: "Sequence[Entity]") -> Table:
    """Shops, customers or terminals with what labels said of them."""
    rows = (
        (
            *(one.name, f"{one.frauds:,}", f"{max(one.settled, one.frauds):,}"),
            "-" if one.evidence is None else f"{one.evidence:,.1f}",
            *(f"{one.payments:,}", one.last),
        )
        for one in entities
    )
    columns = ("=who", ">called fraud", ">of settled", ">x usual share", ">payments", "newest")
    return _grid(f"{entities[0].kind}: of {entities[0].days} days", columns, rows)


def list_table(entries: "Sequence[Entry]") -> Table:
    """Who is on which list, why and until when."""
    rows = []
    for one in entries:
        state = "ended" if one.ended_by else "waits" if one.waits else one.until[:16] or "for ever"
        author = one.by.rpartition(":")[2]
        rows.append((one.number, one.list, f"{one.kind} {one.name}", state, author, one.reason))
    return _grid("Lists", (">entry", "list", "=who", "until", "by", "=why"), rows)


def backtest_table(records: "Sequence[Record]") -> Table:
    """What rules do on a table of past payments."""
    rows = []
    for one in records:
        fired, added, right = one.fired, one.added, one.right
        precision = _with_interval(of_share(right.part, right.whole))
        counts = (f"{n:,}" for n in (fired.fires, fired.frauds, fired.honest))
        money = (_whole(fired.fraud_amount), _whole(fired.honest_amount))
        adds = f"{added.frauds:,} / {added.honest:,}" if added else "-"
        rows.append((one.name, *counts, precision, share(one.recall), *money, adds))
    return _grid(
        "Backtest",
        [
            *("=what", ">fires", ">frauds", ">good", ">precision, 95 %", ">recall"),
            *(">money of\nfrauds", ">of\ngood", ">adds"),
        ],
        rows,
        "adds: frauds / good payments on which the playbook without the rule says something else; "
        "not known where the table lacks columns of its bullets",
    )
