"""The labels of a file: which column has them, and which word means fraud."""

from collections.abc import Mapping

from acegraph.state.errors import InvalidDataset, InvalidInput
from acegraph.state.task.form import read_cell
from acegraph.state.task.guess import no_or_yes
from acegraph.state.values import APPROVE, DECLINE, Verdict, parse_verdict


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


def _label_value(label: object) -> object:
    """A label as a value to compare: 1, 1.0, "1" and true are equal, words are lower case."""
    word = str(label).strip().lower()
    return word if (value := read_cell(word)) is None else value
