"""Tables on a user's engine, by an address as duckdb://payments.duckdb#payments: it decides.

A sample of the rows is decided here as well, and a difference is an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import ibis
from ibis.common.exceptions import IbisError, OperationNotDefinedError

from acegraph.graph.data.files import read_label
from acegraph.graph.tables.backtest import (
    NO_LABELS,
    BacktestReport,
    Counts,
    Labels,
    Subject,
    TableBacktest,
    has_columns,
)
from acegraph.graph.tables.engines.expression import EngineColumns, as_expression, decided_by
from acegraph.graph.tables.ruleset import Ruleset
from acegraph.graph.tables.score import ScoreReport
from acegraph.graph.tables.scorer import check_columns
from acegraph.nodes.text.currencies import amount_fields
from acegraph.nodes.text.field_contract import date_of_part
from acegraph.state import DECLINE, AceError, InvalidDataset, InvalidSettings
from acegraph.state.database.places import shown_url
from acegraph.state.errors import EngineDiffers
from acegraph.state.values.condition import asks_for_words
from acegraph.state.values.verdict import UNDECIDED

SAMPLE: Final = 2_000
_MOST_LABELS: Final = 1_000


@dataclass(frozen=True)
class EngineTable:
    """A table on an engine."""

    backend: Any
    table: ibis.Table
    url: str

    @classmethod
    @contextmanager
    def open(cls, address: str) -> Iterator[EngineTable]:
        """Connect to the engine of an address, and end the connection after."""
        url, _, name = address.partition("#")
        if not name:
            raise InvalidSettings(
                f"an address is URL#TABLE, as duckdb://payments.duckdb#payments; found "
                f"{shown_url(url)}"
            )
        if url.startswith("duckdb://") and not Path(url.removeprefix("duckdb://")).is_file():
            raise InvalidDataset(f"{url}: no such file")
        with _answering(url, "cannot be reached"):
            backend = ibis.connect(url)
        try:
            with _answering(url, f"has no table {name}"):
                table = backend.table(name)
            yield cls(backend, table, url)
        finally:
            backend.disconnect()


@contextmanager
def _answering(url: str, problem: str) -> Iterator[None]:
    """Turn what an engine says into one line; its own words may hold values."""
    try:
        yield
    except AceError:
        raise
    except Exception as error:  # noqa: BLE001 - each engine has a driver with errors of its own
        kind = type(error).__name__
        raise InvalidDataset(f"{shown_url(url)}: {problem} ({kind})") from None


def score_address(
    ruleset: Ruleset, address: str, out: str | None = None, *, allow_missing: bool = False
) -> ScoreReport:
    """Decide the rows of a table on its engine; with `out` a table of that name is made there."""
    with EngineTable.open(address) as engine:
        table = engine.table
        if not allow_missing:
            check_columns(ruleset, table.columns)
        with _answering(engine.url, "cannot decide this table"):
            decided = as_expression(ruleset, table)
            check_sample(ruleset, table, decided)
            counted = decided.group_by("decision").aggregate(n=decided.count()).to_pyarrow()
        counts = {row["decision"]: row["n"] for row in counted.to_pylist()}
        if not counts:
            raise InvalidDataset(f"{shown_url(engine.url)}: no rows in {table.get_name()}")
        if out is not None:
            with _answering(engine.url, f"cannot make the table {out}; is there one already?"):
                engine.backend.create_table(out, decided)
    bullets = len(ruleset.active)
    return ScoreReport(sum(counts.values()), counts, ruleset.version, bullets=bullets)


def check_sample(ruleset: Ruleset, table: ibis.Table, decided: ibis.Table) -> int:
    """Decide a sample of the rows here as well, and say how many; a difference is an error."""
    rows = _sample(decided).to_pyarrow().to_pylist()
    differing = []
    for row in rows:
        one = ruleset.decide({name: row[name] for name in table.columns})
        is_same = one.decision == row["decision"] and (one.risk is None) == (row["risk"] is None)
        if not is_same or not math.isclose(one.risk or 0, row["risk"] or 0, rel_tol=1e-3):
            differing.append(f"{row['decision']} instead of {one.decision}")
    if differing:
        raise EngineDiffers(
            f"the engine decides {len(differing)} of {len(rows)} sampled rows otherwise, as "
            f"{differing[0]}: score a file of the table instead, and report this"
        )
    return len(rows)


def _sample(decided: ibis.Table) -> ibis.Table:
    """Some rows, chosen by a hash of a column where the engine has one."""
    size = decided.count().to_pyarrow().as_py()
    if size <= SAMPLE:
        return decided
    column = decided[decided.columns[0]]
    chosen = decided.filter(column.hash().abs() % max(size // SAMPLE, 1) == 0).limit(SAMPLE)
    try:
        some = chosen.count().to_pyarrow().as_py()
    except (OperationNotDefinedError, IbisError):
        some = 0
    return chosen if some >= SAMPLE // 4 else decided.limit(SAMPLE)


def backtest_address(
    subjects: Sequence[Subject],
    address: str,
    labels: Labels = NO_LABELS,
) -> BacktestReport:
    """Try subjects on a table on its engine; only counts come back."""
    with EngineTable.open(address) as engine:
        for name in filter(None, (labels.column, labels.amount)):
            if name not in engine.table.columns:
                raise InvalidDataset(f"no column {name!r} in {engine.table.get_name()}")
        with _answering(engine.url, "cannot decide this table"):
            found = [_backtested(subject, engine.table, labels) for subject in subjects]
    return BacktestReport(found)


def _backtested(subject: Subject, table: ibis.Table, labels: Labels) -> TableBacktest:
    ruleset, condition = subject.ruleset, subject.condition
    is_known = has_columns(subject, table.columns)
    columns = EngineColumns(ruleset, table, conditions=[condition] if condition else [])
    names = [labels.amount] if labels.amount else amount_fields(tuple(columns.fields))
    numbers = [columns.fields[n].number for n in names if n in columns.fields]
    amount = next((n for n in numbers if n is not None), ibis.null("float64"))
    marked = table.mutate(
        _fires=columns.fires(condition) if condition else ibis.literal(False),
        _amount=amount,
        **_labelled(table, labels),
    )
    if is_known or condition is None:
        marked = decided_by(columns, ruleset, marked)
    fires = marked._fires if condition else marked.decision == DECLINE
    figures = _figures("fired", fires, marked)
    if condition and is_known:
        figures |= _figures("added", fires & (marked.decision != subject.verdict), marked)
    if condition is None:
        figures["undecided"] = (marked.decision == UNDECIDED).sum()
    figures |= {
        "rows": marked.count(),
        "frauds": marked._fraud.sum(),
        "honest": marked._honest.sum(),
    }
    (row,) = marked.aggregate(**figures).to_pyarrow().to_pylist()
    if not row["rows"]:
        raise InvalidDataset(f"no rows in {table.get_name()}")
    return TableBacktest(
        subject.name,
        subject.verdict,
        rows=row["rows"],
        all_frauds=row["frauds"],
        all_honest=row["honest"],
        undecided=row.get("undecided", 0),
        fired=_counts("fired", row),
        added=_counts("added", row) if condition and is_known else None,
    )


def _labelled(table: ibis.Table, labels: Labels) -> dict[str, Any]:
    """Which rows are fraud, and which honest."""
    if labels.column is None:
        return {"_fraud": ibis.literal(False), "_honest": ibis.literal(False)}
    column = table[labels.column]
    words = column.name("w").as_table().distinct().limit(_MOST_LABELS).to_pyarrow()
    meanings: dict[str | None, list[object]] = {}
    for word in words.column(0).to_pylist():
        meaning = read_label(word, labels.positive, labels.column, f"column {labels.column!r}")
        meanings.setdefault(meaning, []).append(word)
    return {
        "_fraud": column.isin(meanings.get(DECLINE, [])).fill_null(False),
        "_honest": column.isin(meanings.get("APPROVE", [])).fill_null(False),
    }


def _figures(name: str, fires: Any, marked: ibis.Table) -> dict[str, Any]:
    frauds, honest = fires & marked._fraud, fires & marked._honest
    return {
        f"{name}_fires": fires.sum(),
        f"{name}_frauds": frauds.sum(),
        f"{name}_honest": honest.sum(),
        f"{name}_fraud_amount": ibis.ifelse(frauds, marked._amount, 0.0).sum(),
        f"{name}_honest_amount": ibis.ifelse(honest, marked._amount, 0.0).sum(),
    }


def _counts(name: str, row: Mapping[str, Any]) -> Counts:
    return Counts(
        *(int(row[f"{name}_{what}"] or 0) for what in ("fires", "frauds", "honest")),
        *(float(row[f"{name}_{what}_amount"] or 0.0) for what in ("fraud", "honest")),
    )


_IN_WORDS: Final = {
    "float64": "a number",
    "boolean": "true or false",
    "string": "text",
    "timestamp": "a timestamp without a time zone, by the clock of the labelled payments",
}


def playbook_sql(
    ruleset: Ruleset, dialect: str, table: str = "payments", ids: str | None = None
) -> str:
    """The decision of a ruleset as SQL text, for a table with the columns that it knows, and one of
    `ids` if that is named.

    Texts are compared as they are written: what needs reading must be read before. The comment
    above the query says which columns it reads, and as what.
    """
    asking = [b.id for b in ruleset.active if b.condition and asks_for_words(b.condition)]
    if asking:
        raise InvalidSettings(
            f"{', '.join(asking)}: SQL cannot say what a text mentions; score a file instead"
        )
    types, texts = _known_columns(ruleset)
    if not types:
        raise InvalidSettings("the playbook knows no column yet: label cases or add rules first")
    unbound = ibis.table({ids: "string", **types} if ids else types, name=table)
    decided = as_expression(ruleset, unbound, texts=texts)
    try:
        query = str(ibis.to_sql(decided, dialect=dialect))
    except (IbisError, AttributeError, ImportError, ValueError, NotImplementedError) as error:
        why = str(error) if isinstance(error, NotImplementedError) else type(error).__name__
        raise InvalidSettings(
            f"no SQL in the dialect {dialect!r}: {why}; duckdb, postgres, snowflake, bigquery, "
            "databricks, trino and clickhouse are some"
        ) from None
    zones = {n: ", ".join(sorted(k.zones - {""})) for n, k in ruleset.contract.fields.items()}
    read = [
        f"--   {' '.join(name.split())}: {_IN_WORDS[kind]}"
        + (f" ({zones[name]})" if zones.get(name) else "")
        for name, kind in types.items()
    ]
    above = f"-- Decides by version {ruleset.version} of a playbook. It reads these columns:"
    return "\n".join([above, *read, query])


def _known_columns(ruleset: Ruleset) -> tuple[dict[str, str], dict[str, list[str]]]:
    """The columns that a ruleset knows with their types, and the texts that it knows."""
    kinds = {"number": "float64", "flag": "boolean", "word": "string", "mixed": "string"}
    known = ruleset.contract.fields
    tests = [c for b in ruleset.active if b.condition for c in b.condition.comparisons]
    names = dict.fromkeys([*known, *(test.field for test in tests)])
    texts: dict[str, list[str]] = {}
    types: dict[str, str] = {}
    dates = {date_of_part(name) for name in names} - {""}
    for name in names:
        if date_of_part(name):
            continue
        values = [test.value for test in tests if test.field == name]
        kind = kinds[known[name].kind] if name in known else _type_of(values)
        types[name] = "timestamp" if name in dates else kind
        words = list(known[name].words.values()) if name in known else []
        texts[name] = list(dict.fromkeys([*words, *(v for v in values if isinstance(v, str))]))
    return types | dict.fromkeys(dates, "timestamp"), texts


def _type_of(values: Sequence[object]) -> str:
    given = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in given):
        return "string"
    return "boolean" if given and all(isinstance(v, bool) for v in given) else "float64"
