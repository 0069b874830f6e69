"""How the time of every public function grows with the length of crafted inputs.

Each function of tests/support/crafted_inputs.py reads each family of texts at 20,000 characters,
or as many items as make 20,000 characters. Where that takes more than two milliseconds, it reads
2,500, 5,000 and 10,000 characters too. The exponent of growth is the slope of log time over log
length while the length grows fourfold; the greater of both slopes counts, so that a limit on what
is read hides nothing. At last, learning is timed with and without made-up names of fields.

    python benchmarks/growth.py --only explain
"""

import argparse
import functools
import gc
import itertools
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from common import compare, table
from crafted_inputs import FAMILIES, FUNCTIONS, LONGEST, Family, quietly

from acegraph.graph import create_ace_graph, generate_transactions
from acegraph.state import BulletPlaybook

MOST: Final = 1.2
"""The greatest exponent that passes as linear: a sort and larger tables grow a little faster."""
_NOTICED: Final = 0.002
"""Seconds under which a call costs mostly what every call costs."""
_MADE_UP: Final = 280
_SLOWED: Final = 2.5
"""How much longer learning may take with names that strangers made up."""
_SIZES: Final = (LONGEST // 8, LONGEST // 4, LONGEST // 2, LONGEST)


@dataclass(frozen=True)
class Growth:
    """What one function took for one family."""

    function: str
    family: str
    seconds: float
    """CPU time at the full length."""
    exponent: float | None
    """None where the time is too short to tell."""


@functools.cache
def caches() -> list["functools._lru_cache_wrapper[object]"]:
    """The bounded caches of the package: a text that is remembered costs nothing."""
    wrappers = (c for c in gc.get_objects() if isinstance(c, functools._lru_cache_wrapper))
    ours = (c for c in wrappers if str(getattr(c, "__module__", "")).startswith("acegraph"))
    return [c for c in ours if c.cache_parameters()["maxsize"] is not None]


def cpu_seconds(function: str, family: Family, sizes: Sequence[int], turns: int) -> list[float]:
    """The least CPU time at each size; they take turns, so that a busy moment slows all alike."""
    times: list[list[float]] = [[] for _ in sizes]
    for _ in range(turns):
        for size, seconds in zip(sizes, times, strict=True):
            call = FUNCTIONS[function](family.text(size))
            for cache in caches():
                cache.cache_clear()
            gc.collect(0)
            gc.disable()  # what earlier calls left would be collected at the cost of this one
            start = time.process_time()
            quietly(call)
            seconds.append(time.process_time() - start)
            gc.enable()
    return list(map(min, times))


def growth(function: str, family: Family) -> Growth:
    """Measure one function with one family; a suspicion is measured again, more carefully."""
    (longest,) = cpu_seconds(function, family, [LONGEST], 2)
    if longest < _NOTICED:
        return Growth(function, family.name, longest, None)
    for turns in (2, 7, 21):
        seconds = cpu_seconds(function, family, _SIZES, turns)
        slopes = [
            math.log(long / short, 4)
            for short, long in zip(seconds, seconds[2:], strict=False)
            if long >= _NOTICED
        ]
        if max(slopes, default=0.0) <= MOST:
            break
    return Growth(function, family.name, seconds[-1], max(slopes, default=None))


def show(measured: Sequence[Growth]) -> None:
    """Print for every function its slowest family and the one with the greatest exponent."""
    rows = [["function", "slowest family", "ms at 20,000", "fastest growth", "exponent"]]
    for function, group in itertools.groupby(measured, lambda one: one.function):
        of_function = list(group)
        slowest = max(of_function, key=lambda one: one.seconds)
        steepest = max(of_function, key=lambda one: one.exponent or 0.0)
        row = [function, slowest.family, f"{slowest.seconds * 1e3:.1f}"]
        if steepest.exponent is not None:
            row += [steepest.family, f"{steepest.exponent:.2f}"]
        rows.append([*row, "", ""][:5])
    table("CPU time of public functions on crafted inputs", rows)


def learn(made_up: int) -> None:
    """Learn from 200 payments, 40 of which have made-up names of fields."""
    graph = create_ace_graph(playbook=BulletPlaybook()).compile()
    for i, example in enumerate(generate_transactions(200, seed=3)):
        names = {f"x{j}_name": i * j % 7 for j in range(made_up)} if i % 5 == 0 else {}
        given = {"transaction": {**example.fields, **names}, "decision_id": str(i)}
        graph.invoke({**given, "ground_truth": example.answer})  # type: ignore[arg-type]


def main(words: list[str] | None = None) -> int:
    """Print the table; 1 if the time of some function is not linear."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a function's name")
    parser.add_argument("--family", default="", help="part of a family's name")
    chosen = parser.parse_args(words)
    measured = [
        growth(function, family)
        for function in FUNCTIONS
        for family in FAMILIES
        if chosen.only in function and chosen.family in family.name
    ]
    show(measured)
    steep = [one for one in measured if (one.exponent or 0.0) > MOST]
    for one in steep:
        print(f"{one.function} on {one.family}: {one.exponent:.2f}, {one.seconds * 1e3:.0f} ms")
    told = [one.exponent for one in measured if one.exponent is not None]
    print(
        f"{len(measured):,} crafted inputs, {len(told):,} above {_NOTICED * 1e3:.0f} ms; greatest "
        f"exponent {max(told, default=0.0):.2f}; {len(steep)} above {MOST}"
    )
    if chosen.only:
        return 1 if steep else 0
    plain, slowed = compare(lambda: learn(0), lambda: learn(_MADE_UP), repeats=5)
    print(
        f"learning from 200 payments: {plain:.2f} s; with {_MADE_UP} made-up names on 40 of them "
        f"{slowed:.2f} s, {slowed / plain:.2f} times as long"
    )
    return 1 if steep or slowed > _SLOWED * plain else 0


if __name__ == "__main__":
    sys.exit(main())
