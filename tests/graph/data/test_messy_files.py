"""Files as people really save them: each is read right, or refused in one line that helps."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from acegraph.graph.data.files import Dataset, FileLayout, read_dataset
from acegraph.state import AceError
from acegraph.state.task.form import Form
from acegraph.state.values.notation import with_point, written_number
from acegraph.state.values.plain import Scalar

LAYOUT = FileLayout(query=None, answer="fraud")


def read(folder: Path, name: str, content: str | bytes, **changes: object) -> Dataset:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_dataset(file, FileLayout(**{**vars(LAYOUT), **changes}))  # type: ignore[arg-type]


def first_of(dataset: Dataset, name: str) -> Scalar:
    query = dataset.items[0]["query"]
    assert isinstance(query, dict)
    return query[name]  # type: ignore[return-value]


def dates(header: str, *values: object, mark: str = ",") -> str:
    lines = [mark.join((str(value), "9", str(i % 2))) for i, value in enumerate(values)]
    return "\n".join([mark.join((header, "amount", "fraud")), *lines])


DATES = {
    "day first, dots": (dates("Datum", "03.02.2025", "14.02.2025"), "2025-02-03"),
    "day first, slashes": (dates("when", "03/02/2025", "14/02/2025"), "2025-02-03"),
    "month first": (dates("date", "2/3/2025", "2/14/2025"), "2025-02-03"),
    "month first, two digits of the year": (dates("date", "2/3/25", "2/14/25"), "2025-02-03"),
    "twelve hours": (
        dates("time", "2/3/2025 12:05 AM", "2/14/2025 03:00 PM"),
        "2025-02-03 00:05:00",
    ),
    "twelve hours, seconds": (
        dates("time", "02/03/2025 04:05:06 PM", "02/14/2025 03:00:00 PM"),
        "2025-02-03 16:05:06",
    ),
    "day first with a time": (
        dates("Zeitpunkt", "03.02.2025 16:05", "14.02.2025 08:00", mark=";"),
        "2025-02-03 16:05:00",
    ),
    "year first, slashes": (
        dates("date", "2025/02/03 4:05", "2025/02/14 5:00"),
        "2025-02-03 04:05:00",
    ),
    "month in letters": (dates("date", "3-Feb-2025", "14-Feb-2025"), "2025-02-03"),
    "month in letters, first": (dates("date", '"Feb 3, 2025"', '"Feb 14, 2025"'), "2025-02-03"),
    "ISO stays as it is": (
        dates("t", "2025-02-03T16:05:06Z", "2025-02-04T01:00:00Z"),
        "2025-02-03T16:05:06Z",
    ),
    "the zone of PostgreSQL": (
        dates("t", "2025-02-03 16:05:06+01", "2025-02-04 01:00:00+01"),
        "2025-02-03 16:05:06+01",
    ),
    "a late row settles it": (
        dates(
            "date",
            *["03/02/2025 10:00"] * 2,
            *(f"04/02/2025 {i // 60:02}:{i % 60:02}" for i in range(1_200)),
            "28/02/2025 10:00",
        ),
        "2025-02-03 10:00:00",
    ),
    "a semicolon suggests the day first": (
        dates("date", "03/02/2025", "01/02/2025", "04/02/2025", mark=";"),
        "2025-02-03",
    ),
}


@pytest.mark.parametrize("name", DATES)
def test_a_date_is_read_in_the_form_of_its_column(tmp_path: Path, name: str) -> None:
    text, expected = DATES[name]
    dataset = read(tmp_path, "d.csv", text)
    times = [one.field.name for one in dataset.guesses if one.field.kind == "time"]
    assert first_of(dataset, times[-1]) == expected


def test_a_form_that_nothing_settles_is_said_and_can_be_told(tmp_path: Path) -> None:
    text = dates("date", "03/02/2025", "01/02/2025", "04/02/2025")
    dataset = read(tmp_path, "d.csv", text)
    assert first_of(dataset, "date") == "2025-03-02"
    assert "the month is taken to stand first, which no value settles" in dataset.notes[0]
    assert dataset.task is not None
    task = replace(dataset.task, forms={"date": Form(date="%d/%m/%Y")})
    told = read(tmp_path, "d.csv", text, task=task)
    assert (first_of(told, "date"), told.notes) == ("2025-02-03", [])


@pytest.mark.parametrize("value", [1_738_598_706, 45_691, 406])
def test_a_few_numbers_are_no_dates(tmp_path: Path, value: int) -> None:
    dataset = read(tmp_path, "n.csv", f"amount,fraud\n{value},1\n{value + 0.5},0\n")
    assert first_of(dataset, "amount") == value
    assert dataset.guesses[0].field.kind == "number"


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1.234,50 kr", 1234.5),
        ("1.234,50 zł", 1234.5),
        ("$1,234.50", 1234.5),
        ("(1,234.50)", -1234.5),
        ("1234.50-", -1234.5),
        ("\N{MINUS SIGN}1234.50", -1234.5),
    ],
)
def test_a_number_is_read_as_people_write_it(tmp_path: Path, written: str, number: float) -> None:
    dataset = read(tmp_path, "a.csv", f"amount;fraud\n{written};1\n{written};0\n")
    assert (first_of(dataset, "amount"), dataset.notes) == (number, [])


def test_the_unit_of_a_column_is_kept_with_its_field(tmp_path: Path) -> None:
    dataset = read(tmp_path, "a.csv", "sum;fraud\n1,50 EUR;1\n2,50 EUR;0\n")
    assert dataset.read.forms["sum"] == Form(",", "EUR")
    assert dataset.guesses[0].field.unit == "EUR"


def test_several_units_are_words(tmp_path: Path) -> None:
    dataset = read(tmp_path, "a.csv", "sum,fraud\n1.50 EUR,1\n2.50 USD,0\n")
    assert first_of(dataset, "sum") == "1.50 EUR"


def test_words_with_a_comma_stay_as_they_are_written(tmp_path: Path) -> None:
    dataset = read(tmp_path, "a.csv", "pack;amount;fraud\n2,5 ml;1,50;1\n0,7 kg;2,50;0\n")
    assert (first_of(dataset, "pack"), first_of(dataset, "amount")) == ("2,5 ml", 1.5)


@pytest.mark.parametrize("words", ["1 JAN 2026 CALL", "1.2.2026 BETA", "2025-02-03 16:05 CST"])
def test_a_word_behind_a_date_is_not_lost(tmp_path: Path, words: str) -> None:
    text = dates("code", words, words.replace("26", "25"), words.replace("02", "03"))
    assert first_of(read(tmp_path, "d.csv", text), "code") == words


def test_no_number_has_hundreds_of_characters() -> None:
    """Patterns would take a time that grows with the square of the length."""
    assert written_number("1" * 60) == float("1" * 60)
    assert written_number("1" * 61) is None
    assert with_point("1" * 60 + ",5") == "1" * 60 + ",5"


GROSS = "Straße;Betrag;fraud\nMünchen;1.234,50;1\nKöln;9,00;0\n"
PLAIN = "city,amount,fraud\nMünchen,1234.5,1\nKöln,9,0\n"
ENCODED: dict[str, tuple[str, bytes]] = {
    "UTF-8 with its mark": ("f.csv", b"\xef\xbb\xbf" + PLAIN.encode()),
    "Windows-1252": ("f.csv", PLAIN.encode("cp1252")),
    "UTF-16 with its mark": ("f.csv", PLAIN.encode("utf-16")),
    "UTF-16, most significant byte first": ("f.csv", b"\xfe\xff" + PLAIN.encode("utf-16-be")),
    "gzip": ("f.csv.gz", gzip.compress(PLAIN.encode())),
    "gzip of Windows-1252": ("f.csv.gz", gzip.compress(PLAIN.encode("cp1252"))),
    "gzip under a plain name": ("f.csv", gzip.compress(PLAIN.encode())),
    "tabs": ("f.tsv", PLAIN.replace(",", "\t").encode()),
    "lines of JSON, packed": (
        "f.jsonl.gz",
        gzip.compress(
            b'{"city": "M\\u00fcnchen", "amount": 1234.5, "fraud": 1}\n'
            b'{"city": "K\\u00f6ln", "amount": 9, "fraud": 0}\n'
        ),
    ),
    "a comma for decimals": ("f.csv", "city;amount;fraud\nMünchen;1.234,50;1\nKöln;9;0\n".encode()),
}


@pytest.mark.parametrize("name", ENCODED)
def test_the_text_is_the_same_however_it_is_saved(tmp_path: Path, name: str) -> None:
    dataset = read(tmp_path, *ENCODED[name])
    assert [item["query"] for item in dataset.items] == [
        {"city": "München", "amount": 1234.5},
        {"city": "Köln", "amount": 9},
    ]
    assert [item["answer"] for item in dataset.items] == ["DECLINE", "APPROVE"]
    assert bool(dataset.notes) == ("1252" in name)


ROWS = "amount,Class\n1,0\n2,1\n"
REFUSED: dict[str, tuple[str, bytes, dict[str, object], str]] = {
    "Parquet": ("f.parquet", b"PAR1\x00\x01", {}, "save it as CSV"),
    "a workbook": ("f.xlsx", b"PK\x03\x04\x14\x00", {}, "save it as CSV"),
    "half of a gzip file": ("f.csv.gz", gzip.compress(PLAIN.encode())[:30], {}, "pack it again"),
    "a picture": ("f.csv", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x81", {}, "save it as CSV in UTF-8"),
    "a quotation mark is not closed": (
        "f.csv",
        b'shop,amount,fraud\n"A",1,0\n"B,2,1\n"C",3,0\n',
        {},
        "row 2 is not CSV, as where a quotation mark is not closed: ",
    ),
    "nor is it up to the end of the file": (
        "f.csv",
        b'amount,fraud,shop\n1,0,A\n2,1,"B\n3,0,C\n',
        {},
        "row 2 is not CSV, as where a quotation mark is not closed: ",
    ),
    "the label is called otherwise": (
        "f.csv",
        ROWS.encode(),
        {},
        "it has amount, Class; say which one to take (--label)",
    ),
    "the label is written otherwise": (
        "f.csv",
        ROWS.encode(),
        {"answer": "class"},
        "it has amount, Class; say which one to take (--label)",
    ),
    "a column to declare that is not there": (
        "f.csv",
        b"amount,fraud\n1,0\n2,1\n",
        {"declared": {"amuont": "ignored"}},
        "field 'amuont' is missing; it has amount, fraud; say which one to take (--as)",
    ),
    "a column declared as nothing that there is": (
        "f.csv",
        b"amount,fraud\n1,0\n2,1\n",
        {"declared": {"amount": "money"}},
        "amount is no 'money': a kind (number, flag",
    ),
    "other words for labels": (
        "f.csv",
        b"amount,fraud\n1,eerlijk\n2,boef\n",
        {},
        "--positive WORD names the label",
    ),
    "no label at all": ("f.csv", b"amount,fraud\n1,\n2,\n", {}, "'fraud' is empty in all 2 rows"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    file, content, changes, why = REFUSED[name]
    with pytest.raises(AceError) as error:
        read(tmp_path, file, content, **changes)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_rows_without_a_label_are_counted_and_left_out(tmp_path: Path) -> None:
    dataset = read(tmp_path, "f.csv", "amount,fraud\n1,0\n2,\n3,1\n4,n/a\n")
    assert [item["query"] for item in dataset.items] == [{"amount": 1}, {"amount": 3}]
    assert dataset.unlabelled == 2
    assert dataset.labels == {"0": ("APPROVE", 1), "1": ("DECLINE", 1)}


def test_columns_are_left_out_and_named(tmp_path: Path) -> None:
    lines = [f"{i},job {i % 7},x{i},{10 * i},{i % 2}" for i in range(400)]
    text = "\n".join(["Time,trade,ref,Betrag,fraud", *lines])
    declared = {"Time": "time", "trade": "ignored", "Betrag": "amount"}
    dataset = read(tmp_path, "f.csv", text, declared=declared, ids="ref")
    last = dataset.items[-1]
    assert last["query"] == {"Time": 399, "Betrag": 3990}  # an id is no field
    assert (last["id"], last["time"]) == ("x399", "1970-01-01T00:06:39+00:00")
    assert dataset.has_amounts
    assert dataset.task is not None
    assert dataset.task.names == {"Betrag"}  # nobody rules on a clock


def test_beside_the_text_nothing_else_is_read(tmp_path: Path) -> None:
    rows = [{"note": f"pays ${i}", "amount": i, "fraud": i % 2} for i in range(4)]
    dataset = read(tmp_path, "f.json", json.dumps(rows), query="note")
    assert dataset.items[3]["query"] == "pays $3"


def test_the_continental_file_of_a_bank(tmp_path: Path) -> None:
    dataset = read(tmp_path, "f.csv", GROSS.encode("cp1252"))
    assert dataset.items[0]["query"] == {"Straße": "München", "Betrag": 1234.5}
