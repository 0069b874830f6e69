"""Seeds side by side: the same figures, in order, counted, and ended by one interruption."""

import os
import signal
import subprocess
import sys

import job_worker
import pytest
from joblib import parallel_config

from acegraph.graph import generate_transactions
from acegraph.graph.data.files import as_items
from acegraph.graph.data.splits import Split
from acegraph.graph.experiments.experiment import Plan, run_experiment
from acegraph.graph.experiments.jobs import side_by_side
from acegraph.nodes.runtime.usage import PROCESS, Usage
from acegraph.state import InvalidDataset


def splits(seeds: int) -> list[Split]:
    return [
        Split(
            as_items(generate_transactions(30, seed=seed)),
            as_items(generate_transactions(20, seed=100 + seed)),
        )
        for seed in range(seeds)
    ]


def test_the_figures_are_the_same_whatever_the_number_of_jobs() -> None:
    plan, told = Plan(by=("channel",)), []
    one = run_experiment(splits(2), baselines=False, plan=plan, jobs=1)
    two = run_experiment(
        splits(2),
        baselines=False,
        plan=plan,
        jobs=2,
        progress=lambda seed: lambda *words: told.append((seed, *words)),
    )
    assert one.to_json() == two.to_json()
    assert [run.risks for run in one.modes["online"]] == [run.risks for run in two.modes["online"]]
    assert told == [(None, "seeds", done, 2) for done in range(3)]
    lacking = Split(splits(1)[0].train, [])
    with pytest.raises(InvalidDataset, match="all 0 test rows have the same label"):
        run_experiment([lacking, lacking], baselines=False, jobs=2)


def test_what_models_cost_in_other_processes_is_counted_here() -> None:
    before = PROCESS.by_model.get("scripted", Usage()).calls
    results = list(side_by_side(job_worker.ask, range(4), 2))
    assert [number for number, _ in results] == [0, 1, 2, 3]
    assert os.getpid() not in {process for _, process in results}
    assert PROCESS.by_model["scripted"].calls == before + 4


@pytest.mark.parametrize("backend", ["threading", "sequential"])
def test_the_backend_of_the_caller_is_used(backend: str) -> None:
    before = PROCESS.by_model.get("scripted", Usage()).calls
    with parallel_config(backend=backend, n_jobs=2):
        results = list(side_by_side(job_worker.ask, range(3)))
    assert results == [(number, os.getpid()) for number in range(3)]
    assert PROCESS.by_model["scripted"].calls == before + 3


def test_an_interruption_ends_all_processes_in_one_line() -> None:
    command = [sys.executable, job_worker.__file__]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    ) as working:
        assert working.stdout is not None
        assert [working.stdout.readline() for _ in range(2)] == ["began\n"] * 2
        os.killpg(working.pid, signal.SIGINT)  # as a terminal does: all of them get it
        rest, said = working.communicate()
    assert (rest, said) == ("", "interrupted\n")
    assert working.returncode == 1
