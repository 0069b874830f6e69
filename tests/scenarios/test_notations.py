"""A payment that is declined stays so, or is undecided, however its values are written."""

import csv
import random
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import run
from rewordings import decisions

from acegraph.graph import TrainingPipeline, create_ace_graph, load_dataset
from acegraph.graph.data.files import FileLayout, Item, read_dataset
from acegraph.graph.tables.score import score, score_files
from acegraph.nodes.text.reader import read_value
from acegraph.state import BulletPlaybook, Case, Condition, InvalidTransaction

NODE = "fraud_detection"
RISKY = {"amount": 977.48, "age": 12, "grade": "A-", "paid_at": "2026-01-15 03:30"}
RULES = (
    "DECLINE when amount >= 500",
    "DECLINE when age < 30 and amount >= 500",
    'DECLINE when grade is "A-" and amount >= 500',
    "DECLINE when paid_at.hour < 5 and amount >= 500",
    "APPROVE when amount < 400",
    "APPROVE when age >= 2000",
    'APPROVE when grade is "A+"',
    "APPROVE when paid_at.hour >= 5",
)


@pytest.fixture(scope="module")
def book() -> BulletPlaybook:
    """A playbook that declines the risky payment, and approves it with any other of its values."""
    playbook, past = BulletPlaybook(), []
    for i in range(400):
        is_fraud = i % 2 == 0
        fields = {
            "amount": (600 if is_fraud else 20) + (i % 99) + 0.25,
            "age": 10 + i % 15 if is_fraud else 1_000 + i,
            "grade": "A-" if is_fraud else "A+",
            **read_value("paid_at", f"2026-01-{1 + i % 28:02d} {3 if is_fraud else 12:02d}:30"),
        }
        past.append(Case(str(i), fields, "DECLINE" if is_fraud else "APPROVE"))
    playbook.remember(past, NODE)
    for rule in RULES:
        bullet = playbook.add_bullet(rule, NODE, condition=Condition.parse(rule))
        playbook.set_weights({bullet: 0.9 if rule[0] == "D" else -15.0})
    assert decisions(playbook, [RISKY]) == ["DECLINE"]
    for other in (
        {"amount": 5},
        {"age": 3_000},
        {"grade": "A+"},
        {"paid_at": "2026-01-16 12:30"},
    ):
        assert decisions(playbook, [{**RISKY, **other}]) == ["APPROVE"]
    return playbook


@pytest.mark.parametrize(
    "change",
    [
        *({"amount": text} for text in ("2 Tsd", "2 Mio", "3 lac", "0xfa", "10³", "2 BTC", "₿2")),
        *({"amount": text} for text in ("1.728", "$2.778", "1€99", "97'74")),
        *({"age": given} for given in ("2100 hrs", "5443200 sec", "21'00", "21€00", 1e300)),
        *({"grade": text} for text in ("A+?", "!A+", "+A", "A +-")),
        {"paid_at.hour": 14},
        {"paid_at": "2026-01-15T12:30+09:00"},
        {"paid_at": "2026-01-15T12:30:00Z"},
        {"tx_amount": 5},
        {"amount": 5, "payment": {"amount": 977.48}},
        {"amount": None, "fee": {"amount": 5}},
        {"age": None, "merchant": {"age": 3_000}},
    ],
)
def test_no_other_way_of_writing_gets_it_approved(
    book: BulletPlaybook, change: dict[str, object]
) -> None:
    payment = {name: value for name, value in {**RISKY, **change}.items() if value is not None}
    assert decisions(book, [payment])[0] in ("DECLINE", "UNDECIDED")


@pytest.mark.parametrize(
    "change",
    [
        {"amount": "977.48 EUR"},
        {"amount": "$977.48"},
        {"amount": "₺977.48"},
        {"grade": "a-"},
        {"amount": None, "payment": {"amount": 977.48}},
        {"age": None, "customer": {"age": 12}},
    ],
)
def test_what_is_understood_is_declined(book: BulletPlaybook, change: dict[str, object]) -> None:
    payment = {name: value for name, value in {**RISKY, **change}.items() if value is not None}
    assert decisions(book, [payment]) == ["DECLINE"]


