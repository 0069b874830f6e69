"""One piece of work over many inputs, side by side: in other processes, or on other machines.

joblib does it, with its own processes (loky) or with the backend of `joblib.parallel_config`.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from threading import current_thread, main_thread
from typing import TypeVar

from acegraph.nodes.runtime.usage import PROCESS, Meter, metered
from acegraph.state import InvalidSettings

One = TypeVar("One")
Result = TypeVar("Result")


def job_count(jobs: int | None = None) -> int:
    """How many inputs are under way at once: what was asked for, else as joblib is set up, else 1.

    More than one needs joblib, so without it they are refused.
    """
    try:
        from joblib import Parallel
    except ImportError:
        if jobs in (None, 1):
            return 1
        raise InvalidSettings(
            "several jobs need joblib, the extra `report`: pip install 'acegraph[report]'"
        ) from None
    return int(Parallel(n_jobs=jobs).n_jobs)


def side_by_side(
    work: Callable[[One], Result], inputs: Iterable[One], jobs: int | None = None
) -> Iterator[Result]:
    """The result of each input, in their order; what models cost elsewhere is counted here too."""
    if job_count(jobs) == 1:
        yield from map(work, inputs)
        return
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    can_yield = get_active_backend()[0].supports_return_generator
    parallel = Parallel(n_jobs=jobs, return_as="generator" if can_yield else "list")
    here = os.getpid()
    for result, spent in parallel(delayed(_counted)(work, one, here) for one in inputs):
        PROCESS.absorb(spent)
        yield result


def _counted(work: Callable[[One], Result], one: One, caller: int) -> tuple[Result, Meter]:
    """The result, and what it spent in a process that is not the caller's."""
    if os.getpid() == caller:
        return work(one), Meter()
    if current_thread() is main_thread():  # the caller alone says that it was interrupted
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with metered(Meter()) as spent:
        return work(one), spent
