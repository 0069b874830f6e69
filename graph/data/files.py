"""Labelled data sets from files: JSON list, JSON lines or CSV. It knows nothing of what learns from
them.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from acegraph.graph.data.csv_files import read_sheet, read_text
from acegraph.graph.data.synthetic import Example
from acegraph.state import (
    APPROVE,
    DECLINE,
    InvalidDataset,
    InvalidInput,
    Transaction,
    Verdict,
    parse_verdict,
)
from acegraph.state.values.notation import is_nothing, written_number

_WORDS_OF_PROSE: Final = 4


Item = dict[str, Any]
"""`query` (text, or a mapping of fields), `answer` (APPROVE or DECLINE) and `id`. A row without an
id of its own has the name of its place, and `copy`: the how-many-eth of its content it is.
"""


def load_dataset(
    path: str | Path,
    *,
    query: str | None = "query",
    answer: str = "answer",
    positive: object = None,
    ids: str | None = "id",
) -> list[Item]:
    """Read a labelled set. Every item has `query`, `answer` (APPROVE or DECLINE) and `id`.

    `query` and `answer` name the keys or columns; `query=None` takes all others together as the
    fields of the transaction, or as its text where one of them is all it is told in. `positive` is
    the label that means fraud, where it is not one of the usual words.
    """
    file = Path(path)
    rows = list(_read_rows(file, answer))
    if not rows:
        raise InvalidDataset(f"{file}: no rows")
    if query is None:
        query = _prose_column([row for _, row in rows], answer)
    items = []
    copies: Counter[str] = Counter()
    for number, row in rows:
        where = f"{file}: row {number}"
        label = _label(_need(row, answer, where), positive, answer, where)
        if query is None:
            given: Any = {k: v for k, v in row.items() if k != answer}
        else:
            given = _need(row, query, where)
        try:
            Transaction.of(given)
        except InvalidInput as error:
            raise InvalidDataset(f"{where}, field {query or 'all'!r}: {error}") from None
        item = {"query": given, "answer": label}
        items.append(_named(item, row.get(ids) if ids else None, f"{file.stem}-{number}", copies))
    if positive is not None and not any(item["answer"] == DECLINE for item in items):
        found = ", ".join(sorted({str(row[answer]) for _, row in rows})[:6])
        raise InvalidDataset(f"{file}: no row has {positive!r} in {answer!r}; found {found}")
    return items


def as_items(dataset: Iterable[Mapping[str, Any] | Example]) -> list[Item]:
    """The items of a data set given in Python: mappings with `query` and `answer`, or examples."""
    items = []
    copies: Counter[str] = Counter()
    for number, entry in enumerate(dataset, start=1):
        row = entry.item() if isinstance(entry, Example) else entry
        where = f"item {number}"
        label = _label(_need(row, "answer", where), None, "answer", where)
        item = {"query": _need(row, "query", where), "answer": label}
        if "copy" in row:
            items.append({**item, "id": row["id"], "copy": row["copy"]})
        else:
            items.append(_named(item, row.get("id"), str(number), copies))
    return items


def row_name(item: Item) -> str:
    """The same for the same row, in whichever split it is."""
    return f"{item['id']} {Transaction.of(item['query']).digest()}"


def _named(item: Item, own: object, place: str, copies: "Counter[str]") -> Item:
    """A row under its own id, or under its place with the number of its content."""
    if own is not None:
        return {**item, "id": str(own)}
    digest = Transaction.of(item["query"]).digest()
    copies[digest] += 1
    return {**item, "id": place, "copy": copies[digest]}


def _read_rows(file: Path, answer: str) -> Iterator[tuple[int, dict[str, Any]]]:
    text = read_text(file)
    if file.suffix.lower() in (".csv", ".tsv"):
        rows = [
            # Labels may be + and -.
            {k: "-" if (k, v.strip()) == (answer, "-") else _typed(v) for k, v in row.items()}
            for _, row in read_sheet(file, text)[1]
        ]
        _forget_na(rows)
        yield from enumerate(rows, start=1)
        return
    for number, entry in enumerate(_json_entries(file, text), start=1):
        if not isinstance(entry, dict):
            raise InvalidDataset(f"{file}: row {number} is not an object")
        yield number, entry


def _forget_na(rows: Sequence[dict[str, Any]]) -> None:
    """Make NA nothing where all other cells of a column are numbers or flags.

    Among words it stays: it may be Namibia.
    """
    for name in rows[0] if rows else ():
        known = {row[name] for row in rows} - {None}
        words = {value for value in known if isinstance(value, str)}
        if words == {"NA"} and known != words:
            for row in rows:
                row[name] = None if row[name] == "NA" else row[name]


def _json_entries(file: Path, text: str) -> list[Any]:
    is_list = text.lstrip().startswith("[")
    entries: list[Any] = []
    for number, part in enumerate([text] if is_list else text.split("\n"), start=1):
        try:
            if part.strip():
                entries.append(json.loads(part))
        except json.JSONDecodeError as error:
            line = error.lineno if is_list else number
            raise InvalidDataset(
                f"{file}: line {line}: not JSON (a list, or one object a line): {error.msg}"
                + ("" if "json" in file.suffix.lower() else "; a CSV is named .csv or .tsv")
            ) from None
        except (ValueError, RecursionError) as error:
            raise InvalidDataset(f"{file}: line {number}: {error}") from None
    return list(entries[0]) if is_list else entries


def _typed(value: str) -> Any:
    """A CSV cell: a number, as people write it too, true or false, nothing, or text."""
    if is_nothing(value):
        return None
    word = value.strip()
    if word.lower() in ("true", "false"):
        return word.lower() == "true"
    if "_" in word:  # Python would read 18_25 as a number
        return word
    try:
        number = float(word)
    except ValueError:
        found = written_number(word)
        return word if found is None else found
    digits = word.lstrip("+-")
    if not digits.isdigit():
        return number if math.isfinite(number) else None
    # Long digit strings are identifiers: as floats they would lose digits.
    if len(digits) > 15:
        return word
    return number if digits.startswith("00") else int(word)


def _prose_column(rows: Sequence[Mapping[str, Any]], answer: str) -> str | None:
    """The one column of sentences in a file that else has nothing but names of its rows."""
    columns = {name: [row.get(name) for row in rows] for name in rows[0] if name != answer}
    prose = [name for name, values in columns.items() if _is_prose(values)]
    others = [values for name, values in columns.items() if name not in prose]
    return prose[0] if len(prose) == 1 and all(map(_tells_nothing, others)) else None


def _is_prose(values: Sequence[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    is_text = len(texts) > 0.9 * len(values) and len(set(texts)) > 0.5 * len(texts)
    return is_text and median(len(text.split()) for text in texts) >= _WORDS_OF_PROSE


def _tells_nothing(values: Sequence[Any]) -> bool:
    """Another value in every row, or the same in all: such a column describes no kind of case."""
    distinct = len(set(map(str, values)))
    return distinct <= 1 or distinct == len(values)


def _need(row: Mapping[str, Any], name: str, where: str) -> Any:
    value = row.get(name)
    if value is not None and value != "" and value == value:  # NaN is not even itself
        return value
    if name in row:
        raise InvalidDataset(f"{where}: field {name!r} is empty")
    raise InvalidDataset(
        f"{where}: field {name!r} is missing; it has {', '.join(row)}; "
        "say which one to take (--label, --text)"
    )


def _label(value: object, positive: object, name: str, where: str) -> Verdict:
    if positive is not None:
        return DECLINE if _meant(value) == _meant(positive) else APPROVE
    try:
        return parse_verdict(value)
    except InvalidInput as error:
        raise InvalidDataset(f"{where}, field {name!r}: {error}") from None


def _meant(label: object) -> object:
    """What a label says: 1, 1.0, "1" and true are one, 0 and false another; else its text."""
    word = str(label).strip().lower()
    found = _typed(word)
    return word if found is None else found
