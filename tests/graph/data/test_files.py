"""Data sets from files."""

import json
from pathlib import Path

import pytest

from acegraph.graph import TrainingPipeline, load_dataset
from acegraph.graph.data.files import as_items
from acegraph.graph.experiments.baselines import run_baselines
from acegraph.graph.metrics.rates import balanced_accuracy
from acegraph.state import BulletPlaybook, InvalidDataset, Transaction

ROWS = [
    {"id": "a", "query": "pays $20", "answer": "APPROVE"},
    {"id": "b", "query": "pays $900 via VPN", "answer": "fraud"},
]


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv"])
def test_every_format_gives_the_same_items(tmp_path: Path, kind: str) -> None:
    text = {
        "json": json.dumps(ROWS),
        "jsonl": "\n".join(json.dumps(row) for row in ROWS),
        "csv": "id,query,answer\na,pays $20,APPROVE\nb,pays $900 via VPN,fraud\n",
    }[kind]
    file = tmp_path / f"cases.{kind}"
    file.write_text(text)
    assert load_dataset(file) == [ROWS[0], {**ROWS[1], "answer": "DECLINE"}]


def test_any_columns_by_name_and_all_others_as_fields(tmp_path: Path) -> None:
    file = tmp_path / "cards.csv"
    file.write_text(
        "amt,city,online,card,is_fraud\n12.5,Oslo,true,4111111111111111,0\n,,,,1\n7,x,,,1\n"
    )
    with pytest.raises(InvalidDataset, match="row 2"):
        load_dataset(file, query=None, answer="is_fraud")
    file.write_text("amt,city,online,card,is_fraud\n12.5,Oslo,true,4111111111111111,0\n7,,,,1\n")
    first, second = load_dataset(file, query=None, answer="is_fraud")
    assert first["query"] == {
        "amt": 12.5,
        "city": "Oslo",
        "online": True,
        "card": "4111111111111111",
    }
    assert (first["answer"], second["answer"]) == ("APPROVE", "DECLINE")
    assert second["query"]["city"] is None


def test_the_label_that_means_fraud_can_be_named(tmp_path: Path) -> None:
    file = tmp_path / "claims.csv"
    file.write_text("text,outcome\npays $1,Y\npays $2,N\n")
    items = load_dataset(file, query="text", answer="outcome", positive="Y")
    assert [item["answer"] for item in items] == ["DECLINE", "APPROVE"]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("a.json", '[{"query": "pays $1"}]', "row 1: field 'answer' is missing"),
        ("a.json", '[{"query": "$1", "answer": "0"}, {"answer": "0"}]', "row 2: field 'query'"),
        ("a.json", '[{"query": "$1", "answer": "x"}]', "row 1, field 'answer': unknown label"),
        ("a.jsonl", '{"query": "pays $1", "answer": "APPROVE"}\n{oops', "not JSON"),
        ("a.json", "[1]", "row 1 is not an object"),
        ("a.csv", "query,answer\n", "no rows"),
        ("a.csv", "query,answer\npays $1,\n", "field 'answer' is empty in all 1 rows"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_row_and_field(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InvalidDataset) as error:
        load_dataset(file)
    assert why in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match="no such file"):
        load_dataset(tmp_path / "nowhere.csv")


def sentences(n: int) -> list[str]:
    return [f"A customer pays ${10 + i} at {i % 24}:00 from a known device" for i in range(n)]


def test_a_column_of_sentences_is_a_field_unless_it_is_named_as_the_text(tmp_path: Path) -> None:
    rows = "\n".join(f'"{text}",{i % 5},{i % 2}' for i, text in enumerate(sentences(20)))
    (tmp_path / "fields.csv").write_text(f"description,amount,fraud\n{rows}\n")
    items = load_dataset(tmp_path / "fields.csv", query=None, answer="fraud", positive=1)
    assert set(items[0]["query"]) == {"description", "amount"}
    items = load_dataset(tmp_path / "fields.csv", query="description", answer="fraud")
    assert [item["query"] for item in items] == sentences(20)


