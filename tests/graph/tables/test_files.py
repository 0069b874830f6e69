"""A table in a CSV has the cells that the careful reader finds, however the file is written."""

import gzip
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acegraph.graph.data.rows import read_encoded, read_sheet
from acegraph.graph.tables.files import TableFile
from acegraph.state import InvalidDataset

CELLS = st.sampled_from(
    [
        "",
        " ",
        "1.5",
        "1,5",
        "-",
        "NA",
        "n/a",
        "03.02.2025",
        'a "b"',
        "ä€",
        "x;y",
        "two\nlines",
        "7 ",
    ]
)
ENDS = st.sampled_from(["", "", "", ",", " ", ",,9"])
"""What follows a row: mostly nothing, else a cell too many."""


def cells_of(file: Path) -> list[dict[str, str]] | str:
    try:
        return [row for _, row in read_sheet(file, read_encoded(file)[0])[1]]
    except InvalidDataset as error:
        return str(error)


def table_of(file: Path) -> list[dict[str, str]] | str:
    try:
        batches = list(TableFile.open(file).batches())
        rows = (row for batch in batches for row in batch.to_pylist())
        return [{name: cell or "" for name, cell in row.items()} for row in rows]
    except InvalidDataset as error:
        return str(error)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_table_has_the_cells_of_the_careful_reader(tmp_path: Path, data: st.DataObject) -> None:
    delimiter = data.draw(st.sampled_from(",;\t"))
    quoted = st.builds('"{}"'.format, CELLS.map(lambda cell: cell.replace('"', '""')))
    bare = CELLS.filter(lambda c: not set(c) & {delimiter, '"', "\n"})
    row = st.lists(quoted | bare, min_size=1, max_size=3).map(delimiter.join)
    above = data.draw(st.sampled_from(["", "", "\n"]))
    lines = [delimiter.join("abc"), *data.draw(st.lists(st.builds(str.__add__, row, ENDS)))]
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16"]))
    text = (above + "\n".join(lines) + data.draw(st.sampled_from(["", "\n", "\n\n"]))).encode(
        encoding
    )
    if end == "\r\n":
        text = text.decode(encoding).replace("\n", end).encode(encoding)
    file = tmp_path / data.draw(st.sampled_from(["t.csv", "t.csv.gz"]))
    file.write_bytes(gzip.compress(text) if file.suffix == ".gz" else text)
    cells = cells_of(file)
    assert "mark is not closed" in cells or table_of(file) == cells


def test_a_quotation_mark_that_is_not_closed_hides_no_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    lines = [f'{i},"shop {i}",{i % 7}' for i in range(50)]
    file.write_text("\n".join(["a,b,c", *lines]))
    assert len(table_of(file)) == 50
    for broken in ('9,"shop 9,2', '9,shop 9,"2'):
        file.write_text("\n".join(["a,b,c", *lines[:9], broken, *lines[10:]]))
        assert "mark is not closed" in table_of(file)
    file.write_text("\n".join(["a,b,c", *lines[:9], '9,"shop,2', *lines[10:30], '30,"shop,2']))
    assert "mark is not closed" in table_of(file)  # an even number of them
    file.write_text('a,b,c\n1,2,"two\nlines" too')
    assert "mark is not closed" in table_of(file)
    file.write_text("\n".join(["a,b,c", '1,"two\nlines",2', '2,"5"" pipe",3', '3,"two\nlines",4']))
    assert len(table_of(file)) == 3


def test_a_short_row_far_below_changes_no_cell(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    lines = [f"{i},{'long ' * 40},word {i % 5}" for i in range(90_000)]
    lines[-3] = "1,2"
    file.write_text("\n".join(["a,b,c", *lines]))
    table = list(TableFile.open(file).batches(["a", "c"]))
    assert len(table) > 1
    assert sum(batch.num_rows for batch in table) == len(lines)
    assert table[-1].to_pylist()[-3] == {"a": "1", "c": None}
    assert table[-1].to_pylist()[-1] == {"a": "89999", "c": "word 4"}


def test_a_large_file_of_windows_is_read_as_where_it_is_learned_from(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    rows = ["Kana,note,fraud", *["shop,über,0"] * 9_000, "shop,café,1"]
    file.write_bytes("\n".join(rows).encode("cp1252"))
    learned = [dict(row) for _, row in read_sheet(file, read_encoded(file)[0])[1]]
    batches = TableFile.open(file).batches(["Kana", "note"])
    scored = [row for batch in batches for row in batch.to_pylist()]
    assert {row["note"] for row in scored} == {row["note"] for row in learned} >= {"über"}
