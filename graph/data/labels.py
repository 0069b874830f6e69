"""The labels of a file: which column has them, and which word means fraud."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from acegraph.state import APPROVE, DECLINE
from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.task.form import read_cell
from acegraph.state.task.guess import no_or_yes
from acegraph.state.values.verdict import Verdict, parse_verdict

_LABEL_NAMES: Final = (
    "isfraud fraud fraudlabel fraudflag fraudind fraudulent fraudreported fraudbool label class "
    "target answer outcome betrug istbetrug chargeback ischargeback y".split()
)
"""Usual names of the column of labels, folded: a hint in an error."""


def read_label(value: object, positive: object, name: str, where: str) -> Verdict | None:
    """The right answer that the column `name` states; None where it states none."""
    if is_empty(value) or (value == "-" and positive is None):
        return None
    return a_label(value, positive, name, where)


def a_label(value: object, positive: object, name: str, where: str) -> Verdict:
    """The right answer that a label states; `positive` is the one that means fraud."""
    if positive is not None:
        return DECLINE if _label_value(value) == _label_value(positive) else APPROVE
    if (is_fraud := no_or_yes(str(value))) is not None:
        return DECLINE if is_fraud else APPROVE
    try:
        return parse_verdict(value)
    except InvalidInput as error:
        raise InvalidDataset(
            f"{where}, field {name!r}: {error}; --positive WORD names the label that means fraud"
        ) from None


def need(row: Mapping[str, object], name: str, where: str) -> object:
    """The value of a column that a row must have."""
    value = row.get(name)
    if not is_empty(value):
        return value
    if name in row:
        raise InvalidDataset(f"{where}: field {name!r} is empty")
    raise InvalidDataset(
        f"{where}: field {name!r} is missing; it has {', '.join(row)}; "
        "say which one to take (--label, --text)"
    )


def is_empty(value: object) -> bool:
    """Whether a cell holds nothing."""
    return value is None or value == "" or value != value  # NaN is not even itself


def taken_for_honest(labels: Mapping[str, tuple[Verdict, int]], positive: object) -> str:
    """A note on the labels beside the one for fraud, if they are several; else empty."""
    honest = [f"{word} ({count:,})" for word, (label, count) in labels.items() if label == APPROVE]
    if positive is None or len(honest) < 2:
        return ""
    some = ", ".join(honest[:6]) + ", ..." * (len(honest) > 6)
    return f"all labels but {positive!r} are taken for honest: {some}"


def guess_column(name: str, names: Sequence[str], *, is_label: bool) -> str | None:
    """The column that was probably meant: one of almost that name, or one named like a label.

    >>> guess_column("answer", ["Time", "Amount", "Class"], is_label=True)
    'Class'
    """
    by_fold = {re.sub(r"[\W_]+", "", other).casefold(): other for other in reversed(names)}
    fold = re.sub(r"[\W_]+", "", name).casefold()
    if close := get_close_matches(fold, by_fold, n=1, cutoff=0.8):
        return by_fold[close[0]]
    named = (by_fold[word] for word in _LABEL_NAMES if word in by_fold)
    return next(named, None) if is_label else None


def _label_value(label: object) -> object:
    """A label as a value to compare: 1, 1.0, "1" and true are equal, words are lower case."""
    word = str(label).strip().lower()
    return word if (value := read_cell(word)) is None else value
