"""Promises of SECURITY.md and docs/compose.md, each tested without the others beside it."""

from typing import Any

from starlette.testclient import TestClient

from acegraph.graph import create_ace_graph
from acegraph.graph.server.app import create_service
from acegraph.graph.server.service import ServiceSettings
from acegraph.nodes.curator.screening import Objection, Proposal, Screening
from acegraph.state import AceContext, BulletPlaybook
from acegraph.state.maintenance.people.users import add_user
from acegraph.state.values.cases import Case, CaseTable
from acegraph.state.values.condition import parse_condition
from acegraph.state.values.plain import clean_text
from acegraph.state.values.transaction import Transaction

PAID_BY_ANNA = Transaction.of({"amount": 40, "hour": 3, "merchant_name": "Lucky Star Trading Ltd"})


def screened(proposal: Proposal) -> Objection:
    found = Screening()(proposal)
    assert found is not None
    return found


def test_a_name_from_the_transaction_is_the_reason_to_refuse_a_bullet() -> None:
    said = "Decline purchases above 500 at night on a new device at Lucky Star Trading Ltd"
    assert Screening()(Proposal(said.removesuffix(" at Lucky Star Trading Ltd"))) is None
    refused = screened(Proposal(said, transaction=PAID_BY_ANNA, label="DECLINE"))
    assert (refused.held, "merchant_name" in refused.reason) == (False, True)
    assert "Lucky" not in refused.reason


def test_what_one_customer_alone_bears_out_is_held() -> None:
    def nights(customers: int) -> CaseTable:
        return CaseTable(
            Case(
                f"h{i}",
                {"hour": i % 24, "customer_id": f"C-{i % customers if i % 24 < 6 else i}"},
                "DECLINE" if i % 24 < 6 else "APPROVE",
            )
            for i in range(96)
        )

    rule = "DECLINE when hour < 6"
    held = screened(Proposal(rule, parse_condition(rule), nights(1)))
    assert held == Objection("borne out by 1 distinct customer_id; 3 wanted", held=True)
    assert Screening()(Proposal(rule, parse_condition(rule), nights(6))) is None


def test_a_sentence_with_another_number_than_its_condition_is_refused() -> None:
    rule = parse_condition("DECLINE when amount >= 9")
    refused = screened(Proposal("DECLINE when amount >= 900", rule))
    assert (refused.held, "different things" in refused.reason) == (False, True)


def test_characters_that_hide_or_reorder_text_are_taken_out() -> None:
    hiding = "\u200b\u200e\u202a\u202e\u2066\u2069\ufeff\U000e0041\ufe0f"
    assert clean_text(f"pay{hiding}s $5") == "pays $5"
    assert Transaction.of(f"pay{hiding}s $5").text == "pays $5"


def test_a_right_token_lets_in_no_other_secret_of_its_user() -> None:
    with BulletPlaybook() as playbook:
        secret = add_user(playbook.database, "ann", "viewer")
        with TestClient(create_service(ServiceSettings(), playbook)) as client:
            for given, status in ((secret, 200), (secret[:-1], 401), (secret, 200), ("x", 401)):
                header = {"Authorization": f"Bearer ann.{given}"}
                assert client.get("/playbook", headers=header).status_code == status


def test_an_agent_is_not_told_the_right_answer() -> None:
    told: list[dict[str, Any]] = []

    def agent(given: dict[str, Any]) -> str:
        told.append(given)
        return "APPROVE"

    graph = create_ace_graph(agent=agent, context=AceContext(learn=False)).compile()
    for truth in ("DECLINE", "APPROVE", None):
        graph.invoke({"transaction": {"amount": 20, "hour": 3}, "ground_truth": truth})
    assert told[0] == told[1] == told[2]
