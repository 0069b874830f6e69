"""What is not understood is never approved, and what is understood decides as before."""

import json

import pyarrow as pa
import pytest
from rewordings import decisions, reworded_decisions, trained_playbook

from acegraph.graph import create_ace_graph, feedback, generate_transactions
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.score import score
from acegraph.nodes.text.reader import read_fields
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    Case,
    Condition,
    InvalidTransaction,
    Transaction,
)
from acegraph.state.values.file_form import FileForm
from acegraph.state.values.verdict import parse_verdict

FROZEN = AceContext(learn=False)
RISKY = {"amount": 9000.0, "hour": 3, "account_age_days": 2, "vpn": True, "new_device": True}


@pytest.fixture(scope="module")
def trained() -> BulletPlaybook:
    return trained_playbook(400)


def test_no_rewording_turns_a_decline_into_an_approval(trained: BulletPlaybook) -> None:
    found = reworded_decisions(trained, generate_transactions(60, seed=99), most=5)
    assert len(found) > 80
    approved = {name: dict(counts) for name, counts in found.items() if counts["APPROVE"]}
    assert approved == {}
    understood = [name for name, counts in found.items() if counts["DECLINE"] == 5]
    assert {"names: upper", "names: camel", "one level deeper", "amount 0", "yes 0"} <= set(
        understood
    )


def test_honest_payments_in_their_usual_form_are_all_decided(trained: BulletPlaybook) -> None:
    honest = [dict(e.fields) for e in generate_transactions(100, seed=5)]
    assert set(decisions(trained, honest)) == {"APPROVE", "DECLINE"}


def test_an_unread_amount_is_approved_only_where_no_amount_declines(
    trained: BulletPlaybook,
) -> None:
    amounts = (0.01, 5.0, 20.0, 50.0, 100.0, 1_000.0, 1e6)
    seen = set()
    for payment in (dict(e.fields) for e in generate_transactions(30, seed=3)):
        (unread,) = decisions(trained, [{**payment, "amount": "canary-4711"}])
        at_each = set(decisions(trained, [{**payment, "amount": amount} for amount in amounts]))
        assert unread != "APPROVE" or at_each == {"APPROVE"}
        seen.add((unread, len(at_each)))
    assert {("APPROVE", 1), ("UNDECIDED", 2), ("DECLINE", 1)} <= seen


def test_the_reason_names_the_field_and_the_rules_but_no_value(trained: BulletPlaybook) -> None:
    honest = dict(generate_transactions(12, seed=3)[-1].fields)  # an amount of 1,000 declines it
    graph = create_ace_graph(playbook=trained).compile()
    result = graph.invoke({"transaction": {**honest, "amount": "canary-4711"}}, context=FROZEN)
    assert result["decision"] == "UNDECIDED"
    assert "amount is not a number" in result["undecided"]
    assert "canary" not in json.dumps(result)


