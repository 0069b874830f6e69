"""Tables in a database of DuckDB or PostgreSQL, by an address as duckdb://payments.duckdb#payments.

Their rows come as batches of Arrow and are decided here. docs/tables.md says how the database
itself decides, by the query of a ruleset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from acegraph.graph.tables.files import BATCH, TableFiles, flat
from acegraph.state import AceError, InvalidDataset, InvalidSettings
from acegraph.state.database.places import shown_url

_AT_ONCE: Final = 16_384
"""So many rows of PostgreSQL are Python objects at a time."""
_TYPES: Final[Mapping[int, pa.DataType]] = {
    16: pa.bool_(),
    **dict.fromkeys((20, 21, 23), pa.int64()),
    **dict.fromkeys((700, 701, 1700), pa.float64()),
    1082: pa.date32(),
    1114: pa.timestamp("us"),
    1184: pa.timestamp("us", "UTC"),
}
"""The types of PostgreSQL's columns by their numbers; all others are read as text."""


def open_table(source: str | Path) -> TableFiles | DatabaseTable:
    """The table of a file, of the files of a pattern, or of an address."""
    is_address = "://" in str(source)
    return DatabaseTable.open(str(source)) if is_address else TableFiles.open(source)


@dataclass(frozen=True)
class DatabaseTable:
    """One table of a database."""

    url: str
    name: str
    flat_schema: pa.Schema
    """The columns as `batches` gives them."""
    is_cells: bool = False
    rows: int | None = None

    @property
    def place(self) -> str:
        """The table, in words."""
        return f"{shown_url(self.url)}#{self.name}"

    @classmethod
    def open(cls, address: str) -> DatabaseTable:
        """The table of an address."""
        url, _, name = address.partition("#")
        kind = url.partition("://")[0].partition("+")[0]
        if not name or kind not in ("duckdb", "postgres", "postgresql"):
            raise InvalidSettings(
                "an address is duckdb://FILE#TABLE or postgresql://...#TABLE, found "
                f"{shown_url(url)}; for others 'acegraph playbook export --to sql' writes a query"
            )
        if kind == "duckdb" and not Path(url.removeprefix("duckdb://")).is_file():
            raise InvalidDataset(f"{url}: no such file")
        empty = list(_batches(url, name, None, "LIMIT 0"))
        return cls(url, name, flat(pa.Table.from_batches(empty)).schema)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in batches, with these columns or with all."""
        for batch in _batches(self.url, self.name, columns):
            if batch.num_rows:
                yield from flat(pa.Table.from_batches([batch])).to_batches()


def _batches(
    url: str, name: str, columns: Sequence[str] | None, limit: str = ""
) -> Iterator[pa.RecordBatch]:
    wanted = "*" if columns is None else ", ".join(map(_quoted, columns))
    query = f"SELECT {wanted} FROM {'.'.join(map(_quoted, name.split('.')))} {limit}"
    reading = _of_duckdb if url.startswith("duckdb://") else _of_postgres
    with _answering(url, name):
        yield from reading(url, query)


def _of_duckdb(url: str, query: str) -> Iterator[pa.RecordBatch]:
    import duckdb

    with duckdb.connect(url.removeprefix("duckdb://"), read_only=True) as connection:
        reader = connection.execute(query).to_arrow_reader(BATCH)
        yield from reader
        yield pa.RecordBatch.from_pylist([], reader.schema)


def _of_postgres(url: str, query: str) -> Iterator[pa.RecordBatch]:
    import psycopg

    plain = "postgresql://" + url.partition("://")[2]
    with psycopg.connect(plain) as connection, connection.cursor("rows") as cursor:
        cursor.execute(query.encode())
        description = cursor.description or ()
        schema = pa.schema([(c.name, _TYPES.get(c.type_code, pa.string())) for c in description])
        while rows := cursor.fetchmany(_AT_ONCE):
            yield _batch(rows, schema)
        yield _batch([], schema)


def _batch(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [
        pa.array([None if v is None else _plain(v, one.type) for v in values], one.type)
        for values, one in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _plain(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return value if isinstance(value, str) else str(value)
    return float(value) if pa.types.is_floating(kind) else value


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def _answering(url: str, name: str) -> Iterator[None]:
    """Turn what a database says into one line; its own words may hold values."""
    try:
        yield
    except AceError:
        raise
    except GeneratorExit:
        raise
    except Exception as error:  # noqa: BLE001 - each database has a driver with errors of its own
        kind = type(error).__name__
        raise InvalidDataset(f"{shown_url(url)}: {name} cannot be read ({kind})") from None
