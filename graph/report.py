"""Tables for people: what an experiment found, what a playbook holds. Text is escaped, never
markup.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from rich import box
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from acegraph.graph.evaluation import Run, accuracy, estimate, mcnemar
from acegraph.graph.experiment import Experiment
from acegraph.state import Bullet

_ROWS: Final = {
    "vanilla": ("vanilla", "65-70"),
    "offline": ("offline, frozen", ""),
    "offline_online": ("offline + online", "75-80"),
    "online": ("online only", "70-75"),
    "vanilla_second_half": ("vanilla, 2nd half", ""),
    "online_second_half": ("online, 2nd half", ""),
}
"""Name of each row and the accuracy range that the first description of ACE expected of it."""
_CHALLENGERS: Final = {
    "logistic_regression": "logistic regression",
    "depth_3_tree": "depth-3 tree",
    "gradient_boosting": "gradient boosting",
    "best_attainable": "best attainable",
}


def experiment_table(found: Experiment, *, expected: bool = False) -> Group:
    """All modes and rivals with intervals, and the paired test of each against vanilla."""
    table = _table("The same held-out stream, decided in every mode")
    table.add_column("mode", no_wrap=True)
    columns = ["acc.", "balanced, 95 %", "false\ndeclines", "missed\nfraud", "against vanilla"]
    for name in (*columns, *(["exp. %"] if expected else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for mode, (label, range_expected) in _ROWS.items():
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
    """A share without its leading zero."""
    return f"{x:.3f}".removeprefix("0")


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
    gain = np.mean([accuracy(a) - accuracy(b) for a, b in zip(runs, rival, strict=True)])
    p = "p < .0001" if test.p_value < 1e-4 else f"p = {test.p_value:.4f}".replace("0.", ".")
    return f"{100 * gain:+.1f}, {p}"


def _footnote(found: Experiment, expected: bool) -> str:
    first = found.modes["vanilla"]
    fraud = float(np.mean(np.concatenate([run.fraud for run in first])))
    cases = sum(len(run.truths) for run in first)
    lines = [
        f"{cases} test cases over {len(first)} seed(s), {100 * fraud:.1f} % fraud; approving "
        f"everything scores {1 - fraud:.3f} accuracy and .500 balanced accuracy.",
        "Against vanilla: points of plain accuracy gained, McNemar's exact test on paired cases. "
        "Intervals resample seeds and cases.",
    ]
    if expected:
        lines.append(
            "exp. %: the accuracy that the first description of ACE expected of each mode."
        )
    if not any(report.bullets_active for report in found.training):
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
        proof = b.evidence
        table.add_row(
            b.id,
            escape(b.content),
            b.source,
            b.status,
            str(b.helpful_count),
            str(b.harmful_count),
            str(b.times_selected),
            f"{proof['right']}/{proof['fires']}" if proof else b.proof,
        )
    table.caption = (
        "helpful and harmful: outcomes where it fired; backtest: right of fired, before it acted"
    )
    table.caption_justify = "left"
    return table
