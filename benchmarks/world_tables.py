"""Tables and tests over the records of benchmarks/worlds.py. It runs no learner."""

import itertools
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp
from world_kinds import WORLDS

from acegraph.graph.metrics.paired import Difference, paired_difference
from acegraph.graph.metrics.rates import balanced_accuracy
from acegraph.graph.metrics.run import Run
from acegraph.state import APPROVE, DECLINE

TEST: Final = 1000
"""Test rows of each world and seed."""
OURS, UNREFINED, VANILLA = "playbook", "unrefined", "vanilla"
SEEDS_TO_TELL: Final = 8
"""From so many seeds on a difference must also be more than the luck of the training rows."""
BLACK_BOXES: Final = ("gradient_boosting",)
Key = tuple[str, int, int, str]
"""World, training rows, seed, learner."""
Side = tuple[int, str]
"""Training rows and learner."""
Record = dict[str, Any]
Bits = NDArray[np.bool_]


def run_of(fraud: Bits, declined: Bits) -> Run:
    """A run without risks."""
    words = [[DECLINE if x else APPROVE for x in column] for column in (fraud, declined)]
    return Run(words[0], words[1], [None] * len(fraud))


def packed(bits: Bits) -> str:
    """Yes or no for each row, as short text."""
    return bytes(np.packbits(bits)).hex()


def unpacked(text: str) -> Bits:
    """What `packed` made the text from."""
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))[:TEST].astype(bool)


def read_records(path: Path | None) -> dict[Key, Record]:
    """What an earlier run has written."""
    if path is None or not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {(r["world"], r["size"], r["seed"], r["learner"]): r for r in records}


