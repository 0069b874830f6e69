"""Splits of labelled rows into training and test; a test row that repeats one to learn from is not
tested on.

It does not train: graph/training does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

import numpy as np

from acegraph.graph.data.declare import fields_of, task_of
from acegraph.graph.data.files import Item
from acegraph.state import InvalidDataset
from acegraph.state.database.encoding import as_utc
from acegraph.state.task.task import Task
from acegraph.state.values import APPROVE, DECLINE


@dataclass(frozen=True)
class Split:
    """Training and test items."""

    train: list[Item]
    test: list[Item]
    duplicates: int = 0
    """How many test rows were left out because they repeat training rows."""
    copies: int = 0
    """How many such test rows stay, because most test rows are such; the report has to say so."""
    task: Task | None = None
    """What the rows are, where their file told."""

    def without_duplicates(self) -> "Split":
        """The split without test rows that repeat a training row in every field but ids.

        If that would leave out more than half, the fields cannot tell cases apart, and all stay.
        """
        items = [*self.train, *self.test]
        task = self.task or task_of(items)
        names = [one.name for one in task.fields if one.role not in ("id", "ignored")]
        keys = [tuple(map(row.get, names)) for row in fields_of(items, task)]
        trained, tested = set(keys[: len(self.train)]), keys[len(self.train) :]
        kept = [i for i, key in zip(self.test, tested, strict=True) if key not in trained]
        copies = len(self.test) - len(kept)
        if 2 * len(kept) < len(self.test):
            return replace(self, copies=copies)
        return replace(self, test=kept, duplicates=copies)

    def check_labels(self) -> None:
        """Refuse test rows that are all honest or all fraud: half of the figures would be void."""
        if len({item["answer"] for item in self.test}) < 2:
            raise InvalidDataset(
                f"all {len(self.test)} test rows have the same label; more rows, or another "
                "--train and --test, are wanted"
            )


def random_splits(
    items: Sequence[Item], train: int | None, test: int | None, seeds: int
) -> Iterator[Split]:
    """Random training and test rows, the same share of fraud in both, no row in both."""
    train, test = _sizes(items, train, test)
    fraud = [item for item in items if item["answer"] == DECLINE]
    honest = [item for item in items if item["answer"] == APPROVE]
    learned = round(train * len(fraud) / len(items))
    tested = min(round(test * len(fraud) / len(items)), len(fraud) - learned)
    tested = max(tested, test + train - learned - len(honest))  # rounding must not lose a row
    pools = ((fraud, learned, tested), (honest, train - learned, test - tested))
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        chosen: tuple[list[Item], list[Item]] = ([], [])
        for pool, to_train, to_test in pools:
            order = rng.permutation(len(pool))
            chosen[0].extend(pool[i] for i in order[:to_train])
            chosen[1].extend(pool[i] for i in order[to_train : to_train + to_test])
        past, stream = ([part[i] for i in rng.permutation(len(part))] for part in chosen)
        yield Split(past, stream)


def temporal_splits(
    items: Sequence[Item], train: int | None, test: int | None, seeds: int
) -> Iterator[Split]:
    """Training rows that precede the test rows in time; several seeds move along the file."""
    train, test = _sizes(items, train, test)
    ordered = [items[i] for i in np.argsort(moments_of(items), kind="stable")]
    room = len(ordered) - train - test
    if room < seeds - 1:
        raise InvalidDataset(
            f"{seeds} seeds move along the file, which has {room} rows beyond --train {train} and "
            f"--test {test}: choose fewer rows or --seeds 1"
        )
    for seed in range(seeds):
        start = room if seeds == 1 else round(room * seed / (seeds - 1))
        yield Split(ordered[start : start + train], ordered[start + train : start + train + test])


def mature_rows(items: Sequence[Item], days: float) -> list[Item]:
    """The rows without the honest ones of the last so many days before the newest row.

    A fraud is known for certain; that there is none is known when no chargeback can come any more.
    """
    moments = moments_of(items)
    last = max(moments, default=0.0) - days
    return [
        item
        for item, moment in zip(items, moments, strict=True)
        if item["answer"] == DECLINE or moment <= last
    ]


def moments_of(items: Sequence[Item]) -> list[float]:
    """When each case happened, in days since 1970."""
    if not all("time" in item for item in items):
        raise InvalidDataset("time order wants a time in every row: name it by --as NAME=time")
    return [cast("float", days_of(item["time"])) for item in items]


def days_of(time: str | None) -> float | None:
    """A moment in ISO 8601, in days since 1970; None of none."""
    return datetime.fromisoformat(as_utc(time)).timestamp() / 86_400 if time else None


def _sizes(items: Sequence[Item], train: int | None, test: int | None) -> tuple[int, int]:
    train = train or round(0.4 * len(items))
    test = test or len(items) - train
    frauds = sum(item["answer"] == DECLINE for item in items)
    too_few = min(train, test) < 2 or train + test > len(items)
    if too_few or frauds in (0, len(items)):
        raise InvalidDataset(
            f"{train} training and {max(test, 0)} test rows wanted; the file has {len(items)}, "
            f"{frauds} of them fraud: choose --train and --test to fit"
        )
    return train, test
