"""The gate at activation: what a heuristic must be before it may act."""

import pytest

from acegraph.nodes import Curator
from acegraph.nodes.curator.screening import Proposal, Screening
from acegraph.state import BulletPlaybook, Case, Field, Task, Transaction, parse_condition
from acegraph.state.values.cases import CaseTable

NODE = "fraud_detection"
ANNA = Transaction.of(
    {
        "amount": 930.0,
        "customer_id": "C-778",
        "merchant_name": "Lucky Star Trading",
        "merchant_category": "gift_cards",
        "card": 4111111111111111,
        "memo": "second rate for the blue bicycle",
    }
)
screen = Screening()


def reason(content: str, **known: object) -> str:
    found = screen(Proposal(content, parse_condition(content), **known))  # type: ignore[arg-type]
    return found.reason if found else ""


def history(customers: int, n: int = 60) -> CaseTable:
    """Honest gift cards, all by so many customers, and fraud by everybody."""
    return CaseTable(
        Case(
            f"h{i}",
            {"merchant_category": "gift_cards", "customer_id": f"C-{i // 2 % customers}"}
            if i % 2
            else {"merchant_category": "jewelry", "customer_id": f"D-{i}"},
            "APPROVE" if i % 2 else "DECLINE",
        )
        for i in range(n)
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("x" * 401, "characters"),
        ("Decline card 4111-1111-1111-1111 at night", "a card number"),
        ("Decline transfers to DE89 3704 0044 0532 0130 00 at night", "an IBAN"),
        ("Decline orders of anna@bank.example at night", "an e-mail address"),
        ("Decline logins from 203.0.113.77 at night", "an IP address"),
        ("Decline orders confirmed by +49 170 1234567 at night", "a phone number"),
        ("Decline account 123456789012 at night", "a long row of digits"),
        ("Decline device 9f8e7d6c5b4a39281706 at night", "an identifier"),
    ],
)
def test_what_names_somebody_may_not_act(content: str, why: str) -> None:
    assert why in reason(content)


@pytest.mark.parametrize(
    "content",
    [
        "Decline LUCKY  STAR TRADING purchases at night",
        "Decline Lúcky Stаr Trading purchases at night",  # an accent, a Cyrillic letter
        "Decline Ｌｕｃｋｙ Ｓｔａｒ Trading purchases at night",
        "Decline lucky​star trading purchases at night",  # a zero-width space
        "Decline customer C-778 at night",
        "Decline customer c 778 on a new device at night",
        "Decline a second rate for the blue bicycle at night",
        'DECLINE when merchant_name is "Lucky Star Trading"',
        'DECLINE when merchant_category is "gift_cards" and customer_id is "C-778"',
        'DECLINE when memo is "second rate for the blue bicycle"',
    ],
)
def test_a_bullet_says_nothing_that_tells_who_it_came_from(content: str) -> None:
    assert reason(content, transaction=ANNA, label="DECLINE")


def test_the_kind_of_merchant_is_no_identifier() -> None:
    table = history(30)
    said = 'DECLINE when merchant_category is "gift_cards"'
    assert "distinct" in reason(said, transaction=ANNA, label="DECLINE", table=table)  # honest, all
    assert not reason('DECLINE when merchant_category is "jewelry"', table=table)


def test_a_condition_is_over_fields_that_exist() -> None:
    assert "no known transaction" in reason("DECLINE when moon_phase >= 3", transaction=ANNA)
    assert not reason("DECLINE when moon_phase >= 3")  # nothing is known of any transaction


@pytest.mark.parametrize(("customers", "passes"), [(1, False), (4, False), (5, True), (30, True)])
def test_a_rule_that_lowers_risk_needs_several_customers(customers: int, passes: bool) -> None:
    said = 'APPROVE when merchant_category is "gift_cards"'
    assert (reason(said, table=history(customers)) == "") == passes


