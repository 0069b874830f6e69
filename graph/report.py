"""Tables for people: what an experiment found, what a playbook holds. Text is escaped, never
markup.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from acegraph.graph.evaluation import Run, accuracy, estimate, mcnemar
from acegraph.graph.experiment import Experiment
from acegraph.state import Bullet

_ROWS: Final = {
    "vanilla": ("vanilla", "65-70 %"),
    "offline": ("offline, frozen", ""),
    "offline_online": ("offline + online", "75-80 %"),
    "online": ("online only", "70-75 %"),
    "vanilla_second_half": ("vanilla, 2nd half", ""),
    "online_second_half": ("online only, 2nd half", ""),
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
    table = Table(title="The same held-out stream, decided in every mode", title_justify="left")
    table.add_column("mode", no_wrap=True)
    columns = ["accuracy", "balanced accuracy, 95 %", "false declines", "missed fraud"]
    columns += ["against vanilla", *(["expected"] if expected else [])]
    for name in columns:
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


def _cells(runs: Sequence[Run]) -> list[str]:
    balanced = estimate("balanced_accuracy", runs)
    return [
        f"{np.mean([accuracy(run) for run in runs]):.3f}",
        escape(f"{balanced.mean:.3f} [{balanced.low:.3f}, {balanced.high:.3f}]"),
        f"{estimate('false_decline_rate', runs).mean:.3f}",
        f"{estimate('missed_fraud_rate', runs).mean:.3f}",
    ]


def _against(runs: Sequence[Run], rival: Sequence[Run]) -> str:
    if runs is rival:
        return ""
    test = mcnemar(runs, rival)
    gain = np.mean([accuracy(a) - accuracy(b) for a, b in zip(runs, rival, strict=True)])
    p = "p < .0001" if test.p_value < 1e-4 else f"p = {test.p_value:.4f}"
    return f"{100 * gain:+.1f} points, {p}"


def _footnote(found: Experiment, expected: bool) -> str:
    first = found.modes["vanilla"]
    fraud = float(np.mean(np.concatenate([run.fraud for run in first])))
    cases = sum(len(run.truths) for run in first)
    lines = [
        f"{cases} test cases over {len(first)} seed(s), {100 * fraud:.1f} % fraud; approving "
        f"everything scores {1 - fraud:.3f} accuracy and .500 balanced accuracy.",
        "Intervals resample seeds and cases; p is McNemar's exact test on paired cases.",
    ]
    if expected:
        lines.append(
            "Expected: the accuracy that the first description of ACE promised of each mode."
        )
    if not any(report.bullets_active for report in found.training):
        lines.append("Nothing was learned offline: no rule did better than chance explains.")
    return "\n".join(lines)


def bullet_table(bullets: Sequence[Bullet], title: str) -> Table:
    """Bullets with their record and their backtest."""
    table = Table(title=title, title_justify="left", show_lines=False)
    table.add_column("id")
    table.add_column("heuristic", overflow="fold", min_width=40)
    table.add_column("source")
    table.add_column("status")
    for name in ("helpful", "harmful", "shown", "backtest"):
        table.add_column(name, justify="right")
    for b in bullets:
        proof = b.evidence
        tested = f"{proof['right']}/{proof['fires']} right" if proof else "unproven"
        table.add_row(
            b.id,
            escape(b.content),
            b.source,
            b.status,
            str(b.helpful_count),
            str(b.harmful_count),
            str(b.times_selected),
            tested,
        )
    return table
