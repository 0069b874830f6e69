"""Amounts in several currencies are compared after conversion, or it is said that they were not."""

import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import invoke as run

from acegraph.graph import (
    TrainingPipeline,
    create_ace_graph,
    feedback,
    purge,
    replay,
    score,
    score_files,
)
from acegraph.graph.data.files import Dataset, FileLayout, load_dataset, read_dataset, row_name
from acegraph.nodes.rules.points import amount_of
from acegraph.nodes.text.currencies import Exchange
from acegraph.nodes.text.field_contract import FieldContract
from acegraph.state import (
    APPROVE,
    AceContext,
    BulletPlaybook,
    InvalidSettings,
    Transaction,
)
from acegraph.state.values.file_form import FileForm
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import UNDECIDED

NODE = "fraud_detection"
RATES = {"EUR": 1.25, "GBP": 2.0, "JPY": 0.0078125}
"""Each amount in another currency is a whole one in dollars: floats hold them exactly."""
FROZEN = AceContext(learn=False)


def write(folder: Path, form: str = "{amount},{currency}", **rates: float) -> Path:
    """Payments above 200 dollars are fraud, in whatever currency they are: one in four."""
    rng, rates = random.Random(1), {"USD": 1.0, "EUR": 1.25, "GBP": 2.0, **rates}
    header = "amount,currency" if "," in form else "amount"
    lines = [f"{header},hour,fraud"]
    for i in range(160):
        dollars = rng.randint(1, 67) * 4
        currency = list(rates)[i % len(rates)]
        amount = form.format(amount=dollars / rates[currency], currency=currency)
        lines.append(f"{amount},{8 + i % 12},{int(dollars > 200)}")
    file = folder / "f.csv"
    file.write_text("\n".join(lines))
    return file


def read(file: Path, **rates: float) -> Dataset:
    return read_dataset(file, FileLayout(query=None, answer="fraud", rates=rates))


def amounts(dataset: Dataset) -> list[object]:
    return [item["query"]["amount"] for item in dataset.items]  # type: ignore[index]


def decide(
    playbook: BulletPlaybook, payment: object, context: AceContext = FROZEN
) -> tuple[str, str]:
    graph = create_ace_graph(playbook=playbook).compile()
    result = graph.invoke({"transaction": payment}, context=context)
    return result["decision"], result["undecided"] or ""


def learned_from(dataset: Dataset) -> BulletPlaybook:
    playbook = BulletPlaybook()
    TrainingPipeline(playbook).train_offline(dataset.items, dataset.form)
    return playbook


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> BulletPlaybook:
    """A playbook that learned from three currencies, of which dollars are the base."""
    return learned_from(read(write(tmp_path_factory.mktemp("f")), EUR=1.25, GBP=2.0))


@pytest.fixture(scope="module")
def of_dollars(tmp_path_factory: pytest.TempPathFactory) -> BulletPlaybook:
    """A playbook that learned from a file with dollars alone, and no rates."""
    return learned_from(read(write(tmp_path_factory.mktemp("f"), "{amount},USD")))


@pytest.mark.parametrize(
    "form", ["{amount},{currency}", "{amount} {currency}", "{currency} {amount}"]
)
def test_a_file_is_converted_wherever_it_names_the_currency(form: str, tmp_path: Path) -> None:
    dataset = read(write(tmp_path, form), EUR=1.25, GBP=2.0)
    frauds = [item["answer"] == "DECLINE" for item in dataset.items]
    assert [amount > 200 for amount in amounts(dataset)] == frauds  # type: ignore[operator]
    assert dataset.form.rates == {"EUR": 1.25, "GBP": 2.0, "USD": 1.0}
    assert dataset.notes == [
        f"{tmp_path / 'f.csv'}: amounts are converted into USD, which has no rate"
    ]


def test_without_rates_amounts_stay_and_the_currencies_are_counted(tmp_path: Path) -> None:
    dataset = read(write(tmp_path))
    assert dataset.notes == [
        f"{tmp_path / 'f.csv'}: amounts of 3 currencies (EUR, GBP, USD) are compared as they "
        "stand; --rates converts them, and so do rates that the playbook keeps"
    ]
    assert (amounts(dataset)[1], dataset.form.rates) == (
        float((tmp_path / "f.csv").read_text().split("\n")[2].split(",")[0]),
        {},
    )


