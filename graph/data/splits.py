"""How labelled cases are parted into training and test, and made worse on purpose.

No row that is the same in both parts is tested on. Label noise and shuffled labels show what
learning is worth when the labels are not.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np

from acegraph.graph.data.files import Item
from acegraph.nodes.text.reader import read_fields
from acegraph.state import APPROVE, DECLINE, InvalidDataset, Scalar, Transaction, Verdict, other


@dataclass(frozen=True)
class Split:
    """Training and test items, and how many test rows were left out as copies of training rows."""

    train: list[Item]
    test: list[Item]
    duplicates: int = 0
    copies: int = 0
    """Such test rows that stay, since most are: whoever reads the figures has to know."""

    def without_duplicates(self) -> "Split":
        """Without test rows that a training row repeats in every field but its row number.

        Where that would take more than half, the fields cannot tell cases apart: all stay.
        """
        keys = _keys([*self.train, *self.test])
        seen = set(keys[: len(self.train)])
        kept = [
            item
            for item, key in zip(self.test, keys[len(self.train) :], strict=True)
            if key not in seen
        ]
        copies = len(self.test) - len(kept)
        if 2 * len(kept) < len(self.test):
            return replace(self, copies=copies)
        return Split(self.train, kept, copies)

    def check_labels(self) -> None:
        """Refuse test rows that are all honest, or all fraud: half of the figures would be void."""
        if len({item["answer"] for item in self.test}) < 2:
            raise InvalidDataset(
                f"all {len(self.test)} test rows have the same label; more rows, or another "
                "--train and --test, are wanted"
            )

    def with_label_noise(self, share: float, seed: int) -> "Split":
        """With this share of the training labels the other way round; test labels stay clean."""
        rng = np.random.default_rng([seed, 31])
        wrong = rng.permutation(len(self.train)) < round(share * len(self.train))
        train = [
            {**item, "answer": other(item["answer"])} if flip else item
            for item, flip in zip(self.train, wrong, strict=True)
        ]
        return replace(self, train=train)

    def with_shuffled_labels(self, seed: int) -> "Split":
        """With all labels dealt out at random: then there is nothing to learn."""
        rng = np.random.default_rng([seed, 32])
        return replace(self, train=_dealt(self.train, rng), test=_dealt(self.test, rng))


def random_splits(
    items: Sequence[Item], train: int | None, test: int | None, seeds: int
) -> Iterator[Split]:
    """Random training and test rows, the same share of fraud in both, no row in both."""
    train, test = _sizes(items, train, test)
    fraud = [item for item in items if item["answer"] == DECLINE]
    honest = [item for item in items if item["answer"] == APPROVE]
    learned = round(train * len(fraud) / len(items))
    tested = min(round(test * len(fraud) / len(items)), len(fraud) - learned)
    tested = max(tested, test + train - learned - len(honest))  # whom rounding would leave out
    sizes = {"fraud": (learned, tested), "honest": (train - learned, test - tested)}
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        chosen: tuple[list[Item], list[Item]] = ([], [])
        for pool, kind in ((fraud, "fraud"), (honest, "honest")):
            order = rng.permutation(len(pool))
            first, second = sizes[kind]
            chosen[0].extend(pool[i] for i in order[:first])
            chosen[1].extend(pool[i] for i in order[first : first + second])
        past, stream = ([part[i] for i in rng.permutation(len(part))] for part in chosen)
        yield Split(past, stream)


def temporal_splits(
    items: Sequence[Item], train: int | None, test: int | None, seeds: int, time: str | None
) -> Iterator[Split]:
    """Training rows from before the test rows; several seeds move along the file."""
    train, test = _sizes(items, train, test)
    moments = moments_of(items, time)
    ordered = [items[i] for i in np.argsort(moments, kind="stable")]
    room = len(ordered) - train - test
    if room < seeds - 1:
        raise InvalidDataset(
            f"{seeds} seeds move along the file, which has {room} rows beyond --train {train} and "
            f"--test {test}: choose fewer rows or --seeds 1"
        )
    for seed in range(seeds):
        start = room if seeds == 1 else round(room * seed / (seeds - 1))
        yield Split(ordered[start : start + train], ordered[start + train : start + train + test])


def moments_of(items: Sequence[Item], time: str | None) -> list[float]:
    """When each case happened, in days; the field is found where it is not named."""
    rows = [Transaction.of(item["query"]).fields for item in items]
    names = [time] if time else list(dict.fromkeys(name for row in rows[:1] for name in row))
    found = {}
    for name in names:
        moments = [_days(row.get(name)) for row in rows]
        if all(moment is not None for moment in moments):
            found[name] = [moment for moment in moments if moment is not None]
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise InvalidDataset(f"{' and '.join(found)} hold dates: say which is the time by --time")
    wanted = f"field {time!r} to hold" if time else "a field with"
    raise InvalidDataset(f"time order wants {wanted} a date (ISO 8601) in every row: see --time")


def _days(value: Scalar) -> float | None:
    try:
        moment = datetime.fromisoformat(str(value)) if isinstance(value, str) else None
    except ValueError:
        return None
    if moment is None:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.timestamp() / 86_400


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


def _keys(items: Sequence[Item]) -> list[tuple[object, ...]]:
    """What makes two rows the same: the text, or all fields but those that number the rows."""
    transactions = [Transaction.of(item["query"]) for item in items]
    rows = [read_fields(t) if t.fields else {"text": t.text} for t in transactions]
    names = list(dict.fromkeys(name for row in rows for name in row))
    told = [
        name for name in names if name == "text" or not _numbers_rows([r.get(name) for r in rows])
    ]
    return [tuple(_plain(row.get(name)) for name in told) for row in rows]


def _plain(value: Scalar) -> str:
    """A value as text: 5.0 is 5, whoever wrote the file."""
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)  # type: ignore[arg-type]


def _numbers_rows(values: Sequence[Scalar]) -> bool:
    """Whether a field tells only which row it is: a name in each, or numbers that count."""
    if len(set(map(str, values))) < len(values):
        return False
    numbers = [v for v in values if isinstance(v, int | float) and float(v).is_integer()]
    if len(numbers) == len(values):
        return bool(np.median(np.diff(np.sort(numbers))) == 1)
    return all(isinstance(value, str) for value in values)


def _dealt(items: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    labels: list[Verdict] = [items[i]["answer"] for i in rng.permutation(len(items))]
    return [{**item, "answer": label} for item, label in zip(items, labels, strict=True)]