class Results:
    """Records of many runs, and the tables and tests over them."""

    def __init__(self, records: dict[Key, Record], sizes: Sequence[int]) -> None:
        self.records = records
        self.worlds = [w for w in WORLDS if any(key[0] == w for key in records)]
        self.sizes = [n for n in sizes if any(key[1] == n for key in records)]
        self.learners = list(dict.fromkeys(key[3] for key in records))
        self._seeds: dict[tuple[str, int, str], set[int]] = {}
        for world, size, seed, learner in records:
            self._seeds.setdefault((world, size, learner), set()).add(seed)

    def seeds(self, world: str, *sides: Side) -> list[int]:
        """The seeds of which all of these are known."""
        every = [self._seeds.get((world, *side), set()) for side in sides]
        return sorted(set.intersection(*every))

    def mean(self, learner: str, world: str, size: int) -> float:
        """The mean balanced accuracy over the seeds that all learners have decided."""
        seeds = self.seeds(world, *((size, name) for name in self.learners))
        accuracies = [self.records[world, size, s, learner]["balanced_accuracy"] for s in seeds]
        return float(np.mean(accuracies)) if seeds else float("nan")

    def facts(self, name: str, size: int | None = None) -> list[int]:
        """A figure of the refined playbook in every world and seed."""
        return [
            record[name]
            for (_, n, _, learner), record in self.records.items()
            if learner == OURS and name in record and size in (None, n)
        ]

    def difference(self, world: str, pairs: Sequence[tuple[Side, Side]]) -> Difference:
        """The paired difference of the first from the second of each pair, over all pairs.

        Its p-value is that of chance in the test rows. With enough seeds it is at least that of
        chance in the training rows: a t-test of the differences, one for each seed.
        """
        ours, theirs, by_seed = [], [], defaultdict[int, list[float]](list)
        for one, two in pairs:
            for seed in self.seeds(world, one, two):
                ours.append(self._run(world, one, seed))
                theirs.append(self._run(world, two, seed))
                by_seed[seed].append(balanced_accuracy(ours[-1]) - balanced_accuracy(theirs[-1]))
        told = paired_difference(ours, theirs)
        drawn = [np.mean(gains) for gains in by_seed.values()]
        if len(drawn) < SEEDS_TO_TELL or not np.ptp(drawn):
            return told
        return replace(told, p_value=max(told.p_value, float(ttest_1samp(drawn, 0.0).pvalue)))

    def _run(self, world: str, side: Side, seed: int) -> Run:
        record = self.records[world, side[0], seed, side[1]]
        run = run_of(unpacked(record["fraud"]), unpacked(record["declined"]))
        run.rows = [f"{seed}-{i}" for i in range(TEST)]  # every size is tested on the same rows
        return run

    def tables(self) -> Iterator[str]:
        """Means by size over all worlds, by world over all sizes, and both for the playbook."""
        ranked = sorted(self.learners, key=lambda name: -self._mean(name, self.worlds, self.sizes))
        yield "balanced accuracy, mean over the worlds, by training rows"
        yield f"{'':20s}" + "".join(f"{n:>8,d}" for n in self.sizes) + "    mean"
        for name in ranked:
            cells = [self._mean(name, self.worlds, [n]) for n in self.sizes]
            cells.append(self._mean(name, self.worlds, self.sizes))
            yield f"{name:20s}" + "".join(f"{x:8.3f}" for x in cells)
        short = {name: name.replace("_", " ").replace("regression", "r.")[:9] for name in ranked}
        yield ""
        yield f"{'by world':15s}" + "".join(f"{short[name]:>10s}" for name in ranked)
        for world in self.worlds:
            cells = [self._mean(name, [world], self.sizes) for name in ranked]
            yield f"{world:15s}" + "".join(f"{x:10.3f}" for x in cells)
        if OURS not in self.learners:
            return
        yield ""
        yield "the playbook by world and training rows (the best other learner)"
        yield f"{'':15s}" + "".join(f"{n:>15,d}" for n in self.sizes)
        for world in self.worlds:
            both = [
                (self.mean(OURS, world, n), [self.mean(name, world, n) for name in self.rivals])
                for n in self.sizes
            ]
            texts = [f"{ours:.3f} ({max(others, default=math.nan):.3f})" for ours, others in both]
            yield f"{world:15s}" + "".join(f"{text:>15s}" for text in texts)

    @property
    def rivals(self) -> list[str]:
        """The learners that are not ours."""
        return [name for name in self.learners if name not in (OURS, UNREFINED, VANILLA)]

    def _mean(self, learner: str, worlds: Sequence[str], sizes: Sequence[int]) -> float:
        cells = [self.mean(learner, world, n) for world in worlds for n in sizes]
        return float(np.nanmean(cells)) if not np.all(np.isnan(cells)) else float("nan")

    def verdicts(self) -> Iterator[str]:
        """What must hold, with figures."""
        means = {name: self._mean(name, self.worlds, self.sizes) for name in self.learners}
        readable = [name for name in self.rivals if name not in BLACK_BOXES]
        if readable and OURS in means:
            first, best = (
                max(readable, key=means.__getitem__),
                max(means[name] for name in self.rivals),
            )
            gap, behind = means[OURS] - means[first], best - means[OURS]
            yield f"{_sign(gap >= 0)} first of all that can be read: {gap:+.3f} to {first}"
            yield f"{_sign(behind <= 0.01)} within .010 of the best of all: {behind:.3f} behind"
        yield from self._worse(
            "in a world significantly below the unrefined playbook",
            {
                w: self.difference(w, [((n, OURS), (n, UNREFINED)) for n in self.sizes])
                for w in self.worlds
                if any(self.seeds(w, (n, OURS)) for n in self.sizes)
            },
        )
        yield from self._worse(
            "significantly worse with more labels",
            {
                f"{w}, {few:,} to {more:,}": self.difference(w, [((more, OURS), (few, OURS))])
                for w in self.worlds
                for few, more in itertools.pairwise(self.sizes)
                if self.seeds(w, (few, OURS), (more, OURS))
            },
        )
        for name in ("opposites", "twins"):
            count = sum(self.facts(name))
            yield f"{_sign(not count)} pairs of active bullets that are {name}: {count}"
        if bullets := self.facts("bullets", 500):
            median = float(np.median(bullets))
            yield f"{_sign(median <= 8)} median number of active bullets from 500 rows: {median:g}"
        yield f"     active bullets on a field without influence: {sum(self.facts('false'))}"
        yield f"     active bullets held back for their record: {sum(self.facts('held_back'))}"

    @staticmethod
    def _worse(what: str, found: dict[str, Difference]) -> Iterator[str]:
        corrected = {where: d.p_value * len(found) for where, d in found.items()}
        worse = {where: d for where, d in found.items() if d.mean < 0 and corrected[where] < 0.05}
        yield f"{_sign(not worse)} {what} (Bonferroni): {len(worse)} of {len(found)}"
        for where, d in sorted(worse.items(), key=lambda item: item[1].mean):
            yield f"         {where}: {d.mean:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"


def _sign(holds: bool) -> str:
    return "ok  " if holds else "FAIL"
