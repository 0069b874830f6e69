"""An experiment in words: the names of its modes and learners, and what to know of its figures."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from acegraph.graph.metrics.intervals import row_numbers
from acegraph.graph.metrics.run import Run

if TYPE_CHECKING:
    from acegraph.graph.experiments.experiment import Experiment

MODE_NAMES: Final = {
    "vanilla": "vanilla",
    "offline": "offline, frozen",
    "offline_online": "offline + online",
    "online": "online only",
}


def share(x: float) -> str:
    """A share without its leading zero, or a stroke if there is no such figure.

    >>> share(0.8721), share(1.0), share(float("nan"))
    ('.872', '1.000', '-')
    """
    return "-" if math.isnan(x) else f"{x:.3f}".removeprefix("0")


def names_of(experiment: "Experiment") -> dict[str, str]:
    """The modes and learners, with the names that reports show."""
    given = (*experiment.modes, *experiment.baselines)
    return {name: MODE_NAMES.get(name, name.replace("_", " ")) for name in given}


def footnotes(experiment: "Experiment") -> Iterator[str]:
    """What to know of the figures of an experiment."""
    first, fraud, names = experiment.first, experiment.fraud_rate, names_of(experiment)
    cases, rows = sum(len(run.truths) for run in first), row_numbers(first)[1]
    is_repeated = rows < cases
    yield (
        f"{cases} test cases{f' of {rows} rows' if is_repeated else ''} over {len(first)} "
        f"seed(s), {100 * fraud:.1f} % fraud; approving everything scores {1 - fraud:.3f} accuracy "
        "and 0.500 balanced accuracy."
    )
    yield (
        f"Against {next(iter(names.values()))}: points of balanced accuracy gained, "
        "permutation test on paired cases. Intervals resample seeds and cases."
    )
    if is_repeated:
        yield "A row that several seeds tested counts once in the test and the intervals."
    shares = {names[name]: experiment.compared(name).undecided_rate for name in names}
    if undecided := ", ".join(f"{name} {share(x)}" for name, x in shares.items() if x):
        yield f"Undecided, which counts as wrong in every figure: {undecided}."
    if missing := Run.together(first).truths.count(""):
        yield (
            f"{missing} cases have no label because they were declined: each figure reaches from "
            "the least to the most that their labels may make it."
        )
    if experiment.duplicates:
        yield f"{experiment.duplicates} test rows left out: a training row is the same."
    if experiment.copies:
        yield (
            f"CAUTION: {experiment.copies} test rows are the same as a training row in every field "
            "and stay, since most are: the figures say little about new cases."
        )
    if experiment.training and not experiment.learned:
        yield "Nothing was learned offline: no rule did better than chance explains."


def unit_of_cost(experiment: "Experiment") -> str:
    """What a cost is a share of."""
    amounts = [amount for run in experiment.first for amount in run.amounts or [None]]
    missing = amounts.count(None)
    if missing == len(amounts):
        return "no amount was found, so each case counts 1"
    rest = f" (1 in the {missing} cases without one)" if missing else ""
    return f"a cost is a share of the amount{rest}"
