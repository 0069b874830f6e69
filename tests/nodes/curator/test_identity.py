"""Who a transaction belongs to: what tells it, and what only sounds as if it did."""

from collections.abc import Sequence
from typing import Any

import pytest
from declared_tables import declared

from acegraph.graph import TrainingPipeline
from acegraph.nodes.curator.identity import is_identifying
from acegraph.nodes.curator.screening import Proposal, Screening
from acegraph.state import BulletPlaybook, Case, Transaction, parse_condition
from acegraph.state.values.cases import CaseTable
from tests.support.compared_values import compared_values

NODE = "fraud_detection"
N = 240


def table_of(name: str, values: Sequence[Any], **others: Sequence[Any]) -> CaseTable:
    """Every other case is fraud; values come in turn."""
    columns = {"amount": range(1, 90), name: values, **others}
    return CaseTable(
        Case(
            f"h{i}",
            {field: those[i % len(those)] for field, those in columns.items()},
            "DECLINE" if i % 2 else "APPROVE",
        )
        for i in range(N)
    )


def reason(content: str, table: CaseTable) -> str:
    found = Screening()(Proposal(content, parse_condition(content), table))
    return found.reason if found else ""


@pytest.mark.parametrize(
    ("name", "values", "test"),
    [
        ("disposable_email", [False, True], "is true"),
        ("disposable_email", [0, 1], ">= 1"),
        ("is_new_ip", [False, True], "is true"),
        ("is_mobile", [False, True], "is true"),
        ("is_first", [0, 1], ">= 1"),
        ("minutes_since_last", list(range(40)), ">= 10"),
        ("tx_per_ip", list(range(40)), ">= 10"),
        ("cards_per_email", list(range(40)), ">= 10"),
        ("payments_per_customer", list(range(40)), ">= 10"),
        ("unique_ip", list(range(40)), ">= 10"),
        ("transactionsLast24h", list(range(40)), ">= 10"),
        ("isFirstPurchase24h", [False, True], "is true"),
        ("device.app", [False, True], "is true"),
        ("user__flagged", [False, True], "is true"),
        ("P_emaildomain", ["gmail.com", "protonmail.com"], 'is "protonmail.com"'),
        ("email_domain", ["gmail.com", "protonmail.com"], 'is "protonmail.com"'),
        ("ip_country", ["DE", "NG"], 'is "NG"'),
        ("email_domain_type", ["corp", "free"], 'is "free"'),
        ("merchant_category_name", ["food", "gift_cards"], 'is "gift_cards"'),
    ],
)
def test_a_description_is_learned_from_whatever_it_is_called(
    name: str, values: list[Any], test: str
) -> None:
    table = table_of(name, values)
    assert compared_values(table)[name]
    assert reason(f"DECLINE when {name} {test}", table) == ""


def test_a_domain_is_a_category_although_addresses_end_in_it() -> None:
    table = table_of("domain", ["gmail.com", "protonmail.com"], email=["a@gmail.com", "b@x.org"])
    source = Transaction.of({"email": "anna@protonmail.com", "domain": "protonmail.com"})
    for said, passes in (("protonmail.com", True), ("anna", False)):
        content = f'DECLINE when domain is "{said}"'
        found = Screening()(Proposal(content, parse_condition(content), table, source))
        assert (found is None) is passes


def test_a_flag_needs_no_cases_to_tell_nobody() -> None:
    assert reason("DECLINE when disposable_email is true", CaseTable()) == ""


@pytest.mark.parametrize(
    ("name", "values", "test"),
    [
        ("merchant", [f"Shop {i}" for i in range(125)], 'is "Shop 7"'),
        ("payee_is_new", ["anna@bank.example", "no"], 'is "anna@bank.example"'),
        ("card", [4_111_111_111_111_111 + i for i in range(60)], "< 4111111111111130"),
        ("phone_no", [491_701_234_567 + i for i in range(9)], "< 491701234570"),
        ("ts", [1.7e9 + 1000.37 * i for i in range(N)], "< 1700100000"),
        ("size", list(range(40)), "< 4111111111111111"),
        ("size", list(range(40)), "< 491701234567"),
        ("anna@bank.example", [False, True], "is true"),
        ("seen.4111111111111111", [False, True], "is true"),
        ("site", ["https://evil.example", "b.com"], 'is "https://evil.example"'),
        ("site", ["evil.com/approve", "b.com"], 'is "evil.com/approve"'),
        ("site", ["a.com", "b.com"], 'is "approve-me.com"'),
        ("site", [f"shop{i}.com" for i in range(99)], 'is "shop7.com"'),
    ],
)
def test_nobody_gets_in_by_the_name_of_a_field_or_as_a_bound(
    name: str, values: list[Any], test: str
) -> None:
    said = f'DECLINE when "{name}" {test}'
    assert parse_condition(said)
    assert reason(said, table_of(name, values))


def test_a_condition_behind_a_sentence_holds_no_number_of_anybody() -> None:
    condition = parse_condition("DECLINE when size < 4111111111111111")
    table = table_of("size", list(range(40)))
    assert Screening()(Proposal("Decline small sizes at night on new devices", condition, table))


@pytest.mark.parametrize("word", ["id", "entity", "text"])
def test_a_role_says_whose_values_no_rule_may_repeat(word: str) -> None:
    cases = [Case(str(i), {"customer": "1", "payee": 1}, "DECLINE") for i in range(3)]
    table = CaseTable(cases)
    assert not is_identifying("customer", table)
    assert is_identifying("customer", declared(table, customer=word))
    assert not is_identifying("payee", table)


@pytest.mark.slow
def test_a_flag_about_the_payee_does_not_stop_a_whole_file_from_being_learned() -> None:
    playbook = BulletPlaybook()
    rows = [
        {"query": {"score": i % 10, "new_payee": i // 3 % 2}, "answer": "fraud", "id": str(i)}
        if i % 10 > 6
        else {"query": {"score": i % 10, "new_payee": i // 7 % 2}, "answer": "legit", "id": str(i)}
        for i in range(120)
    ]
    TrainingPipeline(playbook).train_offline(rows)
    assert [b.content for b in playbook if b.status == "active"] == ["DECLINE when score >= 7"]