def test_an_approval_says_what_was_not_understood() -> None:
    playbook = BulletPlaybook()
    colours = ("red", "blue")
    past = [Case(str(i), {"amount": 5.0, "kind": colours[i % 2]}, "APPROVE") for i in range(60)]
    playbook.remember(past, "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    told = "not understood: kind has a value that no labelled payment has; the decision stands"
    for kind, is_told in (("green", True), ("red", False)):
        result = graph.invoke({"transaction": {"amount": 5.0, "kind": kind}}, context=FROZEN)
        assert result["decision"] == "APPROVE"
        assert any(reason.startswith(told) for reason in result["reasons"]) is is_told


def test_a_playbook_that_declines_nothing_approves_no_amount_that_it_cannot_read() -> None:
    playbook = BulletPlaybook()
    answers = ("DECLINE", *("APPROVE" for _ in range(39)))
    past = [Case(str(i), {"amount": 5.0 + i % 7}, answers[i % 40]) for i in range(600)]
    playbook.remember(past, "fraud_detection")
    assert TableRules.of(playbook).ruleset.scale.can_decline is False
    rows = [{"amount": "twelve"}, {"amount": 12.0}, {"amount": 12.0, "memo": "?"}]
    assert decisions(playbook, rows) == ["UNDECIDED", "APPROVE", "APPROVE"]
    scored = score(playbook, pa.Table.from_pylist([{"amount": str(r["amount"])} for r in rows]))
    assert scored["decision"].to_pylist() == ["UNDECIDED", "APPROVE", "APPROVE"]


def test_a_missing_date_is_named_once_and_not_by_its_parts() -> None:
    playbook = BulletPlaybook()
    past = [
        Case(str(i), {"amount": 5.0, "at": "2026-01-31", "at.month": 1, "at.hour": 3}, "APPROVE")
        for i in range(60)
    ]
    playbook.remember(past, "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    reasons = graph.invoke({"transaction": {"amount": 5.0}}, context=FROZEN)["reasons"]
    assert any(reason.startswith("not understood: at missing") for reason in reasons)


def test_a_payment_in_other_names_is_not_approved_where_a_field_is_often_missing() -> None:
    playbook = BulletPlaybook()
    usual = {"valor": 5.0, "hora": 4.0, "canal": "online", "loja": "A"}
    past = [
        Case(str(i), {n: v for n, v in usual.items() if n != "canal" or i % 20}, "APPROVE")
        for i in range(100)
    ]
    playbook.remember(past, "fraud_detection")
    rule = 'DECLINE when canal is "online" and hora >= 3'
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    other_names = {"channel": "online", "time": 4, "amount": 20.0}
    without_channel = {"valor": 5.0, "hora": 4.0, "loja": "A"}
    found = decisions(playbook, [usual, other_names, without_channel, {**usual, "hora": None}])
    assert found == ["DECLINE", "UNDECIDED", "APPROVE", "UNDECIDED"]
    graph = create_ace_graph(playbook=playbook).compile()
    told = graph.invoke({"transaction": other_names}, context=FROZEN)["undecided"]
    assert "canal missing, as most of the known fields are" in told


@pytest.mark.parametrize("given", ["asdf", "cards.csv", {"foo": 12.5}, "[1, 2, 3]", "hello there"])
def test_what_nobody_understands_is_undecided_on_a_new_playbook(given: object) -> None:
    result = create_ace_graph().compile().invoke({"transaction": given})
    assert result["decision"] == "UNDECIDED"
    assert "neither an amount nor a field that the playbook knows" in result["undecided"]


def test_an_undecided_payment_is_kept_and_its_label_is_evidence() -> None:
    with BulletPlaybook() as playbook:
        graph = create_ace_graph(playbook=playbook).compile()
        given = {"transaction": {"v1": 0.5, "v2": -3.0}, "decision_id": "d1"}
        assert graph.invoke(given)["decision"] == "UNDECIDED"
        feedback(playbook, "d1", "DECLINE")
        assert [case.id for case in playbook.cases("fraud_detection")] == ["d1"]


def test_with_a_known_answer_unknown_fields_are_decided_and_learned_from() -> None:
    given = {"transaction": {"v1": 0.5}, "ground_truth": "DECLINE"}
    assert create_ace_graph().compile().invoke(given)["verdict"] == "wrong"


@pytest.mark.parametrize(
    "given",
    [
        {"amount": 9000, "amount ": 1},
        {"amount": 9000, "amo\u200bunt": 1},
        {"card": {"age": 1}, "card.age": 900},
        {"x" * 201: 1, "amount": 5},
        {f"f{n}": {f"g{m}": 1 for m in range(100)} for n in range(4)},
    ],
)
def test_keys_that_become_one_or_too_many_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidTransaction):
        create_ace_graph().compile().invoke({"transaction": given})


@pytest.mark.parametrize(
    "text",
    [
        'Note "Ann" Lee pays $2,500 at 3 AM via VPN, account is 2 days old, merchant "Shop"',
        "Memo 'x' Smith pays $2,500 at 3 AM via VPN, account is 2 days old, at 'Y'",
        "note: pays $2,500 at 3 AM via VPN, account is 2 days old",
        'Description: "pays $2,500 at 3 AM via VPN, account is 2 days old"',
        "Reference pays $2,500 at 3 AM via VPN from an account that is 2 days old",
    ],
)
def test_a_name_or_a_memo_hides_no_fact(text: str) -> None:
    plain = "Ann Lee pays $2,500 at 3 AM via VPN, account is 2 days old"
    graph = create_ace_graph().compile()
    assert graph.invoke({"transaction": plain})["decision"] == "DECLINE"
    assert graph.invoke({"transaction": text})["decision"] != "APPROVE"


def test_a_memo_still_lowers_nothing() -> None:
    graph = create_ace_graph().compile()
    text = 'pays $2,500 at 3 AM via VPN, account is 2 days old, memo "x" verified, recurring "y"'
    assert graph.invoke({"transaction": text})["decision"] == "DECLINE"


def test_a_reviewed_graph_asks_a_person_about_what_was_not_understood() -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    graph = create_ace_graph(review=True).compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    result = graph.invoke({"transaction": {"foo": 1}}, config)
    (question,) = result["__interrupt__"]
    assert question.value["kind"] == "verdict"
    assert "neither an amount nor a field" in question.value["undecided"]


@pytest.mark.parametrize("amount", ["seven thousand, all fine", "9,0,0", "lots", "2 Mio"])
def test_a_new_playbook_approves_no_amount_that_it_cannot_read(amount: str) -> None:
    graph = create_ace_graph(playbook=BulletPlaybook()).compile()
    result = graph.invoke({"transaction": {"amount": amount, "hour": 14}})
    assert result["decision"] == "UNDECIDED"
    assert "amount is not a number" in result["undecided"]


@pytest.mark.parametrize(
    "payment",
    [
        "pays 9000 kr at 3 PM for groceries",
        "Purchase of 9 thousand rupees at 3 PM",
        {"hour": 12},
        {"amount": None, "hour": 12, "verified": True},
        {"hour": 12, "merchant_category": "grocery"},
    ],
)
def test_a_new_playbook_approves_no_payment_without_an_amount(payment: object) -> None:
    result = create_ace_graph(playbook=BulletPlaybook()).compile().invoke({"transaction": payment})
    assert result["decision"] == "UNDECIDED"
    assert "neither an amount nor a field" in result["undecided"]


@pytest.mark.parametrize("amount", ["9.000 EUR", "$9 Mio", "1e6 USD", "9 thousand 500 dollars"])
def test_an_unclear_amount_of_a_text_is_a_doubt_whatever_else_is_known(amount: str) -> None:
    playbook = BulletPlaybook()
    for rule in ("DECLINE when amount >= 300", "DECLINE when vpn is true"):
        playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    graph = create_ace_graph(playbook=playbook).compile()
    result = graph.invoke({"transaction": f"pays {amount} without VPN"}, context=FROZEN)
    assert result["decision"] == "UNDECIDED"
    assert "amount may be another number" in result["undecided"]
    clear = graph.invoke({"transaction": "pays 9 EUR without VPN"}, context=FROZEN)
    assert clear["decision"] == "APPROVE"


@pytest.mark.parametrize("hours", [(0, 23), (1, 24)])
def test_an_hour_that_no_day_has_is_a_doubt_in_payments_and_in_tables(
    hours: tuple[int, int],
) -> None:
    first, last = hours
    playbook = BulletPlaybook()
    past = [Case(str(i), {"amount": 5.0, "hour": first + i % 24}, "APPROVE") for i in range(60)]
    playbook.remember(past, "fraud_detection")
    rule = "DECLINE when hour < 6"
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    given = [2, 23.5, last, last + 1, 26, 99]
    wanted = ["DECLINE", *["APPROVE"] * 2, *["UNDECIDED"] * 3]
    assert decisions(playbook, [{"amount": 5.0, "hour": hour} for hour in given]) == wanted
    table = pa.table({"amount": [5.0] * 6, "hour": [float(hour) for hour in given]})
    rules = TableRules.of(playbook)
    assert score(rules, table)["decision"].to_pylist() == wanted
    untrained = [{"amount": 300, "vpn": True, "hour": hour} for hour in (2, 26)]
    assert decisions(BulletPlaybook(), untrained) == ["DECLINE", "UNDECIDED"]


def two_shops() -> BulletPlaybook:
    """A playbook that knows two shops, and declines one of them."""
    playbook = BulletPlaybook()
    past = [Case(str(i), {"amount": 5.0, "Shop": "AB"[i % 2]}, "APPROVE") for i in range(60)]
    playbook.remember(past, "fraud_detection")
    rule = 'DECLINE when Shop is "A"'
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    return playbook


@pytest.mark.parametrize(
    "form", ["amount: 5; Shop: {}", "shop={}, Amount=5.00", "SHOP: {}\nAMT: 5"]
)
def test_a_text_of_pairs_alone_is_read_as_fields(form: str) -> None:
    texts = [form.format(shop) for shop in ("A", "a", "B", "C")]
    assert decisions(two_shops(), texts) == ["DECLINE", "DECLINE", "APPROVE", "UNDECIDED"]


@pytest.mark.parametrize(
    "text",
    [
        "two things; amount: 5; shop: a",
        "amount: 5; shop: B; shop: A",
        "amount: 5; shop: B; amount: 9000",
        'amount: 5; note: "x; shop: B; y: z"',
        'amount: 5; who: "x; shop: B; y: z"',
    ],
)
def test_a_text_with_more_than_pairs_or_two_values_of_a_name_is_a_doubt(text: str) -> None:
    assert decisions(two_shops(), [text]) == ["UNDECIDED"]


def test_the_amount_of_a_pair_with_an_unknown_name_is_a_doubt() -> None:
    assert decisions(two_shops(), ["amount: 5; Shop: B; total: $9,000"]) == ["UNDECIDED"]


def test_the_amount_of_a_file_is_known_by_its_usual_names() -> None:
    playbook = BulletPlaybook()
    past = [Case(str(i), {"Wert": float(i), "land": "DE"}, "APPROVE") for i in range(60)]
    playbook.remember(past, "fraud_detection")
    playbook.keep_file_form("fraud_detection", FileForm(amount="Wert"))
    rule = "DECLINE when Wert >= 50"
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    payments = [{name: 55, "land": "DE"} for name in ("Wert", "amount", "Betrag", "other")]
    assert decisions(playbook, payments) == ["DECLINE", "DECLINE", "DECLINE", "UNDECIDED"]
    assert decisions(playbook, [{"Wert": 5, "amount": 55, "land": "DE"}]) == ["UNDECIDED"]


@pytest.mark.parametrize("name", ["amt", "transaction_amount", "TransactionAmount", "tx_amount"])
def test_a_new_playbook_knows_the_amount_by_its_usual_names(name: str) -> None:
    assert decisions(BulletPlaybook(), [{name: 20}]) == ["APPROVE"]
    assert score(BulletPlaybook(), pa.table({name: [20]}))["decision"].to_pylist() == ["APPROVE"]


def test_a_new_playbook_reads_what_is_written_otherwise() -> None:
    found = reworded_decisions(BulletPlaybook(), generate_transactions(30, seed=99), most=3)
    written_otherwise = {
        name: dict(counts)
        for name, counts in found.items()
        if name.startswith(("names: ", "yes ", "amount ", "category in ", "one level"))
    }
    for name in ("names: prefix tx", "amount 15", "amount 18", "amount is null"):
        del written_otherwise[name]  # tx_tx_last_hour; without an amount it is another payment
    approved = [name for name, counts in written_otherwise.items() if "APPROVE" in counts]
    assert approved == []
    understood = [name for name, counts in written_otherwise.items() if counts == {"DECLINE": 3}]
    assert {"names: upper", "one level deeper", "amount 0", "yes 0"} <= set(understood)


@pytest.mark.parametrize(
    ("payment", "decision"),
    [
        ({"amount": "9000.00 USD", "hour": 3}, "DECLINE"),
        ({"AMT": 9000, "Hour": "3"}, "DECLINE"),
        ({"amount": {"value": 9000, "currency": "EUR"}, "hour": 3}, "DECLINE"),
        ({"bedrag": 9000, "hour": 3}, "DECLINE"),
        ({"Betrag": "9.000,00 EUR", "hour": 3}, "DECLINE"),
        ({"Betrag": 9000, "amount": 20}, "UNDECIDED"),
        ({"amount": 20, "Betrag": 20}, "APPROVE"),
        ({"amount": 900, "vpn": "on"}, "DECLINE"),
        ({"amount": 900, "vpn": "off"}, "APPROVE"),
        ({"amount": 600, "merchant_category": "Gift cards"}, "DECLINE"),
        ({"amount": "1.728", "hour": 3}, "UNDECIDED"),
        ({"amount": -9000.0, "hour": 3}, "UNDECIDED"),
        ({"amount": 900, "vpn": "maybe"}, "UNDECIDED"),
        ({"amount": 900, "new_device": 2}, "UNDECIDED"),
    ],
)
def test_a_new_playbook_decides_a_payment_and_a_table_alike(
    payment: dict[str, object], decision: str
) -> None:
    assert decisions(BulletPlaybook(), [payment]) == [decision]
    table = pa.Table.from_pylist([Transaction.of(payment).fields])
    assert score(BulletPlaybook(), table)["decision"].to_pylist() == [decision]


def test_names_of_rules_are_known_before_cases_are() -> None:
    playbook, rule = BulletPlaybook(), "DECLINE when payment.amount >= 900"
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    for payment in ({"payment": {"amount": 950}}, {"Payment.Amount": 950}):
        assert decisions(playbook, [payment]) == ["DECLINE"]


def test_other_words_for_the_amount_reach_a_rule_about_it() -> None:
    playbook, rule = BulletPlaybook(), "DECLINE when amount >= 900"
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    payments: list[dict[str, object]] = [{"amt": 950}, {"Betrag": 950}, {"amount": 10, "amt": 950}]
    assert decisions(playbook, payments) == ["DECLINE", "DECLINE", "UNDECIDED"]
    known = [Case(str(i), {"amount": 20.0 + i}, "APPROVE") for i in range(60)]
    playbook.remember(known, "fraud_detection")
    assert decisions(playbook, [{"betrag": 950}, {"amt": 30}]) == ["DECLINE", "APPROVE"]


def test_names_of_few_cases_are_kept() -> None:
    playbook = BulletPlaybook()
    playbook.remember([Case("1", {"AMOUNT": 20.0}, "APPROVE")], "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    graph.invoke({"transaction": {"amount": 20.0, "hour": 12}, "ground_truth": "APPROVE"})
    assert set(playbook.cases("fraud_detection").field_names) == {"AMOUNT", "hour"}


def test_a_field_that_no_labelled_case_has_is_read_too(trained: BulletPlaybook) -> None:
    usual = next(
        payment
        for e in generate_transactions(60, seed=5)
        if decisions(trained, [payment := dict(e.fields)]) == ["APPROVE"]
        and decisions(trained, [{**payment, "disposable_email": True, "failed_check": True}])
        == ["DECLINE"]
    )
    for yes in ("on", "Y", "perhaps"):
        written = {**usual, "disposable_email": yes, "failed_check": yes}
        assert decisions(trained, [written]) == ["UNDECIDED" if yes == "perhaps" else "DECLINE"]


def test_a_date_that_cannot_be_read_hides_no_rule_about_its_hour() -> None:
    playbook, node = BulletPlaybook(), "fraud_detection"
    rule = Condition.parse("DECLINE when paid.hour < 6")
    for i in range(48):
        paid = Transaction.of({"amount": 20, "paid": f"2026-03-{1 + i % 28:02}T{i % 24:02}:30"})
        label = parse_verdict("fraud" if i % 24 < 6 else "legit")
        playbook.remember([Case(f"c{i}", read_fields(paid), label)], node)
    playbook.add_bullet(rule.render(), node, condition=rule)
    graph = create_ace_graph(playbook=playbook).compile()

    def decision(paid: str) -> str:
        given = {"transaction": {"amount": 20, "paid": paid}}
        return str(graph.invoke(given)["decision"])

    assert decision("2026-04-01T03:00") == "DECLINE"
    assert decision("2026-04-01T13:00") == "APPROVE"
    for unread in ("01.04.2026 03:00", "1/4/2026 3:00 AM", "soon", "2026-04-01"):
        assert decision(unread) == "UNDECIDED"


@pytest.mark.parametrize("name", ["amount", "Amount", "Transaction Amount", "payment.amount"])
def test_costs_doubt_an_amount_under_whatever_name(name: str) -> None:
    """By these costs 5000 is declined at the rate of fraud, and a payment without amount is not."""
    playbook = BulletPlaybook()
    for i in range(60):
        label = parse_verdict("fraud" if i % 20 == 7 else "legit")
        playbook.remember([Case(f"c{i}", {name: 100.0 * i, "shop": "a"}, label)], "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    costs = AceContext(learn=False, costs="missed_fraud=1,false_decline=0.02,decline_fee=20")
    answers = [
        graph.invoke({"transaction": {name: amount, "shop": "a"}}, context=costs)["decision"]
        for amount in (5000, 20, "five thousand")
    ]
    assert answers == ["DECLINE", "APPROVE", "UNDECIDED"]
