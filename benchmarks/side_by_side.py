"""One piece of work over many inputs, side by side in other processes (by joblib)."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from threading import current_thread, main_thread
from typing import TypeVar

from joblib import Parallel, delayed

One = TypeVar("One")
Result = TypeVar("Result")


def side_by_side(
    work: Callable[[One], Result], inputs: Iterable[One], jobs: int | None = None
) -> Iterator[Result]:
    """The result of each input, in their order; without `jobs` as joblib is set up."""
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    yield from parallel(delayed(_elsewhere)(work, one, os.getpid()) for one in inputs)


def _elsewhere(work: Callable[[One], Result], one: One, caller: int) -> Result:
    """The result; the caller alone says that it was interrupted."""
    if os.getpid() != caller and current_thread() is main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return work(one)
