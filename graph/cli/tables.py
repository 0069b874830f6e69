"""Tables for people: experiments, bullets, readings, history, differences.

They take figures from elsewhere and print nothing themselves. Text of transactions and bullets is
escaped, so that brackets in it are not taken for markup.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from acegraph.graph.data.explain import Readings
from acegraph.graph.experiments.bullet_report import BulletRecord
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
    from acegraph.graph.operations.schema import ExpectedField
    from acegraph.graph.tables.backtest import BacktestReport

_EXPECTED: Final = {"vanilla": "65-70", "offline_online": "75-80", "online": "70-75"}
"""The accuracy that the first description of ACE expected of a mode, in percent."""


def _cell(text: str) -> str:
    """A text that is neither markup nor more than one line, and cannot steer a terminal."""
    return escape(" ".join(clean_text(text).split()))


def _table(title: str, caption: str = "") -> Table:
    """An empty table without lines between columns, so that it fits a terminal."""
    return Table(
        title=_cell(title),
        title_justify="left",
        caption=caption or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def _add(table: Table, kind: str, *headings: str, min_width: int = 0, ratio: int = 0) -> None:
    """Add columns of one kind: a name or a figure stays on one line, a text may take several."""
    for heading in headings:
        table.add_column(
            heading,
            justify="right" if kind == "figure" else "left",
            overflow="fold" if kind == "text" else "ellipsis",
            no_wrap=kind != "text",
            min_width=min_width or None,
            ratio=ratio or None,
        )


def experiment_table(experiment: "Experiment", *, expected: bool = False) -> Group:
    """All modes and baselines with intervals, and the paired test of each against vanilla."""
    table = _table("The same held-out stream, decided in every mode")
    _add(table, "name", "mode")
    _add(table, "figure", "acc.", "balanced, 95 %", "false\ndeclines", "missed\nfraud")
    _add(table, "figure", "against vanilla", *(["exp. %"] if expected else []))
    for mode, label in MODE_NAMES.items():
        if runs := experiment.modes.get(mode):
            against = _against(runs, experiment.vanilla_beside(mode))
            expectation = [_EXPECTED.get(mode, "")] if expected else []
            table.add_row(label, *_rate_cells(runs), against, *expectation)
    if experiment.baselines:
        table.add_section()
    for name, runs in experiment.baselines.items():
        against = _against(runs, experiment.modes["vanilla"])
        label = BASELINE_NAMES.get(name, name)
        table.add_row(label, *_rate_cells(runs), against, *([""] if expected else []))
    notes = list(footnotes(experiment))
    if expected:
        notes.append("exp. %: the accuracy that the first description of ACE expected of a mode.")
    return Group(table, Text("\n".join(notes)))


def _rate_cells(runs: Sequence[Run]) -> list[str]:
    figures = estimates(runs, ("balanced_accuracy", "false_decline_rate", "missed_fraud_rate"))
    balanced, *mistakes = figures.values()
    return [
        share(float(np.mean([accuracy(run) for run in runs]))),
        _with_interval(balanced),
        *(share(figure.mean) for figure in mistakes),
    ]


def _with_interval(figure: Estimate, write: Callable[[float], str] = share) -> str:
    """A figure with its interval, or a stroke if there is no such figure."""
    if math.isnan(figure.mean):
        return "-"
    return _cell(f"{write(figure.mean)} [{write(figure.low)}, {write(figure.high)}]")


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
    return Group(_ranking_table(experiment), _alert_table(experiment))


def _ranking_table(experiment: "Experiment") -> Table:
    caption = (
        "Recall: the share of fraud caught where at most so many honest payments may be declined. "
        f"A ranking by chance has an average precision of {experiment.fraud_rate:.3f}."
    )
    table = _table("How the risk ranks fraud, with 95 % intervals", caption)
    _add(table, "name", "mode")
    recalls = (f"recall at {share} % of\nfalse declines" for share in ("0.5", "1", "5"))
    _add(table, "figure", "average\nprecision", *recalls)
    names = [name for name in RANKINGS if name.startswith(("average", "recall"))]
    for label, runs in runs_by_name(experiment):
        table.add_row(label, *map(_with_interval, estimates(runs, names).values()))
    return table


def _alert_table(experiment: "Experiment") -> Table:
    costs, vanilla = experiment.plan.costs, experiment.modes["vanilla"]
    nothing, unit = 1000 * cost_if_all_approved(vanilla, costs), unit_of_cost(vanilla)
    has_amounts = any(amount is not None for run in vanilla for amount in run.amounts)
    caption = (
        f"An alert is a decision to decline. Approving everything costs {_whole(nothing)} per "
        f"1,000 payments; {unit}: {costs.missed_fraud:g} for a missed fraud, "
        f"{costs.false_decline:g} for a false decline. Against vanilla: cost per 1,000 payments, "
        "permutation test on paired cases."
    )
    table = _table("Alerts and money, with 95 % intervals", caption)
    _add(table, "name", "mode")
    _add(table, "figure", "frauds per\n1,000 alerts", *(["value caught"] if has_amounts else []))
    _add(table, "figure", "cost per\n1,000 payments", "against vanilla")
    for label, runs in runs_by_name(experiment):
        alerts, value, cost = cost_estimates(runs, costs).values()
        gap = cost_difference(runs, vanilla, costs)
        is_other = runs is not vanilla and not math.isnan(gap.mean)
        table.add_row(
            label,
            _with_interval(alerts, _whole),
            *([_with_interval(value)] if has_amounts else []),
            _with_interval(cost, _whole),
            f"{'+' * (gap.mean >= 0)}{_whole(gap.mean)}, {p_words(gap.p_value)}"
            if is_other
            else "",
        )
    return table


def group_tables(experiment: "Experiment") -> Group:
    """How the groups of each field fared in the mode that learns from both."""
    mode = "offline_online"
    tables = []
    for name, groups in experiment.groups(mode).items():
        table = _table(
            f"By {name}: {MODE_NAMES[mode]}",
            "* differs from all other groups by more than chance explains (Fisher's exact test, "
            "Holm's correction over all groups)",
        )
        _add(table, "name", "group")
        _add(table, "figure", "honest\npayments", "false declines, 95 %")
        _add(table, "name", "")
        _add(table, "figure", "fraud", "missed fraud, 95 %")
        for group in groups:
            table.add_row(
                _cell(group.group),
                str(group.honest),
                _with_interval(group.false_decline_rate),
                f"* {p_words(group.p_value)}" if group.stands_out else "",
                str(group.fraud),
                _with_interval(group.missed_fraud_rate),
            )
        tables.append(table)
    return Group(*tables)


def record_table(records: Sequence[BulletRecord]) -> Table:
    """Bullets on the test cases: fires, precision with interval, what each alone gets right."""
    table = _table(
        "Bullets on the test cases (last seed)",
        "right alone: cases that no other active bullet of its verdict fires on",
    )
    _add(table, "name", "id")
    _add(table, "text", "heuristic", min_width=30)
    _add(table, "figure", "status", "fires", "precision, 95 %", "right\nalone")
    for record in records:
        right = record.record.right
        precision = of_share(right.part, right.whole)
        table.add_row(
            record.bullet.id,
            _heuristic(record.bullet),
            record.bullet.status,
            str(right.whole),
            _with_interval(precision),
            str(record.marginal),
        )
    return table


def bullet_table(bullets: Sequence[Bullet], title: str) -> Table:
    """Bullets with their counters and their backtest."""
    table = _table(
        title,
        "helpful and harmful: outcomes where it fired, also while it was held back and not shown; "
        "backtest: right of fired, before it acted",
    )
    _add(table, "name", "id")
    _add(table, "text", "heuristic", min_width=30)
    _add(table, "name", "source", "status")
    _add(table, "figure", "helpful", "harmful", "shown", "backtest")
    for bullet in bullets:
        counters = (bullet.helpful_count, bullet.harmful_count, bullet.times_selected)
        table.add_row(
            bullet.id,
            _heuristic(bullet),
            bullet.source,
            bullet.status,
            *map(str, counters),
            _cell(_backtest(bullet)),
        )
    return table


def _heuristic(bullet: Bullet) -> str:
    """The text of a bullet, and on a line of its own what it really tests, if that is not all."""
    rule = bullet.condition.render() if bullet.condition else ""
    return _cell(bullet.content) + (
        f"\n= {_cell(rule)}" if rule not in ("", bullet.content) else ""
    )


def _backtest(bullet: Bullet) -> str:
    """How often it was right of how often it fired, or the proof if its evidence does not say."""
    right, fires = bullet.evidence.get("right"), bullet.evidence.get("fires")
    return bullet.proof if right is None or fires is None else f"{right}/{fires}"


def schema_table(fields: "Sequence[ExpectedField]") -> Table:
    """The fields that a playbook expects, as rows."""
    table = _table("the fields that the playbook knows")
    for column in ("field", "kind", "usual values", "", "used by"):
        table.add_column(column)
    for field in fields:
        wanted = field.derived_from or ("usual" if field.is_required else "")
        row = (field.name, field.kind, field.values, wanted, ", ".join(field.bullets))
        table.add_row(*map(_cell, row))
    return table


def reading_table(readings: Readings) -> Table:
    """The fields that the reader read, and where from."""
    table = _table("What was read")
    _add(table, "text", "field", "value", "read from")
    for reading in readings.read:
        table.add_row(_cell(reading.field), _cell(reading.what), _cell(reading.origin))
    return table


def history_table(entries: Sequence[Mapping[str, object]], title: str) -> Table:
    """Every change of a playbook with its version, oldest first."""
    table = _table(title)
    _add(table, "name", "version", "when", "bullet", "change", "by")
    _add(table, "text", "heuristic", "reason", ratio=1)
    for entry in entries:
        when = str(entry["at"])[:16].replace("T", " ")
        facts = (entry["version"], when, entry["bullet"], entry["change"])
        texts = (entry["source"], entry["content"], entry["reason"])
        table.add_row(*map(str, facts), *(_cell(str(text)) for text in texts))
    return table


def difference_table(differences: Sequence[Difference], title: str) -> Table:
    """The bullets that two versions do not have in common."""
    table = _table(title)
    _add(table, "name", "bullet", "change")
    _add(table, "text", "heuristic")
    for difference in differences:
        bullet = difference.after or difference.before
        content = _heuristic(bullet) if bullet else ""
        table.add_row(difference.bullet_id, difference.change, content)
    return table


def backtest_table(report: "BacktestReport") -> Table:
    """What rules or playbooks do on a table of past payments."""
    table = _table(
        "Backtest",
        "adds: frauds / good payments on which the playbook without the rule says something else",
    )
    _add(table, "text", "what", ratio=1)
    _add(table, "figure", "fires", "frauds", "good", "precision, 95 %", "recall")
    _add(table, "figure", "money of frauds", "of good", "adds")
    for one in report.backtests:
        fired, added, right = one.fired, one.added, one.right
        table.add_row(
            _cell(one.name),
            f"{fired.fires:,}",
            f"{fired.frauds:,}",
            f"{fired.honest:,}",
            _with_interval(of_share(right.part, right.whole)),
            share(one.recall),
            _amount(fired.fraud_amount),
            _amount(fired.honest_amount),
            f"{added.frauds:,} / {added.honest:,}" if added else "-",
        )
    return table


def _amount(x: float) -> str:
    return f"{x:,.0f}" if abs(x) < 1e12 else f"{x:.3g}"
