"""Tables for people: experiments, bullets, history and differences. Text in them is escaped."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from acegraph.graph.data.explain import Readings
from acegraph.graph.experiments.bullet_report import BulletRecord
from acegraph.graph.metrics.costs import money
from acegraph.graph.metrics.intervals import estimate, row_numbers
from acegraph.graph.metrics.paired import accuracy_gained, mcnemar, p_words
from acegraph.graph.metrics.rates import METRICS, RANKINGS, accuracy, is_void
from acegraph.graph.metrics.run import Run
from acegraph.nodes.evidence.backtest import wilson_interval
from acegraph.state import Bullet, Difference

if TYPE_CHECKING:
    from acegraph.graph.experiments.experiment import Experiment


_ROWS: Final = {
    "vanilla": ("vanilla", "65-70"),
    "offline": ("offline, frozen", ""),
    "offline_online": ("offline + online", "75-80"),
    "online": ("online only", "70-75"),
    "vanilla_second_half": ("vanilla, 2nd half", ""),
    "online_second_half": ("online, 2nd half", ""),
    "offline_online_delayed": ("off.+onl., late", ""),
    "online_delayed": ("online, late", ""),
}
"""Name of each row and the accuracy range that the first description of ACE expected of it."""
_CHALLENGERS: Final = {
    "logistic_regression": "logistic regression",
    "depth_3_tree": "depth-3 tree",
    "gradient_boosting": "gradient boosting",
    "best_attainable": "best attainable",
}


def experiment_table(found: "Experiment", *, expected: bool = False) -> Group:
    """All modes and rivals with intervals, and the paired test of each against vanilla."""
    table = _table("The same held-out stream, decided in every mode")
    table.add_column("mode", no_wrap=True)
    columns = ["acc.", "balanced, 95 %", "false\ndeclines", "missed\nfraud", "against vanilla"]
    for name in (*columns, *(["exp. %"] if expected else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for mode, (label, range_expected) in _ROWS.items():
        if mode not in found.modes:
            continue
        runs = found.modes[mode]
        cells = [label, *_cells(runs), _against(runs, found.rival_of(mode))]
        table.add_row(*cells, *([range_expected] if expected else []))
    if found.challengers:
        table.add_section()
    for name, runs in found.challengers.items():
        cells = [
            _CHALLENGERS.get(name, name),
            *_cells(runs),
            _against(runs, found.modes["vanilla"]),
        ]
        table.add_row(*cells, *([""] if expected else []))
    return Group(table, Text(_footnote(found, expected)))


def _table(title: str) -> Table:
    """Without lines between columns: it must fit a terminal."""
    return Table(
        title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )


def _share(x: float) -> str:
    """A share without its leading zero, or a stroke where there is none."""
    return "-" if math.isnan(x) else f"{x:.3f}".removeprefix("0")


def _cells(runs: Sequence[Run]) -> list[str]:
    balanced = estimate("balanced_accuracy", runs)
    interval = f"[{_share(balanced.low)}, {_share(balanced.high)}]"
    return [
        _share(float(np.mean([accuracy(run) for run in runs]))),
        escape(f"{_share(balanced.mean)} {interval}"),
        _share(estimate("false_decline_rate", runs).mean),
        _share(estimate("missed_fraud_rate", runs).mean),
    ]


def _against(runs: Sequence[Run], rival: Sequence[Run]) -> str:
    if runs is rival:
        return ""
    test = mcnemar(runs, rival)
    points = 100 * accuracy_gained(runs, rival)
    return "" if math.isnan(points) else f"{points:+.1f}, {p_words(test.p_value)}"


def money_table(found: "Experiment") -> Table:
    """How scores rank and what decisions come to in money, for every mode and rival."""
    table = _table("Ranking and money")
    table.add_column("mode", no_wrap=True)
    names = ["avg.\nprec.", "ROC\nAUC", "recall at\n1 % FPR", "recall at\n5 % FPR", "calib.\nerror"]
    for name in (*names, "value\ncaught", "cost a\ncase", "declined\na fraud", "undec."):
        table.add_column(name, justify="right", no_wrap=True)
    rows = [(_ROWS[mode][0], found.modes[mode]) for mode in _ROWS if mode in found.modes]
    rows += [(_CHALLENGERS.get(name, name), runs) for name, runs in found.challengers.items()]
    for label, runs in rows:
        if label.endswith("2nd half"):
            continue
        figures = money(runs, found.plan.costs)
        per_fraud = figures.declined_per_fraud
        table.add_row(
            label,
            *_ranking_cells(runs),
            _share(figures.value_caught),
            "-" if math.isnan(figures.cost_per_case) else f"{figures.cost_per_case:.2f}",
            "-" if per_fraud is None else f"{per_fraud:.2f}",
            _share(float(np.mean([run.undecided_rate for run in runs]))),
        )
    nothing = money(found.modes["vanilla"], found.plan.costs).cost_if_all_approved
    unit = _unit_of_cost(found)
    table.caption = (
        unit.capitalize()
        if math.isnan(nothing)
        else f"Approving everything costs {nothing:.2f} per case; {unit}"
    )
    table.caption += ". Calibration: risk said against fraud seen, both labels weighing the same."
    table.caption_justify = "left"
    return table


def _ranking_cells(runs: Sequence[Run]) -> list[str]:
    """The mean of each; a stroke where a run decided nothing that could be ranked."""
    return [
        "-"
        if any(is_void(name, run) for run in runs)
        else _share(float(np.mean([METRICS[name](run) for run in runs])))
        for name in RANKINGS
    ]


def _unit_of_cost(found: "Experiment") -> str:
    amounts = [a for run in found.modes["vanilla"] for a in run.amounts or [None]]
    known = sum(amount is not None for amount in amounts)
    if not known:
        return "no amount was found, so each case counts 1"
    rest = "" if known == len(amounts) else f" (1 in the {len(amounts) - known} cases without one)"
    return f"a cost is a share of the amount{rest}"


def record_table(records: Sequence[BulletRecord]) -> Table:
    """Bullets on the held-out cases: fires, precision with interval, what each adds alone."""
    table = _table("Bullets on the test cases (last seed)")
    table.add_column("id", no_wrap=True)
    table.add_column("heuristic", overflow="fold", min_width=30)
    for name in ("status", "fires", "precision, 95 %", "right\nalone", "last hit"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in records:
        low, high = wilson_interval(record.right, record.fires)
        precision = "-" if record.precision is None else _share(record.precision)
        table.add_row(
            record.bullet.id,
            escape(record.bullet.content),
            record.bullet.status,
            str(record.fires),
            escape(f"{precision} [{_share(low)}, {_share(high)}]"),
            str(record.marginal),
            escape((record.last_hit or "-")[-12:]),
        )
    table.caption = "last hit: the last case on which it fired and was right; right alone: cases "
    table.caption += "that no other active bullet of its verdict fires on"
    table.caption_justify = "left"
    return table


def reading_table(found: Readings) -> Table:
    """What the reader read, and where from."""
    table = _table("What was read")
    for name in ("field", "value", "read from"):
        table.add_column(name, overflow="fold")
    for row in found.read:
        table.add_row(escape(row.field), escape(row.what), escape(row.origin))
    return table


def _footnote(found: "Experiment", expected: bool) -> str:
    first, fraud = found.modes["vanilla"], found.fraud_rate
    cases, rows = sum(len(run.truths) for run in first), row_numbers(first)[1]
    again = f" of {rows} rows" if rows < cases else ""
    lines = [
        f"{cases} test cases{again} over {len(first)} seed(s), {100 * fraud:.1f} % fraud; "
        f"approving everything scores {1 - fraud:.3f} accuracy and 0.500 balanced accuracy.",
        "Against vanilla: points of plain accuracy gained, McNemar's exact test on paired cases. "
        "Intervals resample seeds and cases.",
    ]
    if again:
        lines.append("A row that several seeds tested counts once in the test and the intervals.")
    if any(run.undecided_rate for runs in found.modes.values() for run in runs):
        lines.append("Against vanilla an undecided case is not right; the rates leave it out.")
    if expected:
        lines.append(
            "exp. %: the accuracy that the first description of ACE expected of each mode."
        )
    if found.duplicates:
        lines.append(f"{found.duplicates} test rows left out: a training row is the same.")
    if found.copies:
        lines.append(
            f"CAUTION: {found.copies} test rows are the same as a training row in every field and "
            "stay, since most are: the figures say little about new cases."
        )
    if not found.learned:
        lines.append("Nothing was learned offline: no rule did better than chance explains.")
    return "\n".join(lines)


def bullet_table(bullets: Sequence[Bullet], title: str) -> Table:
    """Bullets with their record and their backtest."""
    table = _table(title)
    table.add_column("id", no_wrap=True)
    table.add_column("heuristic", overflow="fold", min_width=30)
    for name in ("source", "status"):
        table.add_column(name, no_wrap=True)
    for name in ("helpful", "harmful", "shown", "backtest"):
        table.add_column(name, justify="right", no_wrap=True)
    for b in bullets:
        table.add_row(
            b.id,
            escape(b.content),
            b.source,
            b.status,
            str(b.helpful_count),
            str(b.harmful_count),
            str(b.times_selected),
            escape(_backtest(b)),
        )
    table.caption = (
        "helpful and harmful: outcomes where it fired; backtest: right of fired, before it acted"
    )
    table.caption_justify = "left"
    return table


def _backtest(bullet: Bullet) -> str:
    """Right of fired; evidence is free, so these may be missing."""
    right, fires = bullet.evidence.get("right"), bullet.evidence.get("fires")
    return bullet.proof if right is None or fires is None else f"{right}/{fires}"


def history_table(entries: Sequence[Mapping[str, Any]], title: str) -> Table:
    """Every change with its version, oldest first."""
    table = Table(
        title=escape(title), box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0)
    )
    for name in ("version", "when", "bullet", "change", "by"):
        table.add_column(name, no_wrap=True)
    for name in ("heuristic", "reason"):
        table.add_column(name, overflow="fold", ratio=1)
    for entry in entries:
        when = str(entry["at"])[:16].replace("T", " ")
        cells = [str(entry["version"]), when, entry["bullet"], entry["change"]]
        table.add_row(*cells, *(escape(entry[name]) for name in ("source", "content", "reason")))
    return table


def difference_table(found: Sequence[Difference], title: str) -> Table:
    """The bullets that two versions do not have in common."""
    table = Table(
        title=escape(title), box=box.SIMPLE_HEAD, title_justify="left", padding=(0, 1, 0, 0)
    )
    for name in ("bullet", "change"):
        table.add_column(name, no_wrap=True)
    table.add_column("heuristic", overflow="fold")
    for one in found:
        bullet = one.after or one.before
        table.add_row(one.bullet_id, one.change, escape(bullet.content if bullet else ""))
    return table