def test_one_customers_share_of_the_support_is_capped() -> None:
    cases = [
        Case(f"h{i}", {"hour": 3, "customer_id": "C-1" if i < 30 else f"C-{i}"}, "DECLINE")
        for i in range(50)
    ]
    assert "60% of its support is one customer_id" in reason(
        "DECLINE when hour < 6", table=CaseTable(cases)
    )
    assert not reason("DECLINE when hour < 6", table=CaseTable(cases[10:]))


def test_what_lowers_risk_is_tested_more_strictly_than_what_raises_it() -> None:
    table = history(4)
    raised = CaseTable(
        Case(c.id, c.fields, "DECLINE" if c.label == "APPROVE" else "APPROVE") for c in table
    )
    assert not reason('DECLINE when merchant_category is "gift_cards"', table=raised)
    assert reason('APPROVE when merchant_category is "gift_cards"', table=table)


def test_a_bullet_does_not_argue_against_its_own_label() -> None:
    assert "against the label" in reason("APPROVE when amount >= 500", label="DECLINE")


def test_a_merchants_own_system_learns_although_it_sees_one_merchant() -> None:
    cases = [
        Case(f"h{i}", {"hour": i % 24, "merchant_id": "M1", "customer_id": f"C-{i}"}, "DECLINE")
        for i in range(48)
    ]
    assert not reason("DECLINE when hour < 6", table=CaseTable(cases))


def test_a_text_and_its_condition_say_the_same() -> None:
    condition = parse_condition("APPROVE when amount >= 0")
    found = screen(Proposal("DECLINE when amount >= 900", condition))
    assert found is not None
    assert "different things" in found.reason


def test_what_is_held_back_is_a_candidate_and_acts_when_it_is_borne_out_later() -> None:
    playbook = BulletPlaybook()
    said = 'APPROVE when merchant_category is "gift_cards"'
    playbook.remember(history(4), NODE)
    first = Curator().curate(said, NODE, playbook)
    assert (first.action, playbook.get_bullet("b1").status) == ("held", "candidate")
    assert Curator().curate(said, NODE, playbook).action == "duplicate"
    more = [Case(f"m{c.id}", c.fields, c.label) for c in history(30, 240)]
    playbook.remember(more, NODE)
    again = Curator().curate(said, NODE, playbook)
    assert (again.action, again.bullet_id) == ("revived", "b1")
    bullet = playbook.get_bullet("b1")
    assert (bullet.status, bullet.proof) == ("active", "proven")
    assert bullet.evidence["fires"] > first.evidence["fires"]


def test_a_rule_over_a_protected_field_waits_for_a_person_however_well_it_is_borne_out() -> None:
    playbook, said = BulletPlaybook(), 'DECLINE when region is "north"'
    fields = (Field("region", "category", role="protected"), Field("amount", "number"))
    playbook.set_task(Task("loans", fields), NODE)
    for name in ("a", "b"):
        playbook.remember(
            [
                Case(f"{name}{i}", {"region": "north" if i % 2 else "south", "amount": i}, label)
                for i in range(200)
                for label in ("DECLINE" if i % 2 else "APPROVE",)
            ],
            NODE,
        )
        found = Curator().curate(said, NODE, playbook)
        assert found.action in ("held", "duplicate")
        assert playbook.get_bullet("b1").status == "candidate"
    assert "protected" in str(playbook.history()[0]["reason"])


def test_the_waiting_room_is_bounded_and_the_oldest_leave_it() -> None:
    playbook, curator = BulletPlaybook(), Curator(capacity=3)
    said = [
        f"Purchases of {kind} at night on a phone are always approved"
        for kind in ("fuel", "jewelry", "clothing", "crypto", "electronics")
    ]
    found = [curator.curate(text, NODE, playbook) for text in said]
    assert [curation.action for curation in found] == ["held"] * 5
    assert [curation.retired for curation in found[2:]] == [(), ("b1",), ("b2",)]
    assert [b.id for b in playbook if b.status == "candidate"] == ["b3", "b4", "b5"]


def test_no_reason_repeats_what_it_was_refused_for() -> None:
    for said in ("Decline Lucky Star Trading at night", "Decline customer C-778 at night"):
        assert not {"lucky", "c-778"} & set(reason(said, transaction=ANNA).lower().split())