def test_a_table_is_read_alike(book: BulletPlaybook) -> None:
    rows = [
        {**RISKY, "paid_at.hour": 14},
        {**RISKY, "age": 1e300, "paid_at.hour": 3},
        {**RISKY, "age": 2_100.0, "paid_at.hour": 3},
    ]
    table = pa.Table.from_pylist([{**row, "age": float(row["age"])} for row in rows])
    wanted = ["DECLINE", "UNDECIDED", "APPROVE"]
    assert decisions(book, rows) == wanted
    assert score(book, table)["decision"].to_pylist() == wanted


def test_a_name_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    said = run(tmp_path, "decide", '{"amount": 977.48, "amount": 5}', code=2)
    assert "a name occurs twice" in said.stderr
    (tmp_path / "f.jsonl").write_text('{"amount": 1, "amount": 2, "fraud": 1}\n')
    refused = run(tmp_path, "train", "f.jsonl", "--label", "fraud", code=2)
    assert "line 1: a name occurs twice" in refused.stderr


def test_two_spellings_at_one_level_are_refused(book: BulletPlaybook) -> None:
    graph = create_ace_graph(playbook=book).compile()
    with pytest.raises(InvalidTransaction, match="one field with two values"):
        graph.invoke({"transaction": {**RISKY, "Amount": 5}})


def written_by_germans(rows: int) -> str:
    rng, lines = random.Random(3), ["Betrag;Tage;VPN;fraud"]
    for i in range(rows):
        is_fraud = i % 2
        amount = rng.uniform(1_000, 9_000) if is_fraud else rng.uniform(1, 900)
        words = ("ja", "Ja") if is_fraud else ("nein", "NEIN")
        english = f"{amount:,.2f}" if i % 5 else f"{amount:,.0f}"
        german = english.translate(str.maketrans(",.", ".,"))
        lines.append(f"{german};{rng.randint(1, 999)};{words[i % 7 == 0]};{is_fraud}")
    return "\n".join(lines)


