"""What is not understood is never approved, and what is understood decides as before."""

import json

import pyarrow as pa
import pytest
from rewordings import decisions, reworded_decisions, trained_playbook

from acegraph.graph import create_ace_graph, feedback, generate_transactions, learn_waiting
from acegraph.graph.tables.ruleset import TableRules
from acegraph.graph.tables.score import score
from acegraph.nodes.curator.node import FIRST_RULE
from acegraph.state import (
    AceContext,
    BulletPlaybook,
    Case,
    Condition,
    InvalidTransaction,
    Transaction,
)
from acegraph.state.maintenance.verify import verify
from acegraph.state.values.verdict import parse_verdict

FROZEN = AceContext(learn=False)
RISKY = {"amount": 9000.0, "hour": 3, "account_age_days": 2, "vpn": True, "new_device": True}


@pytest.fixture(scope="module")
def trained() -> BulletPlaybook:
    return trained_playbook()


@pytest.mark.parametrize("most", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_no_rewording_turns_a_decline_into_an_approval(trained: BulletPlaybook, most: int) -> None:
    found = reworded_decisions(trained, generate_transactions(60, seed=99), most)
    assert len(found) > 80
    approved = {name: dict(counts) for name, counts in found.items() if counts["APPROVE"]}
    assert approved == {}
    understood = [name for name, counts in found.items() if counts["DECLINE"] == most]
    assert {"names: upper", "names: camel"} <= set(understood)


def test_honest_payments_in_their_usual_form_are_all_decided(trained: BulletPlaybook) -> None:
    honest = [dict(e.fields) for e in generate_transactions(100, seed=5)]
    assert set(decisions(trained, honest)) == {"APPROVE", "DECLINE"}


@pytest.mark.slow
def test_an_unread_amount_is_approved_only_where_no_amount_declines() -> None:
    trained, amounts = trained_playbook(400), (0.01, 5.0, 20.0, 50.0, 100.0, 1_000.0, 1e6)
    seen = set()
    for payment in (dict(e.fields) for e in generate_transactions(30, seed=3)):
        (unread,) = decisions(trained, [{**payment, "amount": "canary-4711"}])
        at_each = set(decisions(trained, [{**payment, "amount": amount} for amount in amounts]))
        assert unread != "APPROVE" or at_each == {"APPROVE"}
        seen.add((unread, len(at_each)))
    assert {("APPROVE", 1), ("UNDECIDED", 2), ("DECLINE", 1)} <= seen


def test_the_reason_names_the_field_and_the_rules_but_no_value(trained: BulletPlaybook) -> None:
    unread = [
        {**example.fields, "amount": "canary-4711"} for example in generate_transactions(40, seed=3)
    ]
    depends = decisions(trained, unread).index("UNDECIDED")
    graph = create_ace_graph(playbook=trained).compile()
    result = graph.invoke({"transaction": unread[depends]}, context=FROZEN)
    assert result["decision"] == "UNDECIDED"
    assert "amount does not fit; a number" in result["undecided"]
    assert "canary" not in json.dumps(result)


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


@pytest.mark.parametrize("given", ["asdf", "cards.csv", {"foo": 12.5}, "[1, 2, 3]", "hello there"])
def test_what_nobody_understands_is_undecided_on_a_new_playbook(given: object) -> None:
    result = create_ace_graph().compile().invoke({"transaction": given})
    assert result["decision"] == "UNDECIDED"
    assert "case has no field that a rule asks for" in result["undecided"]


def test_an_undecided_payment_is_kept_and_its_label_is_evidence() -> None:
    with BulletPlaybook() as playbook:
        graph = create_ace_graph(playbook=playbook).compile()
        given = {"transaction": {"v1": 0.5, "v2": -3.0}, "decision_id": "d1"}
        assert graph.invoke(given)["decision"] == "UNDECIDED"
        feedback(playbook, "d1", "DECLINE")
        assert [case.id for case in playbook.cases("fraud_detection")] == ["d1"]


def unknown(number: int, answer: str = "DECLINE") -> dict[str, object]:
    """A labelled case of which no rule and no prior tests a field."""
    case = {"v1": 0.5 + number, "v2": -3.0}
    return {"transaction": case, "ground_truth": answer, "decision_id": f"u{number}"}


def test_what_is_left_open_stays_so_with_a_label_and_is_learned_from() -> None:
    with BulletPlaybook() as playbook:
        graph = create_ace_graph(playbook=playbook).compile()
        results = [graph.invoke(unknown(n)) for n in range(2)]
        assert {r["decision"] for r in results} == {"UNDECIDED"}
        assert {(r["verdict"], r["is_correct"]) for r in results} == {("undecided", None)}
        assert [case.id for case in playbook.cases("fraud_detection")] == ["u0", "u1"]
        assert (playbook.lesson("u0") or {})["action"] == "refused"  # two cases prove nothing
        assert graph.invoke(unknown(0))["decision"] == "UNDECIDED"  # once, however often sent
        assert verify(playbook) == []


def test_a_stream_of_unknown_fields_finds_its_first_rule() -> None:
    with BulletPlaybook() as playbook:
        graph = create_ace_graph(playbook=playbook).compile()
        for n in range(FIRST_RULE):
            result = graph.invoke(unknown(100 * (n % 2) + n, "DECLINE" if n % 2 else "APPROVE"))
            if bullet_id := result["new_bullet"]:
                bullet = playbook.get_bullet(bullet_id)
                break
        assert (bullet.helpful_count, bullet.harmful_count) == (0, 0)
        assert graph.invoke({"transaction": {"v1": 150.0, "v2": -3.0}})["decision"] == "DECLINE"


def test_a_late_label_on_what_was_left_open_is_a_lesson() -> None:
    with BulletPlaybook() as playbook:
        graph = create_ace_graph(playbook=playbook).compile()
        for n in range(FIRST_RULE):
            given = unknown(100 * (n % 2) + n)
            graph.invoke({**given, "ground_truth": None})
            told = feedback(playbook, str(given["decision_id"]), "DECLINE" if n % 2 else "APPROVE")
            if told.curation and told.curation.action == "added":
                break
        assert (told.decision, told.is_correct) == (None, None)
        assert len(playbook) == 1


def test_a_lesson_on_what_was_left_open_may_wait() -> None:
    later = AceContext(learn_later=True)
    with BulletPlaybook() as playbook:
        graph = create_ace_graph(playbook=playbook, context=later).compile()
        for n in range(FIRST_RULE):
            given = unknown(100 * (n % 2) + n, "DECLINE" if n % 2 else "APPROVE")
            assert graph.invoke(given)["new_bullet"] is None
        learned = learn_waiting(playbook)
        assert (learned.lessons, learned.failed, learned.dropped) == (FIRST_RULE, 0, 0)
        assert learned.bullets_added


def test_an_agent_that_failed_teaches_nothing() -> None:
    def away(_: object) -> str:
        raise ConnectionError("the line is dead")

    with BulletPlaybook() as playbook:
        graph = create_ace_graph(playbook=playbook, agent=away).compile()
        known = {"amount": 20.0, "hour": 14}
        for number, truth in enumerate(["DECLINE", None]):
            given = {"transaction": known, "ground_truth": truth, "decision_id": f"d{number}"}
            assert graph.invoke(given)["undecided"] == "agent: away: the line is dead"
        told = feedback(playbook, "d1", "DECLINE")
        assert told.curation is not None
        assert "the agent failed" in told.curation.reason
        assert (len(playbook), playbook.lesson("d1")) == (0, None)


def test_a_doubt_that_matters_leaves_a_labelled_case_open_too() -> None:
    playbook = BulletPlaybook()
    playbook.add_bullet("DECLINE when amount >= 900", "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    given = {"transaction": {"amount": "many", "hour": 12}, "ground_truth": "DECLINE"}
    result = graph.invoke(given)
    assert (result["decision"], result["verdict"]) == ("UNDECIDED", "undecided")
    (bullet,) = playbook
    assert (bullet.helpful_count, bullet.harmful_count) == (0, 0)


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
    assert "no field that a rule asks for" in question.value["undecided"]


@pytest.mark.parametrize(
    "amount",
    ["seven thousand, all fine", "9,0,0", "lots", "2 Mio", "9000 USD", "1.728,00", -900, True],
)
def test_a_new_playbook_approves_no_amount_that_does_not_fit(amount: object) -> None:
    graph = create_ace_graph(playbook=BulletPlaybook()).compile()
    result = graph.invoke({"transaction": {"amount": amount, "hour": 14}})
    assert result["decision"] == "UNDECIDED"
    assert "amount does not fit; a number of at least 0 wanted" in result["undecided"]


@pytest.mark.parametrize(
    "payment",
    [
        "pays 9000 kr at 3 PM for groceries",
        "Purchase of 9 thousand rupees at 3 PM",
        {"hour": 12},
        {"amount": None, "hour": 12},
        {"hour": 12, "merchant_category": "grocery"},
        {"AMT": 20, "hour": 12},
        {"payment": {"amount": 20}, "hour": 12},
    ],
)
def test_a_new_playbook_approves_no_payment_without_an_amount(payment: object) -> None:
    result = create_ace_graph(playbook=BulletPlaybook()).compile().invoke({"transaction": payment})
    assert result["decision"] == "UNDECIDED"
    assert "amount is missing" in result["undecided"]


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


def test_an_hour_that_no_day_has_is_a_doubt_in_payments_and_in_tables() -> None:
    first, last = 0, 23
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


@pytest.mark.parametrize(
    ("payment", "decision"),
    [
        ({"Amount": "9000.00", "Hour": "3"}, "DECLINE"),
        ({"amount": 900, "vpn": "true"}, "DECLINE"),
        ({"amount": 900, "vpn": "0"}, "APPROVE"),
        ({"amount": 600, "merchant_category": "gift_cards"}, "DECLINE"),
        ({"amount": "1.728", "hour": 3}, "APPROVE"),
        ({"amount": -9000.0, "hour": 3}, "UNDECIDED"),
        ({"amount": 900, "vpn": "maybe"}, "UNDECIDED"),
        ({"amount": 900, "new_device": 2}, "UNDECIDED"),
        ({"amount": 20, "new_device": "?"}, "APPROVE"),
    ],
)
def test_a_new_playbook_decides_a_payment_and_a_table_alike(
    payment: dict[str, object], decision: str
) -> None:
    assert decisions(BulletPlaybook(), [payment]) == [decision]
    table = pa.Table.from_pylist([Transaction.of(payment).fields])
    assert score(BulletPlaybook(), table)["decision"].to_pylist() == [decision]


def test_two_values_of_one_field_are_a_doubt() -> None:
    payment = {"amount": 20, "AMOUNT": 9000, "hour": 14}
    assert decisions(BulletPlaybook(), [payment]) == ["UNDECIDED"]
    assert decisions(BulletPlaybook(), [{**payment, "AMOUNT": 20}]) == ["APPROVE"]


def test_names_of_rules_are_known_before_cases_are() -> None:
    playbook, rule = BulletPlaybook(), "DECLINE when payment.amount >= 900"
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    for payment in ({"payment": {"amount": 950}}, {"Payment.Amount": 950}):
        assert decisions(playbook, [{**payment, "amount": 950}]) == ["DECLINE"]


def test_a_misspelt_word_of_few_known_ones_is_a_doubt() -> None:
    playbook = BulletPlaybook()
    past = [Case(str(i), {"amount": 5.0, "shop": "AB"[i % 2]}, "APPROVE") for i in range(200)]
    playbook.remember(past, "fraud_detection")
    rule = 'DECLINE when shop is "A"'
    playbook.add_bullet(rule, "fraud_detection", condition=Condition.parse(rule))
    payments = [{"amount": 5, "shop": shop} for shop in ("A", " a", "B", "C")]
    assert decisions(playbook, payments) == ["DECLINE", "DECLINE", "APPROVE", "UNDECIDED"]


def test_a_date_that_cannot_be_read_hides_no_rule_about_its_hour() -> None:
    playbook, node = BulletPlaybook(), "fraud_detection"
    rule = Condition.parse("DECLINE when paid.hour < 6")
    for i in range(48):
        paid = Transaction.of({"amount": 20, "paid": f"2026-03-{1 + i % 28:02}T{i % 24:02}:30"})
        label = parse_verdict("fraud" if i % 24 < 6 else "legit")
        playbook.remember([Case(f"c{i}", paid.fields, label)], node)
    playbook.add_bullet(rule.render(), node, condition=rule)
    graph = create_ace_graph(playbook=playbook).compile()

    def decision(paid: str | None) -> str:
        given = {"transaction": {"amount": 20, "paid": paid}}
        return str(graph.invoke(given)["decision"])

    assert decision("2026-04-01T03:00") == "DECLINE"
    assert decision("2026-04-01T13:00") == "APPROVE"
    for unread in ("01.04.2026 03:00", "1/4/2026 3:00 AM", "soon", "2026-04-01", None):
        assert decision(unread) == "UNDECIDED"


@pytest.mark.parametrize("name", ["amount", "Amount"])
def test_costs_doubt_an_amount_that_does_not_fit(name: str) -> None:
    """By these costs 5000 is declined at the rate of fraud, and a payment without amount is not."""
    playbook = BulletPlaybook()
    for i in range(60):
        label = parse_verdict("fraud" if i % 20 == 7 else "legit")
        fields = {"amount": 100.0 * i, "shop": "a"}
        playbook.remember([Case(f"c{i}", fields, label)], "fraud_detection")
    graph = create_ace_graph(playbook=playbook).compile()
    costs = AceContext(
        learn=False, policy={"costs": {"missed_fraud": 1, "false_decline": 0.02, "decline_fee": 20}}
    )
    answers = [
        graph.invoke({"transaction": {name: amount, "shop": "a"}}, context=costs)["decision"]
        for amount in (5000, 20, "five thousand")
    ]
    assert answers == ["DECLINE", "APPROVE", "UNDECIDED"]
