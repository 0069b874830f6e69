"""Tables for people: experiments, bullets, readings, history, differences.

They take figures from elsewhere and print nothing themselves. No cell is read as markup: the text
of transactions and bullets may hold brackets.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from acegraph.graph.data.explain import Readings
from acegraph.graph.experiments.words import (
    BASELINE_NAMES,
    MODE_NAMES,
    footnotes,
    runs_by_name,
    share,
    unit_of_cost,
)
from acegraph.graph.metrics.costs import (
    cost_difference,
    cost_estimates,
    cost_if_all_approved,
)
from acegraph.graph.metrics.intervals import Estimate, estimates, of_share
from acegraph.graph.metrics.paired import p_words, paired_difference
from acegraph.graph.metrics.rates import RANKINGS, accuracy
from acegraph.graph.metrics.run import Run
from acegraph.state import Bullet
from acegraph.state.maintenance.versions import Difference
from acegraph.state.values.transaction import clean_text

if TYPE_CHECKING:
    from acegraph.graph.experiments.experiment import Experiment
    from acegraph.graph.metrics.groups import GroupRates
    from acegraph.graph.tables.backtest import BacktestReport
    from acegraph.state.task.task import Task

_LEAST_TEXT: Final = 20
"""So wide is a column of texts at least."""
_EXPECTED: Final = {"vanilla": "65-70", "offline_online": "75-80", "online": "70-75"}
"""The accuracy that the first description of ACE expected of a mode, in percent."""


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


def experiment_table(experiment: "Experiment", *, expected: bool = False) -> Group:
    """All modes and baselines with intervals, and the paired test of each against vanilla."""
    columns = ["mode", ">acc.", ">balanced, 95 %", ">false\ndeclines", ">missed\nfraud"]
    rows = []
    for mode, label in MODE_NAMES.items():
        if runs := experiment.modes.get(mode):
            against = _against(runs, experiment.vanilla_beside(mode))
            rows.append([label, *_rate_cells(runs), against, _EXPECTED.get(mode, "")])
    for name, runs in experiment.baselines.items():
        against = _against(runs, experiment.modes["vanilla"])
        rows.append([BASELINE_NAMES.get(name, name), *_rate_cells(runs), against, ""])
    columns += [">against vanilla", *([">exp. %"] if expected else [])]
    table = _grid(
        "The same held-out stream, decided in every mode",
        columns,
        [row[: len(columns)] for row in rows],
    )
    notes = list(footnotes(experiment))
    if expected:
        notes.append("exp. %: the accuracy that the first description of ACE expected of a mode.")
    return Group(table, Text("\n".join(notes)))


def _rate_cells(runs: Sequence[Run]) -> list[str]:
    figures = estimates(runs, ("balanced_accuracy", "false_decline_rate", "missed_fraud_rate"))
    balanced, *mistakes = figures.values()
    right = share(float(np.mean([accuracy(run) for run in runs])))
    return [right, _with_interval(balanced), *(share(figure.mean) for figure in mistakes)]


def _with_interval(figure: Estimate, write: Callable[[float], str] = share) -> str:
    """A figure with its interval, or a stroke if there is no such figure."""
    if math.isnan(figure.mean):
        return "-"
    return f"{write(figure.mean)} [{write(figure.low)}, {write(figure.high)}]"


def _whole(x: float) -> str:
    """A figure of some size, without decimals; of large ones thousands.

    >>> _whole(1234.5), _whole(19_913.2)
    ('1,234', '19.9k')
    """
    if math.isnan(x):
        return "-"
    return f"{x:,.0f}" if abs(x) < 10_000 else f"{x / 1000:,.1f}k"


def _against(runs: Sequence[Run], vanilla: Sequence[Run]) -> str:
    if runs is vanilla:
        return ""
    gain = paired_difference(runs, vanilla)
    return "" if math.isnan(gain.mean) else f"{100 * gain.mean:+.1f}, {p_words(gain.p_value)}"


def money_tables(experiment: "Experiment") -> Group:
    """Ranking, alerts, and money against vanilla, with intervals.

    Where fraud is rare they say most: plain accuracy is high for whoever approves everything.
    """
    names = [name for name in RANKINGS if name.startswith(("average", "recall"))]
    recalls = (f">recall at {share} % of\nfalse declines" for share in ("0.5", "1", "5"))
    ranking = _grid(
        "How the risk ranks fraud, with 95 % intervals",
        ["mode", ">average\nprecision", *recalls],
        (
            [label, *map(_with_interval, estimates(runs, names).values())]
            for label, runs in runs_by_name(experiment)
        ),
        "Recall: the share of fraud caught where at most so many honest payments may be declined. "
        f"A ranking by chance has an average precision of {experiment.fraud_rate:.3f}.",
    )
    return Group(ranking, _alert_table(experiment))


def _alert_table(experiment: "Experiment") -> Table:
    costs, vanilla = experiment.costs, experiment.modes["vanilla"]
    nothing, unit = 1000 * cost_if_all_approved(vanilla, costs), unit_of_cost(vanilla)
    has_amounts = any(amount is not None for run in vanilla for amount in run.amounts)
    rows = []
    for label, runs in runs_by_name(experiment):
        alerts, value, cost = cost_estimates(runs, costs).values()
        gap = cost_difference(runs, vanilla, costs)
        is_other = runs is not vanilla and not math.isnan(gap.mean)
        against = f"{'+' * (gap.mean >= 0)}{_whole(gap.mean)}, {p_words(gap.p_value)}"
        amounts = [_with_interval(value)] if has_amounts else []
        money = (_with_interval(cost, _whole), against if is_other else "")
        rows.append([label, _with_interval(alerts, _whole), *amounts, *money])
    return _grid(
        "Alerts and money, with 95 % intervals",
        [
            *("mode", ">frauds per\n1,000 alerts", *([">value caught"] if has_amounts else [])),
            *(">cost per\n1,000 payments", ">against vanilla"),
        ],
        rows,
        f"An alert is a decision to decline. Approving everything costs {_whole(nothing)} per "
        f"1,000 payments; {unit}: {costs.missed_fraud:g} for a missed fraud, "
        f"{costs.false_decline:g} for a false decline. Against vanilla: cost per 1,000 payments, "
        "permutation test on paired cases.",
    )


def group_tables(experiment: "Experiment") -> Group:
    """How the groups of each field fared in the mode that learns from both."""
    columns = ("group", ">honest\npayments", ">false declines, 95 %", "", ">fraud")
    return Group(
        *(
            _grid(
                f"By {name}: {MODE_NAMES['offline_online']}",
                (*columns, ">missed fraud, 95 %"),
                map(_group_cells, groups),
                "* differs from all other groups by more than chance explains (Fisher's exact "
                "test, Holm's correction over all groups)",
            )
            for name, groups in experiment.groups("offline_online").items()
        )
    )


def _group_cells(group: "GroupRates") -> tuple[object, ...]:
    mark = f"* {p_words(group.p_value)}" if group.stands_out else ""
    missed = _with_interval(group.missed_fraud_rate)
    declined = _with_interval(group.false_decline_rate)
    return group.group, group.honest, declined, mark, group.fraud, missed


def bullet_table(bullets: Sequence[Bullet], title: str) -> Table:
    """Bullets with their counters and their backtest."""
    return _grid(
        title,
        ["id", "=heuristic", "source", "status", ">helpful", ">harmful", ">shown", ">backtest"],
        (
            (
                *(b.id, _heuristic(b), b.source, b.status),
                *(b.helpful_count, b.harmful_count, b.times_selected, _backtest(b)),
            )
            for b in bullets
        ),
        "helpful and harmful: outcomes where it fired, also while it was held back and not shown; "
        "backtest: right of fired, before it acted",
    )


def _heuristic(bullet: Bullet) -> Text:
    """The text of a bullet, and on a line of its own what it really tests, if that is not all."""
    rule = bullet.condition.render() if bullet.condition else ""
    text = _cell(bullet.content)
    return text if rule in ("", bullet.content) else Text("\n= ").join((text, _cell(rule)))


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


def difference_table(differences: Sequence[Difference], title: str) -> Table:
    """The bullets that two versions do not have in common."""
    rows = []
    for one in differences:
        bullet = one.after or one.before
        rows.append((one.bullet_id, one.change, _heuristic(bullet) if bullet else ""))
    return _grid(title, ("bullet", "change", "=heuristic"), rows)


def backtest_table(report: "BacktestReport") -> Table:
    """What rules do on a table of past payments."""
    rows = []
    for one in report.backtests:
        fired, added, right = one.fired, one.added, one.right
        precision = _with_interval(of_share(right.part, right.whole))
        counts = (f"{n:,}" for n in (fired.fires, fired.frauds, fired.honest))
        money = (_amount(fired.fraud_amount), _amount(fired.honest_amount))
        adds = f"{added.frauds:,} / {added.honest:,}" if added else "-"
        rows.append((one.name, *counts, precision, share(one.recall), *money, adds))
    return _grid(
        "Backtest",
        [
            *("=what", ">fires", ">frauds", ">good", ">precision, 95 %", ">recall"),
            *(">money of frauds", ">of good", ">adds"),
        ],
        rows,
        "adds: frauds / good payments on which the playbook without the rule says something else",
    )


def _amount(x: float) -> str:
    return f"{x:,.0f}" if abs(x) < 1e12 else f"{x:.3g}"
