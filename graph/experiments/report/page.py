"""The report of an experiment: one HTML file that needs nothing else, to be sent and printed.

Its figures are those of `Experiment.to_json`. The words are in page.html. Every text that came
from the data is escaped there, and the page allows no script.
"""

import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final, cast

import numpy as np

from acegraph.graph.experiments.experiment import Experiment
from acegraph.graph.experiments.report import SHAPES
from acegraph.graph.experiments.words import MODE_NAMES, footnotes, names_of, unit_of_cost
from acegraph.graph.metrics.paired import p_words
from acegraph.graph.metrics.run import Run
from acegraph.nodes.models.named import prices
from acegraph.nodes.runtime.usage import in_words
from acegraph.state import InvalidSettings
from acegraph.state.database.encoding import now
from acegraph.state.database.places import whole_file

Figures = Mapping[str, object]
"""The figures of a mode or of another learner, as `Experiment.to_json` gives them."""
_MOST: Final = 600
"""A line has so many points at most: the eye sees no difference, and the file stays small."""
_PROGRAMS: Final = "acegraph langgraph numpy scipy scikit-learn".split()
"""Those whose versions the report names."""


def check_report(path: Path | None) -> None:
    """Refuse, before any work is done, a report that is wanted and cannot be made or written."""
    if path is None:
        return
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise InvalidSettings(
            "a report needs Jinja2, the extra `report`: pip install 'acegraph[report]'"
        ) from None
    if path.suffix.lower() not in (".html", ".htm"):
        raise InvalidSettings(f"a report is .html, not {path.name!r}")
    path.parent.mkdir(0o700, parents=True, exist_ok=True)


def write_report(experiment: Experiment, path: Path) -> None:
    """Write the report of an experiment to a file, whole or not at all."""
    check_report(path)
    page = report_page(experiment)
    with whole_file(path) as part:
        part.write_text(page, encoding="utf-8")


def report_page(experiment: Experiment) -> str:
    """The report of an experiment as HTML."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    shelf = Environment(
        loader=FileSystemLoader(SHAPES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = experiment.to_json()
    runs = experiment.modes | experiment.baselines
    modes, learners = (cast("dict[str, Figures]", figures[n]) for n in ("modes", "challengers"))
    learned = next(n for n in ("offline_online", "offline", "online", "vanilla") if n in modes)
    return shelf.get_template("page.html").render(
        experiment=experiment,
        figures=figures,
        ways={n: modes[n] for n in MODE_NAMES if n in modes} | learners,
        learners=learners,
        names=names_of(experiment),
        learned=learned,
        before=modes["vanilla"],
        after=modes[learned],
        seeds=list(zip(experiment.training, experiment.modes["vanilla"], strict=False)),
        footnotes=list(footnotes(experiment)),
        unit=unit_of_cost(experiment),
        usage=in_words(experiment.meter.by_model, prices()),
        graded={
            b.id: b.condition.graded for b in experiment.bullets if b.condition and b.is_graded
        },
        caught=declined_so_far(runs, is_fraud=True),
        stopped=declined_so_far(runs, is_fraud=False),
        versions={"Python": platform.python_version()}
        | {name: metadata.version(name) for name in _PROGRAMS},
        made=now()[:10],
        p_words=p_words,
    )


def declined_so_far(
    runs_by_name: Mapping[str, Sequence[Run]], *, is_fraud: bool
) -> dict[str, list[tuple[float, float]]]:
    """How many frauds, or honest payments, each mode and whoever knows the causes has declined by
    so many cases of the stream. Where fraud is rare this says more than any rate of a short window.
    """
    given = {name: runs_by_name.get(name, ()) for name in (*MODE_NAMES, "best_attainable")}
    shown = {name: runs for name, runs in given.items() if any(run.truths for run in runs)}
    length = min((len(run.truths) for runs in shown.values() for run in runs), default=0)
    places, lines = np.linspace(0, length - 1, min(length, _MOST)).astype(int), {}
    for name, runs in shown.items():
        wanted = [((run.fraud == is_fraud) & run.declined)[:length] for run in runs]
        so_far = np.cumsum(np.mean(wanted, axis=0))[places]
        lines[name] = list(zip((places + 1).tolist(), so_far.tolist(), strict=True))
    return lines