def test_signs_are_currencies_too_and_one_currency_is_no_news(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text('amt,fraud\n€10,0\n"12,50 €",1\n')
    assert [i["query"]["amt"] for i in read(file).items] == [10.0, 12.5]  # type: ignore[index]
    assert read(file).notes == []
    converted = read(file, EUR=2.0, USD=1.0)
    assert [i["query"]["amt"] for i in converted.items] == [20.0, 25.0]  # type: ignore[index]


def test_amounts_without_a_rate_are_left_empty_and_counted(tmp_path: Path) -> None:
    dataset = read(write(tmp_path, JPY=0.0078125), EUR=1.25, GBP=2.0, USD=1.0)
    assert amounts(dataset).count(None) == 40
    assert "40 amounts have no rate for their currency (JPY)" in dataset.notes[0]
    two_unknown = read(tmp_path / "f.csv", EUR=1.25, GBP=2.0)
    assert amounts(two_unknown).count(None) == 80  # which of the two is the base, nobody says
    assert read(tmp_path / "f.csv", **RATES).notes[0].endswith("into USD, which has no rate")


def test_the_amount_that_costs_are_counted_by_is_converted(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_text("Betrag,ccy,fraud\n10,EUR,0\n10,USD,1\n")
    layout = FileLayout(query=None, answer="fraud", amount="Betrag", rates={"EUR": 2.0})
    items = read_dataset(file, layout).items
    assert [amount_of(item["query"], item["amount_field"]) for item in items] == [20.0, 10.0]


def test_a_column_of_numbers_with_a_unit_is_told_of(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    rows = [f"A$ {n}.50,{n} min,{n}{chr(65 + n)}BC,tok_{n},{n % 2}" for n in range(1, 9)]
    file.write_text("\n".join(["Paid (AUD),waited,code,token,fraud", *rows]))
    told = [
        f"{file}: Paid (AUD) is read as words, such as 'A$ 1.50': --amount 'Paid (AUD)' if it is "
        "the amount, else write the numbers without a unit",
        f"{file}: waited is read as words, such as '1 min': --amount waited if it is the amount, "
        "else write the numbers without a unit",
    ]
    assert read(file).notes == told
    dataset = read_dataset(file, FileLayout(query=None, answer="fraud", amount="Paid (AUD)"))
    assert [i["query"]["Paid (AUD)"] for i in dataset.items][:2] == [1.5, 2.5]  # type: ignore[index]
    assert dataset.notes == [
        f"{file}: waited is read as words, such as '1 min': write the numbers without a unit"
    ]


@pytest.mark.parametrize("dollars", [100, 300])
@pytest.mark.parametrize("currency", ["USD", "EUR", "GBP"])
def test_a_live_payment_is_converted_as_the_file_was(
    currency: str, dollars: int, trained: BulletPlaybook
) -> None:
    wanted = "DECLINE" if dollars > 200 else "APPROVE"
    amount = dollars / {"USD": 1.0, **RATES}[currency]
    for payment in (
        {"amount": amount, "currency": currency, "hour": 12},
        {"Amount": f"{amount:.2f} {currency}", "currency": currency.lower(), "hour": 12},
        {"amount": amount, "CCY": currency, "currency": currency, "hour": 12},
    ):
        assert decide(trained, payment)[0] == wanted


@pytest.mark.parametrize("written", ["R$ 90,00", "X$ 90"])
def test_letters_before_a_dollar_sign_are_another_currency(
    trained: BulletPlaybook, written: str
) -> None:
    for payment in ({"amount": written, "hour": 12}, f"Purchase of {written} at 12:00"):
        assert decide(trained, payment)[0] == "UNDECIDED"
    assert decide(trained, "Purchase of US$ 90 at 12:00")[0] == "APPROVE"
    reais = AceContext(learn=False, rates={**RATES, "BRL": 0.125})
    payment = {"amount": "R$ 900,00", "currency": "BRL", "hour": 12}
    assert decide(trained, payment, reais)[0] == "APPROVE"


def test_a_live_currency_without_a_rate_is_a_doubt(trained: BulletPlaybook) -> None:
    payment = {"amount": 10_000, "currency": "JPY", "hour": 12}
    decision, why = decide(trained, payment)
    assert (decision, "amount is in a currency without a rate" in why) == ("UNDECIDED", True)
    assert "10000" not in why
    risky = {**payment, "hour": 3, "vpn": True, "new_device": True, "account_age_days": 1}
    graph = create_ace_graph(playbook=trained).compile()
    result = graph.invoke({"transaction": risky}, context=FROZEN)
    assert result["decision"] == "DECLINE"  # whatever its amount is worth
    assert result["warnings"] == [
        "amount is in a currency without a rate (the base has the rate 1)"
    ]
    rates = AceContext(learn=False, rates=RATES)
    payment = {"amount": 10_000, "currency": "EUR", "hour": 12}
    assert decide(trained, payment, rates)[0] == "DECLINE"
    assert Exchange(RATES).converted({"amount": 12_800, "ccy": "JPY"}) == (
        {"amount": 100.0, "ccy": "JPY"},
        {},
    )


def test_a_currency_that_is_left_out_or_written_as_a_number_is_a_doubt(
    trained: BulletPlaybook,
) -> None:
    decision, why = decide(trained, {"amount": 100, "hour": 12})
    assert (decision, "amount names no currency" in why) == ("UNDECIDED", True)
    decision, why = decide(trained, {"amount": 100, "currency": 978, "hour": 12})
    assert (decision, "currency without a rate" in why) == ("UNDECIDED", True)
    assert decide(trained, {"amount": "100 EUR", "hour": 12})[0] == "APPROVE"


def test_two_names_for_one_amount_are_a_doubt(trained: BulletPlaybook) -> None:
    decision, why = decide(trained, {"amount": "100 EUR", "currency": "GBP", "hour": 12})
    assert (decision, "another currency than the field beside it" in why) == ("UNDECIDED", True)
    decision, why = decide(trained, "pays 100 EUR at 12:30")
    assert (decision, "inside a text nothing is converted" in why) == ("UNDECIDED", True)


def test_what_is_stored_is_converted_once(tmp_path: Path) -> None:
    """Training, replaying and learning anew see amounts in the base currency, each once."""
    raw = load_dataset(write(tmp_path), query=None, answer="fraud")
    pipeline = TrainingPipeline(context=AceContext(rates={"EUR": 1.25, "GBP": 2.0}))
    pipeline.train_online(raw[:60])
    playbook = pipeline.playbook
    loaded = load_dataset(
        tmp_path / "f.csv", query=None, answer="fraud", rates={"EUR": 1.25, "GBP": 2.0}
    )
    stored = [case.fields["amount"] for case in playbook.cases(NODE)]
    assert stored == [item["query"]["amount"] for item in loaded[:60]]  # type: ignore[index]
    for concurrency in (1, 2):  # with two, answers are prepared ahead of the graph
        again = TrainingPipeline(playbook, concurrency=concurrency)
        assert again.evaluate(raw[60:]).right.mean() > 0.9
    graph = create_ace_graph(playbook=playbook).compile()
    for decision_id, euros in (("near", 144.0), ("lie", 200.0), ("after", 40.0)):
        payment = {"amount": euros, "currency": "EUR", "hour": 12}
        given = {"transaction": payment, "decision_id": decision_id}
        decision = graph.invoke(given, context=AceContext(rates={"EUR": 1.25}))["decision"]
        assert decision == ("DECLINE" if euros > 160 else "APPROVE")
        assert playbook.decision(decision_id)["fields"]["amount"] == 1.25 * euros
        feedback(
            playbook, decision_id, "APPROVE", source="liar" if decision_id == "lie" else "bank"
        )
    assert replay(playbook, "near").is_reproduced
    assert purge(playbook, "liar").note == ""  # else a decision came out otherwise


def yen(folder: Path, form: str) -> Path:
    """Thirty payments of 1 to 30 dollars, in yen; every fifth is fraud."""
    rows = []
    for i in range(30):
        amount: object = 128 * (1 + i)
        amount = f"{amount} JPY" if form == "text" else amount
        row: dict[str, object] = {"amount": amount, "currency": "JPY", "shop": f"s{i % 3}"}
        if form == "text":
            del row["currency"]
        if form == "nested":
            row["payment"] = {"amount": row.pop("amount"), "currency": row.pop("currency")}
        if form == "inside":
            row["amount"] = {"value": amount}
        rows.append({**row, "fraud": int(i % 5 == 0)})
    file = folder / "yen.json"
    file.write_text(json.dumps(rows))
    return file


@pytest.mark.parametrize("form", ["plain", "text", "nested", "inside"])
def test_a_file_is_converted_in_whatever_form_and_the_same_row_under_other_rates(
    form: str, tmp_path: Path
) -> None:
    file = yen(tmp_path, form)
    at_par, cheaper = read(file, JPY=1 / 128, USD=1.0), read(file, JPY=1 / 256, USD=1.0)
    for dataset, factor in ((at_par, 1.0), (cheaper, 0.5)):
        paid = [Transaction.of(item["query"]).fields for item in dataset.items]
        numbers = [amount for row in paid for amount in row.values() if isinstance(amount, float)]
        assert numbers == [factor * (1 + i) for i in range(30)]
    raw = read(file)
    assert [*map(row_name, at_par.items)] == [*map(row_name, cheaper.items)]
    assert [*map(row_name, at_par.items)] == [*map(row_name, raw.items)]


def test_a_list_in_the_place_of_an_amount_is_no_crash(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_text('[{"amount": [1, 2], "currency": ["EUR"], "x": 1, "fraud": 0}]')
    fields = {"amount.count": 2, "currency.count": 1, "currency": "EUR", "x": 1}
    (item,) = read(file, EUR=2.0, USD=1.0).items
    assert Transaction.of(item["query"]).fields == fields


@pytest.mark.parametrize("form", ["plain", "text"])
def test_a_later_file_is_converted_by_the_rates_that_are_kept(
    form: str, trained: BulletPlaybook, tmp_path: Path
) -> None:
    with trained.fork() as playbook:
        playbook.keep_file_form(NODE, FileForm({}, {"JPY": 1 / 128}))
        pipeline, known = TrainingPipeline(playbook), len(playbook.cases(NODE))
        raw = read(yen(tmp_path, form))
        assert not pipeline.evaluate(raw.items, learn=False).declined.any()  # at most 30 dollars
        pipeline.train_online(raw.items[:10], raw.form)
        done = read(tmp_path / "yen.json", JPY=1 / 128)
        pipeline.train_online(done.items[10:20], done.form)
        pipeline.train_online(done.items[20:])  # without a form, and yet not converted twice
        stored = [case.fields["amount"] for case in playbook.cases(NODE)][known:]
        assert stored == [1.0 + i for i in range(30)]
        kept = FieldContract.of(playbook.cases(NODE)).form.rates
        assert kept == {"USD": 1.0, "JPY": 1 / 128}


@pytest.mark.parametrize("redact", [[], ["shop"]])
def test_a_case_counts_once_whatever_the_rates_are(redact: list[str], tmp_path: Path) -> None:
    file = yen(tmp_path, "plain")
    pipeline = TrainingPipeline(context=AceContext(redact=redact))
    graph = create_ace_graph(playbook=pipeline.playbook).compile()
    given = {"transaction": {"amount": 1280, "currency": "JPY", "shop": "s1"}, "decision_id": "a"}
    for rate in (1 / 128, 1 / 256):
        dataset = read(file, JPY=rate, USD=1.0)
        pipeline.train_offline(dataset.items[:20], dataset.form)
        pipeline.train_online(dataset.items[20:], dataset.form)
        rates = AceContext(redact=redact, rates={"JPY": rate})
        assert graph.invoke(given, context=rates)["decision_id"] == "a"  # else a conflict
    assert len(pipeline.playbook.cases(NODE)) == 30
    assert pipeline.playbook.decision("a")["fields"]["amount"] == 10.0


def test_a_hidden_amount_is_no_part_of_the_digest() -> None:
    """Else the amount could be guessed by trying."""
    playbook, digests = BulletPlaybook(), set()
    graph = create_ace_graph(playbook=playbook).compile()
    for amount in (100, 200):
        payment = {"amount": amount, "currency": "EUR", "hour": 12}
        context = AceContext(rates={"EUR": 2.0, "USD": 1.0}, redact=["amount"])
        graph.invoke({"transaction": payment, "decision_id": str(amount)}, context=context)
        digests.add(playbook.decision(str(amount))["digest"])
    assert len(digests) == 1


def decisions_of_file(playbook: BulletPlaybook, lines: list[str], folder: Path) -> list[str]:
    file = folder / "new.csv"
    file.write_text("\n".join(lines), encoding="utf-8")
    score_files(playbook, file, folder / "out.parquet")
    return [str(one) for one in pq.read_table(folder / "out.parquet")["decision"].to_pylist()]


@pytest.mark.parametrize("rates", [{}, {"EUR": 1.25, "GBP": 2.0}])
def test_a_cell_with_the_sign_of_another_currency_is_read_like_a_live_payment(
    rates: dict[str, float], tmp_path: Path
) -> None:
    form = "{amount} {currency}" if rates else "${amount}"
    playbook = learned_from(read(write(tmp_path, form), **rates))
    given = ["$300", "$100", "¥100", "100 ¥", "£150", "CHF 100", "100"]
    live = [decide(playbook, {"amount": amount, "hour": 12})[0] for amount in given]
    assert live[:4] == ["DECLINE", "APPROVE", "UNDECIDED", "UNDECIDED"]
    assert live[4] == ("DECLINE" if rates else "UNDECIDED")  # 300 dollars, or nobody knows
    lines = ["amount,hour", *(f"{amount},12" for amount in given)]
    assert decisions_of_file(playbook, lines, tmp_path) == live


def test_a_sentence_in_another_currency_than_the_files_is_a_doubt(tmp_path: Path) -> None:
    playbook = learned_from(read(write(tmp_path, "{amount} EUR")))
    said = ["50 EUR", "50 Euro", "€50", "50 GBP", "£50", "$50"]
    found = [decide(playbook, f"User pays {amount} at 1 PM") for amount in said]
    assert [decision for decision, _ in found] == ["APPROVE"] * 3 + ["UNDECIDED"] * 3
    assert "amount names another currency" in found[3][1]
    memo = 'User pays 50 EUR at 1 PM, memo: "instead of 50 GBP"'
    assert decide(playbook, memo)[0] == "APPROVE"


def test_an_amount_is_in_doubt_if_the_currency_beside_it_is(
    of_dollars: BulletPlaybook, tmp_path: Path
) -> None:
    given = [(100, "USD"), (100, "$"), (100, "KWD"), (100, ""), (300, "USD")]
    payments = [{"amount": n, "currency": code, "hour": 12} for n, code in given]
    found = [decide(of_dollars, payment) for payment in payments]
    live = [decision for decision, _ in found]
    assert live == ["APPROVE", "APPROVE", "UNDECIDED", "UNDECIDED", "DECLINE"]
    assert "amount names another currency" in found[2][1]
    assert "amount may be in another currency" in found[3][1]
    lines = ["amount,currency,hour", *(f"{n},{code},12" for n, code in given)]
    assert decisions_of_file(of_dollars, lines, tmp_path) == live


@pytest.mark.parametrize("form", ["{amount},{currency}", "{amount}"])
def test_an_amount_that_names_another_currency_than_the_column_beside_it_is_not_approved(
    form: str, tmp_path: Path
) -> None:
    playbook = learned_from(read(write(tmp_path, form)))
    pairs = [("50 EUR", "USD"), ("50 EUR", "EUR"), ("50 €", "euros"), ("50", "USD"), ("50", "EUR")]
    pairs += [("$50", "EUR"), ("$50", "usd"), ("50 EUR", None), ("300 EUR", "USD")]
    pairs += [("50 KWD", "JPY"), ("50 EUR", "JPY"), ("50 KWD", "KWD")]
    payments: list[Fields] = [{"amount": a, "currency": c, "hour": 12} for a, c in pairs]
    found = [decide(playbook, payment) for payment in payments]
    live = [decision for decision, _ in found]
    assert live[:7] == [UNDECIDED, *[APPROVE] * 4, UNDECIDED, APPROVE]
    assert "another currency than the field beside it" in found[0][1]
    lines = ["amount,currency,hour", *(f"{a},{c or ''},12" for a, c in pairs)]
    assert decisions_of_file(playbook, lines, tmp_path) == live
    table = pa.Table.from_pylist(payments)
    encoded = table.set_column(0, "amount", table["amount"].dictionary_encode())
    for one in (table, encoded):
        scored = score(playbook, one)
        assert scored["decision"].to_pylist() == live
        assert [why or "" for why in scored["undecided"].to_pylist()] == [why for _, why in found]


def test_a_currency_that_was_seen_once_does_not_open_the_list(tmp_path: Path) -> None:
    file = write(tmp_path, "{amount},USD")
    file.write_text(file.read_text().replace("USD", "EUR", 1))
    playbook = learned_from(read(file))
    wanted = {"USD": "APPROVE", "EUR": "APPROVE", "KWD": "UNDECIDED"}
    payments = {code: {"amount": 100, "currency": code, "hour": 12} for code in wanted}
    assert {code: decide(playbook, one)[0] for code, one in payments.items()} == wanted


@pytest.mark.parametrize("rates", [None, {"USD": 1.0, "JPY": 0.0078125}])
@pytest.mark.parametrize("name", ["txn_currency", "amount_currency", "ccy"])
def test_two_names_for_one_currency_are_a_doubt(
    name: str, rates: dict[str, float] | None, of_dollars: BulletPlaybook
) -> None:
    given, context = {"amount": 100, "hour": 12}, AceContext(learn=False, rates=rates)
    assert decide(of_dollars, {**given, name: "USD"}, context)[0] == "APPROVE"
    for payment in ({name: "JPY", "currency": "USD"}, {"currency": "USD", name: "JPY"}):
        assert decide(of_dollars, {**payment, **given}, context)[0] == "UNDECIDED"


def test_a_column_may_name_another_currency_than_the_cells_of_the_file(tmp_path: Path) -> None:
    playbook = learned_from(read(write(tmp_path, "{amount} USD")))
    payments = [{"amount": 100, "hour": 12, "currency": code} for code in ("USD", "KWD")]
    wanted = ["APPROVE", "UNDECIDED"]
    assert [decide(playbook, one)[0] for one in payments] == wanted
    lines = ["amount,hour,currency", "100,12,USD", "100,12,KWD"]
    assert decisions_of_file(playbook, lines, tmp_path) == wanted


def test_a_new_playbook_doubts_a_point_in_a_cell_as_in_a_live_payment(tmp_path: Path) -> None:
    assert decide(BulletPlaybook(), {"amount": "9.000"})[0] == "UNDECIDED"
    assert decisions_of_file(BulletPlaybook(), ["amount", "9.000"], tmp_path) == ["UNDECIDED"]


def test_rates_in_another_base_are_refused(trained: BulletPlaybook, tmp_path: Path) -> None:
    for rates in ({"EUR": 1.0, "GBP": 1.5}, {"USD": 0.8}):
        with pytest.raises(InvalidSettings, match="rates in USD"):
            decide(trained, {"amount": 1, "currency": "EUR", "hour": 1}, AceContext(rates=rates))
    dataset = read(write(tmp_path), USD=0.8, GBP=1.6)
    with trained.fork() as playbook, pytest.raises(InvalidSettings, match="rates in USD"):
        TrainingPipeline(playbook).train_offline(dataset.items, dataset.form)


def test_the_codes_of_rates_may_be_written_small() -> None:
    assert AceContext(rates={"eur": 1.08}).rates == AceContext(rates={"EUR": 1.08}).rates


def test_a_payment_without_a_known_field_still_tells_of_its_currency() -> None:
    graph = create_ace_graph().compile()
    payment = {"Transaction Amount": 100, "currency": "CHF", "foo": 1}
    result = graph.invoke({"transaction": payment}, context=AceContext(rates={"USD": 1.0}))
    assert "neither an amount nor a field that the playbook knows" in result["undecided"]
    assert "currency without a rate" in result["undecided"]
    assert "currency without a rate" in result["warnings"][0]


def test_the_commands_warn_convert_and_keep_the_rates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path)
    label = ("f.csv", "--label", "fraud", "--keep", "amount")  # it tells all, as planted
    sizes = ("--train", "10", "--test", "10", "--baselines", "none", "--json")
    unconverted = "amounts of 3 currencies (EUR, GBP, USD) are compared as they stand"
    assert unconverted in run("compare", *label, *sizes).stderr
    assert unconverted in run("read", *label).stdout
    assert unconverted not in run("read", *label, ACE_RATES="EUR=1.25,gbp=2").stdout
    trained = run("train", *label, "--rates", "EUR=1.25,GBP=2", "--json")
    assert json.loads(trained.stdout)["mistakes"] < 40
    for euros, wanted in ((240, "DECLINE"), (120, "APPROVE")):  # 300 and 150 dollars
        payment = json.dumps({"amount": euros, "currency": "EUR", "hour": 12})
        assert run("decide", payment, "--no-learn").stdout.startswith(wanted)
    other = json.dumps({"amount": 100, "currency": "CHF", "hour": 12})
    assert "without a rate" in run("decide", other, "--no-learn", code=3).stdout


@pytest.mark.parametrize("given", ["EUR", "EUR=x", "EUR=0", {"EUR": -1.0}])
def test_what_is_no_rate_is_refused_in_one_line(given: object) -> None:
    with pytest.raises(InvalidSettings, match="rates"):
        AceContext().with_changes(rates=given)