def test_a_decimal_comma_of_the_file_counts_for_live_payments(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text(written_by_germans(300))
    data = read_dataset(file, FileLayout(query=None, answer="fraud"))
    amounts = [item["query"]["Betrag"] for item in data.items]  # type: ignore[index]
    assert min(amounts[1::2]) > 900 > max(amounts[::2])
    playbook = BulletPlaybook()
    pipeline = TrainingPipeline(playbook)
    report = pipeline.train_offline(data.items, data.form)
    assert "VPN: Ja is read as ja; VPN: NEIN is read as nein" in report.columns
    texts = ("1.728", "1.728 €", "1.728,00", "1728", "EUR 1.728")
    rows = [{"Betrag": text, "Tage": "30", "VPN": vpn} for text in texts for vpn in ("ja", "Ja")]
    assert set(decisions(playbook, rows)) == {"DECLINE"}
    small = [{"Betrag": "17,28", "Tage": "30,000", "VPN": "nein"}]
    assert decisions(playbook, small) == ["APPROVE"]


def test_a_column_of_points_stays_one_of_decimals(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text("rate,fraud\n1.728,0\n2.5,1\n0.125,0\n")
    items = load_dataset(file, query=None, answer="fraud")
    assert [item["query"]["rate"] for item in items] == [1.728, 2.5, 0.125]  # type: ignore[index]
    file.write_text("rate;fraud\n1.250;0\n1.728;1\n830;0\n")
    items = load_dataset(file, query=None, answer="fraud")
    assert [item["query"]["rate"] for item in items] == [1250, 1728, 830]  # type: ignore[index]


def test_a_time_is_read_in_the_zone_of_the_labelled_payments() -> None:
    playbook, rule = BulletPlaybook(), "DECLINE when paid_at.hour < 5"
    past = []
    for i in range(60):
        time = f"2026-01-{1 + i % 28:02d}T{3 if i % 2 else 12:02d}:30:00Z"
        fields = {**read_value("paid_at", time), "n": i}
        past.append(Case(str(i), fields, "DECLINE" if i % 2 else "APPROVE"))
    playbook.remember(past, NODE)
    playbook.add_bullet(rule, NODE, condition=Condition.parse(rule))
    tokyo, naive = "2026-01-15T12:30:00+09:00", "2026-01-15T12:30:00"
    rows = [{"paid_at": text, "n": 7} for text in (tokyo, naive, "2026-01-15T12:30:00Z")]
    assert decisions(playbook, rows) == ["DECLINE", "UNDECIDED", "APPROVE"]
    moment = datetime.fromisoformat(tokyo)
    for zone, moments, wanted in (
        ("Asia/Tokyo", [moment], "DECLINE"),
        (None, [moment.replace(tzinfo=None)], "UNDECIDED"),
    ):
        times = pa.array(moments, pa.timestamp("us", tz=zone))
        table = pa.table({"paid_at": times, "n": [7]})
        assert score(playbook, table)["decision"].to_pylist() == [wanted]
    told = score(playbook, pa.table({"paid_at": [naive, "2026-13-45T25:00"], "n": [7, 7]}))
    of_zone, of_date = told["undecided"].to_pylist()
    assert "with a zone where labelled payments have none" in of_zone
    assert "paid_at cannot be read: write the date as" in of_date


def test_an_amount_in_a_currency_that_no_labelled_payment_has_is_not_approved(
    tmp_path: Path,
) -> None:
    file, rng = tmp_path / "f.csv", random.Random(5)
    amounts = [rng.uniform(500, 900) if i % 2 else rng.uniform(5, 450) for i in range(200)]
    lines = [f"${amount:.2f},{i % 2}" for i, amount in enumerate(amounts)]
    file.write_text("\n".join(["amount,fraud", *lines]))
    data, playbook = read_dataset(file, FileLayout(query=None, answer="fraud")), BulletPlaybook()
    TrainingPipeline(playbook).train_offline(data.items, data.form)
    texts = ("$300", "300 USD", "300", "300 GBP", "KWD 300", "€300")
    wanted = ["APPROVE"] * 3 + ["UNDECIDED"] * 3
    assert decisions(playbook, [{"amount": text} for text in texts]) == wanted
    scored = score(playbook, pa.table({"amount": list(texts)}))
    assert scored["decision"].to_pylist() == wanted


@pytest.mark.parametrize(
    ("lines", "name", "wanted"),
    [
        (['"7,856",179.165.191.235', "310,10.0.0.1"], "v", [7856, 310]),
        (['"7,856","3,15"', '310,"1,2"'], "v", [7856, 310]),
        (["74.084;100", "15.340;250"], "v", [74.084, 15.34]),
        (["7.856;2.5", "310;1.5"], "v", [7856, 310]),
        (["7.856;1", "7.855,75;2", "unknown;3"], "v", [7856, 7855.75, "unknown"]),
        (["7'855.75,1", "309.81,2"], "v", [7855.75, 309.81]),
        (["7 855,753;1", "309,807;2", "1,5;3"], "v", [7855.753, 309.807, 1.5]),
        (['"7,85,575.30",1', "12.5,2"], "v", [785575.3, 12.5]),
    ],
)
def test_a_column_tells_what_its_marks_mean(
    tmp_path: Path, lines: list[str], name: str, wanted: list[object]
) -> None:
    mark = ";" if ";" in lines[0] else ","
    rows = [mark.join([line, str(i % 2)]) for i, line in enumerate(lines)]
    file = tmp_path / "f.csv"
    file.write_text("\n".join([mark.join([name, "other", "fraud"]), *rows]))
    items = load_dataset(file, query=None, answer="fraud")
    assert [item["query"][name] for item in items] == wanted  # type: ignore[index]


def test_a_mark_before_three_digits_is_a_doubt_where_numbers_have_cents(tmp_path: Path) -> None:
    for mark, other in ((".", ","), (",", ".")):
        rng, lines = random.Random(4), ["amount;fraud"]
        for i in range(200):
            amount = rng.uniform(1_500, 9_000) if i % 2 else rng.uniform(5, 900)
            lines.append(f"{amount:.2f}".replace(".", mark) + f";{i % 2}")
        file = tmp_path / "f.csv"
        file.write_text("\n".join(lines))
        data = read_dataset(file, FileLayout(query=None, answer="fraud"))
        playbook = BulletPlaybook()
        TrainingPipeline(playbook).train_offline(data.items, data.form)
        texts = (f"7{mark}856", f"7{other}856", "7856", f"78{mark}56")
        wanted = ["UNDECIDED", "DECLINE", "DECLINE", "APPROVE"]
        assert decisions(playbook, [{"amount": text} for text in texts]) == wanted
        live = tmp_path / "live.csv"
        live.write_text("amount;x\n" + "".join(f"{text};1\n" for text in texts))
        score_files(playbook, str(live), tmp_path / "out.csv")
        with (tmp_path / "out.csv").open() as out:
            assert [row["decision"] for row in csv.DictReader(out)] == wanted


def test_the_field_of_another_object_changes_nothing(book: BulletPlaybook) -> None:
    honest = {**RISKY, "amount": 5}
    for beside in ({"device": {"grade": "gold"}}, {"card": {"age": 1}}):
        assert decisions(book, [{**honest, **beside}]) == ["APPROVE"]


def _trained(column: list[object], answers: list[str]) -> TrainingPipeline:
    pipeline = TrainingPipeline()
    pipeline.train_offline(_rows(column, answers, "a"))
    return pipeline


def _rows(column: list[object], answers: list[str], batch: str) -> list[Item]:
    return [
        {"id": f"{batch}{i}", "query": {"value": v, "other": i % 7}, "answer": answer}
        for i, (v, answer) in enumerate(zip(column, answers, strict=True))
    ]


ANSWERS = ["DECLINE" if i % 2 else "APPROVE" for i in range(200)]


def test_words_among_numbers_take_no_protection_away() -> None:
    numbers = [900 + i % 50 if i % 2 else 20 + i % 50 for i in range(200)]
    column: list[object] = ["refund" if i % 20 == 0 else n for i, n in enumerate(numbers)]
    book = _trained(column, ANSWERS).playbook
    for value in (930, "930 EUR", "9.3e2"):
        assert decisions(book, [{"value": value, "other": 1}]) == ["DECLINE"]
    assert decisions(book, [{"value": "2 Mio", "other": 1}])[0] != "APPROVE"
    assert decisions(book, [{"value": "Refund", "other": 1}]) == ["APPROVE"]


@pytest.mark.parametrize(
    ("first", "then"),
    [((True, False), ("Ja", "Nein")), (("Ja", "Nein"), (True, False)), ((1, 0), ("Y", "N"))],
)
def test_a_second_file_may_write_yes_and_no_otherwise(
    first: tuple[object, object], then: tuple[object, object]
) -> None:
    pipeline = _trained([first[0] if i % 2 else first[1] for i in range(200)], ANSWERS)
    second = [then[0] if i % 2 else then[1] for i in range(200)]
    pipeline.train_offline(_rows(second, ANSWERS, "b"))
    for yes, no in (first, then, ("on", "off")):
        payments = [{"value": yes, "other": 1}, {"value": no, "other": 1}]
        assert decisions(pipeline.playbook, payments) == ["DECLINE", "APPROVE"]


def test_a_word_for_nothing_is_nothing() -> None:
    column = [None if i % 2 else f"shop{i % 25}.example" for i in range(200)]
    book = _trained(column, ANSWERS).playbook
    assert "DECLINE when value is missing" in [b.content for b in book]
    payments = [{"value": word, "other": 1} for word in (None, "", "n/a", "-", "null")]
    assert decisions(book, payments) == ["DECLINE"] * 5


def test_a_positive_number_where_all_are_negative_is_not_approved() -> None:
    column = [-900 - i % 50 if i % 2 else -20 - i % 50 for i in range(200)]
    book = _trained(column, ANSWERS).playbook
    payments = [{"value": number, "other": 1} for number in (-930, -30, 930)]
    assert decisions(book, payments) == ["DECLINE", "APPROVE", "UNDECIDED"]
    table = pa.Table.from_pylist(payments)
    assert score(book, table)["decision"].to_pylist() == ["DECLINE", "APPROVE", "UNDECIDED"]
