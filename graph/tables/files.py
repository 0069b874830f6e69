"""Tables in files, batch by batch: CSV, JSON lines and Parquet; an output appears whole or not."""

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from acegraph.graph.data.rows import below_header, decode, find_delimiter, read_encoded, read_sheet
from acegraph.state import InvalidDataset, InvalidSettings

BATCH: Final = 131_072
_PEEK: Final = 1 << 16
_BLOCK: Final = 1 << 24
_JSON_BLOCKS: Final = pa.json.ReadOptions(block_size=_BLOCK)
_FORMATS: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}


@dataclass(frozen=True)
class TableFile:
    """A table in a file."""

    file: Path
    form: str
    """csv, json or parquet."""
    schema: pa.Schema

    @classmethod
    def open(cls, name: str | Path) -> "TableFile":
        """The table of a file that there is."""
        if "://" in str(name):
            raise InvalidSettings(
                "a table is a file; in a database the query of 'acegraph playbook export --to sql' "
                "decides"
            )
        file = Path(name)
        if not file.exists():
            raise InvalidDataset(f"{file}: no such file")
        form = _form(file)
        return cls(file, form, _schema(file, form))

    @cached_property
    def flat_schema(self) -> pa.Schema:
        """The columns as `batches` gives them."""
        return flat(self.schema.empty_table()).schema

    @property
    def is_cells(self) -> bool:
        """Whether all values are the text of cells."""
        return self.form == "csv"

    @property
    def is_continental(self) -> bool:
        """Whether the table looks like one of Europe's continent."""
        return self.form == "csv" and _dialect(self.file).delimiter == ";"

    @property
    def about_rows(self) -> int:
        """How many rows there are; of a text its lines."""
        return self.rows or _quotes_and_lines(self.file)[1]

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known before they are read."""
        return pq.read_metadata(self.file).num_rows if self.form == "parquet" else None

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows in batches, with these columns or with all; columns inside others are flat."""
        with _readable(self.file):
            for batch in self._batches(columns):
                yield from flat(pa.Table.from_batches([batch])).to_batches()

    def _batches(self, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        if self.form == "parquet":
            texts = [one.name for one in self.schema if is_text(one.type)]
            with pq.ParquetFile(self.file, read_dictionary=texts) as table:
                yield from table.iter_batches(BATCH, columns=columns)
        elif self.form == "json":
            options = pa.json.ParseOptions(
                explicit_schema=self.schema, unexpected_field_behavior="error"
            )
            with pa.input_stream(str(self.file), compression=_compression(self.file)) as stream:
                yield from pa.json.open_json(stream, _JSON_BLOCKS, options)
        else:
            yield from _csv_batches(self.file, self.schema.names if columns is None else columns)


def _form(file: Path) -> str:
    name = file.with_suffix("") if file.suffix.lower() == ".gz" else file
    form = _FORMATS.get(name.suffix.lower())
    if form is None:
        raise InvalidDataset(
            f"{file}: a name that ends in .csv, .tsv, .jsonl or .parquet wanted (.gz may follow)"
        )
    return form


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Turn what is wrong with a file into one line."""
    try:
        yield
    except (pa.ArrowException, EOFError, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        said = str(error).splitlines()[0].rstrip(".")[:160]
        if "'" in said or '"' in said:  # Arrow quotes values
            said = said.split(":", 1)[0]
        raise InvalidDataset(f"{file}: cannot be read as a table: {said}") from None


def _schema(file: Path, form: str) -> pa.Schema:
    with _readable(file):
        if not file.stat().st_size:
            raise InvalidDataset(f"{file}: the file is empty")
        if form == "parquet":
            return pq.read_schema(file)
        if form == "csv":
            return pa.schema([(name, pa.string()) for name in _dialect(file).names])
        return _json_schema(file)


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def flat(table: pa.Table) -> pa.Table:
    """The table in plain types; columns inside of others stand beside them, as card.country."""
    while any(pa.types.is_struct(one.type) for one in table.schema):
        table = table.flatten()
    for i, one in enumerate(table.schema):
        if pa.types.is_large_string(one.type) or pa.types.is_string_view(one.type):
            table = table.set_column(i, one.name, table.column(i).cast(pa.string()))
    return table


def _opened(file: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb")


@dataclass(frozen=True)
class _Dialect:
    """How a CSV is written."""

    encoding: str
    delimiter: str
    names: list[str]
    above: int
    """How many lines are above the rows."""


def _dialect(file: Path) -> _Dialect:
    with _opened(file) as opened:
        data = opened.read(_PEEK)
    text, encoding = decode(data, file, is_whole=False)
    plain = "utf8" if encoding == "utf-8-sig" else encoding  # Arrow itself skips a mark of bytes
    names, reader = below_header(file, text)
    return _Dialect(plain, find_delimiter(text), names, reader.line_num)


def _csv_batches(file: Path, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The cells of a CSV by Arrow; from where it does not understand them by the careful reader."""
    done, dialect, (quotes, lines) = 0, _dialect(file), _quotes_and_lines(file)
    try:
        for batch in () if quotes % 2 else _open_csv(file, dialect, wanted):
            done += batch.num_rows
            yield batch
        if done and not (quotes and done + dialect.above < lines):
            return
    except pa.ArrowInvalid:
        pass
    # A row may be part of a cell whose quotation mark is not closed: Arrow does not care.
    rows = islice(read_sheet(file, read_encoded(file)[0])[1], done, None)
    schema = pa.schema([(name, pa.string()) for name in wanted])
    while some := list(islice(rows, BATCH)):
        cells = [{name: row[name] or None for name in wanted} for _, row in some]
        yield pa.RecordBatch.from_pylist(cells, schema)


def _quotes_and_lines(file: Path) -> tuple[int, int]:
    """How many quotation marks a CSV has, and how many lines."""
    quotes, ends, part = 0, 0, b"\n"
    with _opened(file) as opened:
        for part in iter(partial(opened.read, 1 << 20), b""):
            quotes, ends = quotes + part.count(b'"'), ends + part.count(b"\n")
    is_ended = part.rstrip(b"\0").endswith(b"\n")  # in UTF-16 a zero may follow
    return quotes, ends if is_ended else ends + 1


def _open_csv(file: Path, dialect: _Dialect, wanted: Sequence[str]) -> pa.csv.CSVStreamingReader:
    return pa.csv.open_csv(
        pa.input_stream(str(file), compression=_compression(file)),
        pa.csv.ReadOptions(
            encoding=dialect.encoding,
            skip_rows=dialect.above,
            column_names=dialect.names,
            block_size=_BLOCK,
        ),
        pa.csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(dialect.names, pa.string()),
            include_columns=list(wanted),
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


def _json_schema(file: Path) -> pa.Schema:
    """The types of the first rows; dates stay text, as in a single payment."""
    with _opened(file) as opened:
        if opened.read(_PEEK).lstrip().startswith(b"["):
            raise InvalidDataset(f"{file}: one JSON object a line wanted; found a list")
    with pa.input_stream(str(file), compression=_compression(file)) as stream:
        inferred = pa.json.open_json(stream, _JSON_BLOCKS).schema
    return pa.schema([(one.name, _without_dates(one.type)) for one in inferred])


def _without_dates(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([(one.name, _without_dates(one.type)) for one in kind])
    return pa.string() if pa.types.is_temporal(kind) else kind


def _compression(file: Path) -> str | None:
    return "gzip" if file.suffix.lower() == ".gz" else None


Write = Callable[[pa.RecordBatch], object]
"""Appends a batch to an output."""


@contextmanager
def writing(part: Path, file: Path, schema: pa.Schema) -> Iterator[Write]:
    """What writes in the form that the name of the file tells."""
    form, packing = _form(file), _compression(file)
    if form == "parquet":
        texts = [one.name for one in schema if one.name != "row"]
        with pq.ParquetWriter(part, schema, use_dictionary=texts) as writer:
            yield writer.write_batch
    elif form == "csv":
        plain = pa.schema([(one.name, getattr(one.type, "value_type", one.type)) for one in schema])
        with (
            pa.output_stream(str(part), compression=packing) as stream,
            pa.csv.CSVWriter(stream, plain) as cells,
        ):
            yield lambda batch: cells.write_batch(batch.cast(plain))
    else:
        with gzip.open(part, "wt") if packing else part.open("w") as lines:
            yield lambda batch: lines.writelines(
                json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in batch.to_pylist()
            )
