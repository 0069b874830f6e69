"""Tenants in one database: nothing of one is seen, counted or learned by another."""

import re
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from postgres import Server
from starlette.testclient import TestClient

from acegraph.graph import feedback
from acegraph.graph.operations.decide import decide_many
from acegraph.graph.server.app import create_service
from acegraph.graph.server.service import ServiceSettings
from acegraph.state import BulletPlaybook, InvalidSettings, verify
from acegraph.state.database import tables
from acegraph.state.database.places import tenant_url
from acegraph.state.errors import InvalidInput
from acegraph.state.maintenance.people.users import add_user

TENANTS = ("acme", "bank")
_TIMES = {"created_at", "decided_at", "known_at", "at", "hash", "settings"}
events = st.tuples(
    st.sampled_from(TENANTS),
    st.sampled_from(["decide", "label", "bullet"]),
    st.integers(0, 3),
    st.sampled_from(["APPROVE", "DECLINE"]),
)


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ace.db'}"
    server: Server = request.getfixturevalue("postgres")
    # The schema of a tenant has a longer name.
    return re.sub(r"t[0-9a-f]{32}$", lambda name: name[0][:20], server.url())


def apply(book: BulletPlaybook, kind: str, number: int, verdict: str) -> None:
    """The same ids for all: each tenant has its own `d0`."""
    if kind == "bullet":
        book.add_bullet(f"{verdict} when amount >= {number * 100}", "fraud_detection")
        return
    payment = {"amount": 100 * number + 50, "hour": 3, "vpn": True}
    decide_many(book, [{"transaction": payment, "decision_id": f"d{number}"}])
    if kind == "label":
        feedback(book, f"d{number}", verdict)


def contents(book: BulletPlaybook) -> dict[str, list[tuple[object, ...]]]:
    """Everything in the ledger and all bullets, but the times."""
    rows = {}
    with book.database.reading() as connection:
        for table in (*tables.LEDGER, tables.bullets, tables.clock):
            shown = [c for c in table.c if c.name not in _TIMES | {"seal", "lesson"}]
            rows[table.name] = sorted(map(tuple, connection.execute(sa.select(*shown))), key=repr)
    return rows


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(happens=st.lists(events, min_size=3, max_size=8), run=st.uuids())
def test_a_tenant_has_what_it_would_have_alone(
    shared_url: str, happens: list[tuple[str, str, int, str]], run: Any
) -> None:
    tag = run.hex[:6]
    books = {one: BulletPlaybook(tenant_url(shared_url, one + tag)) for one in TENANTS}
    alone = {one: BulletPlaybook() for one in TENANTS}
    for tenant, *event in happens:
        for book in (books[tenant], alone[tenant]):
            apply(book, *event)  # type: ignore[arg-type]
    for tenant, book in books.items():
        assert contents(book) == contents(alone[tenant])
        assert not verify(book)
        book.close()


@pytest.fixture
def client(shared_url: str) -> Iterator[TestClient]:
    with TestClient(create_service(ServiceSettings(shared_url))) as some:
        yield some


def test_users_of_the_service_see_their_tenant_only(client: TestClient, shared_url: str) -> None:
    with BulletPlaybook(shared_url) as book:
        tokens = {
            tenant: f"u{tenant}.{add_user(book.database, f'u{tenant}', 'analyst', tenant=tenant)}"
            for tenant in ("", *TENANTS)
        }

    def ask(tenant: str, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {tokens[tenant]}"}
        return client.request(method, path, json=body, headers=headers)

    payment = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}
    one = {"transaction": payment, "decision_id": "d1"}
    assert ask("acme", "POST", "/decisions", one).json()["decision"] == "DECLINE"
    for other in ("bank", ""):
        assert ask(other, "GET", "/decisions/d1").status_code == 404
        label = {"decision_id": "d1", "label": "APPROVE"}
        assert ask(other, "POST", "/labels", label).json()["unknown"] == ["d1"]
        assert "acegraph_decisions{" not in ask(other, "GET", "/metrics").text
    # The same id with another payment is no conflict for another tenant.
    other_payment = {**one, "transaction": {**payment, "amount": 3}}
    assert ask("bank", "POST", "/decisions", other_payment).status_code == 200
    assert ask("acme", "POST", "/decisions", other_payment).status_code == 409
    assert 'acegraph_decisions{verdict="DECLINE"} 1' in ask("acme", "GET", "/metrics").text


@pytest.mark.parametrize("name", ["A", "a_b", "../x", "a b", "ä", "x" * 31, 'a"; drop'])
def test_a_name_that_could_leave_its_place_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="name of a tenant"):
        tenant_url("sqlite:///ace.db", name)


@pytest.mark.parametrize("path", ["a,b", '"A"', "x" * 60])
def test_a_search_path_that_would_be_shared_is_refused(path: str) -> None:
    with pytest.raises(InvalidSettings, match="one schema"):
        BulletPlaybook(f"postgresql://localhost/x?options=-csearch_path%3D{path}&tenant=acme")