def test_rivals_with_nothing_to_go_by_are_no_error() -> None:
    items = [
        {
            "id": str(i),
            "query": {"order": f"X-{i}-{i * i}"},
            "answer": "APPROVE" if i % 2 else "DECLINE",
        }
        for i in range(40)
    ]
    runs = run_baselines(items[:30], items[30:])
    assert all(0.2 <= balanced_accuracy(run) <= 0.8 for run in runs.values())


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_columns_may_be_parted_by_other_marks(tmp_path: Path, mark: str) -> None:
    lines = (("amount", "hour", "fraud"), ("12.5", "3", "1"), ("8", "15", "0"))
    (tmp_path / "marks.csv").write_text("\n".join(mark.join(line) for line in lines))
    items = load_dataset(tmp_path / "marks.csv", query=None, answer="fraud", positive=1)
    assert [item["query"] for item in items] == [
        {"amount": 12.5, "hour": 3},
        {"amount": 8, "hour": 15},
    ]
    assert [item["answer"] for item in items] == ["DECLINE", "APPROVE"]


def test_numbers_as_people_write_them_are_numbers(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text("paid;code;fraud\n5.000,50;1,2,3;1\n€9.50;4,5,6;0\n12,50;7;0\n")
    queries = [item["query"] for item in load_dataset(file, query=None, answer="fraud")]
    assert [query["paid"] for query in queries] == [5000.5, 9.5, 12.5]
    assert [query["code"] for query in queries] == ["1,2,3", "4,5,6", 7]


def test_a_number_with_all_its_digits_is_a_number_and_a_long_name_is_none(tmp_path: Path) -> None:
    file = tmp_path / "v.csv"
    file.write_text("v1,card,gone,fraud\n-1.3598071336738172,4111111111111111,NaN,0\n2,7,null,1\n")
    first, second = load_dataset(file, query=None, answer="fraud")
    assert first["query"] == {"v1": -1.3598071336738172, "card": "4111111111111111", "gone": None}
    assert second["query"]["gone"] is None


def test_a_label_that_is_no_number_is_no_label(tmp_path: Path) -> None:
    file = tmp_path / "n.jsonl"
    file.write_text('{"query": "pays $1", "answer": NaN}\n')
    with pytest.raises(InvalidDataset, match="field 'answer' is empty in all 1 rows"):
        load_dataset(file, positive=1)


def test_an_id_of_zero_is_an_id() -> None:
    rows = [{"id": i, "query": f"pays ${i}", "answer": "APPROVE"} for i in range(3)]
    assert [item["id"] for item in as_items(rows)] == ["0", "1", "2"]


def test_a_column_may_lack_a_name_and_a_band_is_no_number(tmp_path: Path) -> None:
    file = tmp_path / "index.csv"
    file.write_text(",age,fraud\n0,18_25,0\n1,26_40,1\n")
    first, _ = load_dataset(file, query=None, answer="fraud")
    assert Transaction.of(first["query"]).fields == {"unnamed": 0, "age": "18_25"}


def test_the_same_export_under_another_name_is_no_new_evidence(tmp_path: Path) -> None:
    rows = [f"{i % 17},{i % 17 % 3 == 0}" for i in range(40)]
    (tmp_path / "jan.csv").write_text("\n".join(["amount,fraud", *rows]))
    (tmp_path / "copy.csv").write_text("\n".join(["amount,fraud", *reversed(rows)]))
    playbook = BulletPlaybook()
    reports = [
        TrainingPipeline(playbook).train_offline(
            load_dataset(tmp_path / name, query=None, answer="fraud")
        )
        for name in ("jan.csv", "copy.csv")
    ]
    assert [report.repeated for report in reports] == [0, 40]
    assert len(playbook.cases("fraud_detection")) == 40


def rows_of(tmp_path: Path, text: str, **options: object) -> list[object]:
    """The fields of a CSV, and the answer of each row."""
    (tmp_path / "t.csv").write_text(text)
    items = load_dataset(tmp_path / "t.csv", query=None, answer="fraud", **options)  # type: ignore[arg-type]
    return [(item["query"], item["answer"]) for item in items]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("amount,vpn,fraud\n5,0,0\n7,1,1\n1,500,0,1\n", "row 3 has 4 cells, the header 3; quote"),
        ("amount,vpn,fraud,\n5,0,0,\n1,500,0,1,\n", "row 2 has 4 cells, the header 3; quote"),
        ("\n \namount,fraud\n\n5,0\n\n1,500,1\n", "row 2 has 3 cells, the header 2; quote"),
        ("amount, amount,fraud\n1,2,1\n", "two columns are named 'amount'"),
        (",,fraud\n1,2,1\n", "two columns have no name"),
    ],
)
def test_cells_without_a_column_of_their_own_are_refused(
    tmp_path: Path, text: str, why: str
) -> None:
    with pytest.raises(InvalidDataset) as error:
        rows_of(tmp_path, text)
    assert f"t.csv: {why}" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "amount,fraud,\n5,0,\n7,1,\n",  # a comma at the end of every line
        "amount,fraud\n5,0,\n7,1, ,\n",
        "fraud,amount,,\n0,5\n1,7,,\n",
        " amount , fraud\n5,0\n7,1\n",
        "\n  \n,,\namount,fraud\n5,0\n7,1\n",
        ";;;\namount;fraud\n5;0\n7;1\n",
    ],
)
def test_blank_cells_and_lines_around_a_table_are_no_part_of_it(tmp_path: Path, text: str) -> None:
    assert rows_of(tmp_path, text) == [({"amount": 5}, "APPROVE"), ({"amount": 7}, "DECLINE")]


def test_an_index_without_a_name_and_a_last_comma_are_not_two_columns(tmp_path: Path) -> None:
    (first,) = rows_of(tmp_path, ",amount,fraud,\n0,5,1,\n")
    assert first == ({"": 0, "amount": 5}, "DECLINE")


def test_cells_that_a_row_lacks_at_its_end_are_nothing(tmp_path: Path) -> None:
    found = rows_of(tmp_path, "fraud,amount,memo\n1,5\n0,7,gift\n")
    assert found[0] == ({"amount": 5, "memo": None}, "DECLINE")


@pytest.mark.parametrize("positive", ["1", "true", 1.0])
@pytest.mark.parametrize("labels", ["1 0", "1.0 0.0", "True False", "1.0 0", "true 0"])
def test_the_label_that_means_fraud_is_compared_as_a_value(
    tmp_path: Path, labels: str, positive: object
) -> None:
    yes, no = labels.split()
    found = rows_of(tmp_path, f"a,fraud\n1,{yes}\n2,{no}\n3,1\n", positive=positive)
    assert [answer for _, answer in found] == ["DECLINE", "APPROVE", "DECLINE"]


def test_a_label_that_is_a_word_is_compared_as_one(tmp_path: Path) -> None:
    found = rows_of(tmp_path, "a,fraud\n1,18_25\n2,1825\n3,-\n", positive="18_25")
    assert [answer for _, answer in found] == ["DECLINE", "APPROVE", "APPROVE"]
    found = rows_of(tmp_path, "a,fraud\n1,+\n2,-\n", positive="+")
    assert [answer for _, answer in found] == ["DECLINE", "APPROVE"]


def test_cells_that_say_there_is_nothing_hold_nothing(tmp_path: Path) -> None:
    found = rows_of(tmp_path, "a,b,c,fraud\nn/a,-,1,0\nN/A,#N/A,2,1\n-5,a-b,3,1\n")
    assert [query for query, _ in found] == [
        {"a": None, "b": None, "c": 1},
        {"a": None, "b": None, "c": 2},
        {"a": -5, "b": "a-b", "c": 3},
    ]


def test_na_is_nothing_among_numbers_and_a_country_among_words(tmp_path: Path) -> None:
    found = rows_of(tmp_path, "amount,vpn,country,fraud\nNA,true,NA,0\n7,NA,ZA,1\n")
    assert [query for query, _ in found] == [
        {"amount": None, "vpn": True, "country": "NA"},
        {"amount": 7, "vpn": None, "country": "ZA"},
    ]
