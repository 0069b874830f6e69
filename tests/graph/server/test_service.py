"""The service: its routes, its users, what it refuses, and what it says of itself."""

import asyncio
import gc
import re
import resource
import runpy
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import httpx
import psycopg
import pytest
import sqlalchemy as sa
from hidden import hiding
from pages import table
from postgres import Server
from project_paths import ROOT
from starlette.testclient import TestClient

from acegraph.graph.operations.decide import Answer
from acegraph.graph.server.app import create_service
from acegraph.graph.server.routes import ENDPOINTS
from acegraph.graph.server.service import Batcher, ServiceSettings
from acegraph.state import AceInput, AceOutput, BulletPlaybook, Field, Label, Task, verify
from acegraph.state.database import tables
from acegraph.state.maintenance.people.users import ROLES, User, add_user

PAYMENT = {"amount": 2500, "hour": 3, "vpn": True, "account_age_days": 2}
TOKENS: dict[str, str] = {}


@pytest.fixture(scope="module")
def playbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BulletPlaybook]:
    with BulletPlaybook(f"sqlite:///{tmp_path_factory.mktemp('service')}/ace.db") as book:
        book.add_bullet("DECLINE when amount >= 900", "fraud_detection")
        for role in ROLES:
            TOKENS[role] = f"{role}.{add_user(book.database, role, role)}"
        yield book


@pytest.fixture(scope="module")
def client(playbook: BulletPlaybook) -> Iterator[TestClient]:
    with TestClient(create_service(ServiceSettings(), playbook)) as some:
        yield some


def as_role(role: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[role]}"}


def sent(client: TestClient, path: str, body: Any, role: str = "feed") -> httpx.Response:
    return client.post(path, json=body, headers=as_role(role))


def metric(client: TestClient, line: str) -> float:
    text = client.get("/metrics", headers=as_role("viewer")).text
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_a_decision_sent_again_gives_the_same_answer_and_counts_once(
    client: TestClient, playbook: BulletPlaybook
) -> None:
    given = {"transaction": PAYMENT, "decision_id": "once-1"}
    first, again = sent(client, "/decisions", given), sent(client, "/decisions", given)
    assert first.json()["decision"] == again.json()["decision"] == "DECLINE"
    assert first.json()["reasons"] == again.json()["reasons"]
    assert playbook.get_bullet("b1").times_selected == 0  # nobody reads it
    playbook.label("once-1", Label("DECLINE", "test"))
    assert playbook.get_bullet("b1").helpful_count == 1
    stored = client.get("/decisions/once-1?replay=1", headers=as_role("viewer")).json()
    assert stored["bullets"] == ["b1"]
    assert stored["replay"]["is_reproduced"]
    assert stored["replay"]["funnel"]["semantic"] == 1


def test_of_many_each_is_answered_and_a_refused_one_stops_no_other(client: TestClient) -> None:
    given = [
        {"transaction": PAYMENT, "decision_id": "many-1"},
        {"transaction": {**PAYMENT, "amount": 1}, "decision_id": "many-1"},
        {"transaction": PAYMENT, "decision_id": "many-2"},
    ]
    one, conflict, other = sent(client, "/decisions", given).json()["answers"]
    assert (one["decision"], other["decision"]) == ("DECLINE", "DECLINE")
    assert conflict["error"]["status"] == 409
    alone = sent(client, "/decisions", given[1])
    assert alone.status_code == 409


def test_a_label_needs_an_id_and_a_word(client: TestClient, playbook: BulletPlaybook) -> None:
    sent(client, "/decisions", {"transaction": PAYMENT, "decision_id": "label-1"})
    before = playbook.get_bullet("b1").helpful_count
    for _ in range(2):
        report = sent(client, "/labels", {"decision_id": "label-1", "label": "fraud"}).json()
    assert report["changed"] == 0
    assert playbook.get_bullet("b1").helpful_count == before + 1
    unknown = sent(client, "/labels", [{"decision_id": "nobody", "label": "fraud"}]).json()
    assert unknown["unknown"] == ["nobody"]
    for source in ("judge", "analyst:ann", "Analyst:ann"):
        body = {"decision_id": "label-1", "label": "legit", "source": source}
        assert sent(client, "/labels", body).status_code == 422


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"[1]", 422),
        (b'{"transaction": {"amount": NaN}}', 422),
        (b'{"transaction": {"amount": 1, "amount": 2}}', 422),
        (b'{"transaction": {"amount": 1}, "mode": "vanilla"}', 422),
        (b'{"transaction": {}}', 422),
        (b"[" * 100_000, 422),
    ],
)
def test_what_cannot_be_used_is_refused(client: TestClient, body: bytes, status: int) -> None:
    gc.collect()  # garbage of other tests must not be collected deep inside of brackets
    kind = {"Content-Type": "application/json"}
    response = client.post("/decisions", content=body, headers=as_role("feed") | kind)
    assert response.status_code == status
    assert response.json()["error"]["message"]


def test_every_path_asks_for_its_role(client: TestClient) -> None:
    for endpoint in ENDPOINTS:
        path = endpoint.path.format(id="b1")
        body = {"json": next(iter(endpoint.given.values()))} if endpoint.given else {}
        call = getattr(client, endpoint.method.lower())
        nobody = call(path, **body).status_code
        if endpoint.role is None:
            assert nobody == 200
            continue
        assert nobody == 401
        forged = {"Authorization": f"Bearer administrator.{'x' * 43}"}
        assert call(path, **body, headers=forged).status_code == 401
        others = [role for role in ROLES if not User(role, role).may(endpoint.role)]
        assert ("feed" in others) == (endpoint.role != "feed")
        for role in others:
            assert call(path, **body, headers=as_role(role)).status_code == 403


def test_whether_a_bullet_may_act_is_for_an_approver(
    client: TestClient, playbook: BulletPlaybook
) -> None:
    origin = {"author": "analyst:approver"}
    mine = playbook.add_bullet("APPROVE when hour < 1", "n", status="candidate", origin=origin)
    other = playbook.add_bullet("DECLINE when hour < 2", "n", status="candidate")
    yes = {"approve": True, "why": "checked"}
    assert sent(client, f"/review/{other}", yes, "analyst").status_code == 403
    assert sent(client, f"/review/{mine}", yes, "approver").status_code == 422  # four eyes
    assert sent(client, f"/review/{other}", {**yes, "who": "bob"}, "approver").status_code == 422
    assert sent(client, f"/review/{other}", yes, "approver").json()["status"] == "active"
    by_hand = {"status": "active", "reason": "past the question"}
    assert sent(client, f"/playbook/{mine}", by_hand, "approver").status_code == 422
    retired = {"status": "retired", "reason": "too broad"}
    assert sent(client, f"/playbook/{other}", retired, "approver").json()["status"] == "retired"
    history = client.get(f"/playbook/{other}", headers=as_role("viewer")).json()["history"]
    assert history[-1]["source"] == "analyst:approver"


def test_metrics_count_what_the_ledger_holds(client: TestClient, playbook: BulletPlaybook) -> None:
    given = [
        {"transaction": {"amount": 5, "hour": 14}, "decision_id": "good-1"},
        {"transaction": PAYMENT, "decision_id": "bad-1"},
    ]
    sent(client, "/decisions", given)
    sent(client, "/labels", {"decision_id": "bad-1", "label": "fraud"})
    with playbook.database.reading() as connection:
        by_verdict = "SELECT decision, count(*) FROM decisions GROUP BY decision"
        rows = connection.exec_driver_sql(by_verdict).all()
        both = 'SELECT count(*) FROM decisions WHERE "case" NOT IN (SELECT "case" FROM outcomes)'
        missing = connection.exec_driver_sql(both).scalar_one()
    assert len(rows) == 2
    for verdict, count in rows:
        assert metric(client, f'acegraph_decisions{{verdict="{verdict}"}}') == count
    assert metric(client, "acegraph_labels_missing") == missing > 0
    assert metric(client, 'acegraph_bullets{status="active"}') == len(
        [b for b in playbook if b.status == "active"]
    )


def test_the_examples_of_the_description_work(client: TestClient) -> None:
    described = client.get("/openapi.json", headers=as_role("viewer")).json()
    assert "amount" in described["components"]["schemas"]["Case"]["properties"]
    assert {(path, method) for path, some in described["paths"].items() for method in some} == {
        (endpoint.path, endpoint.method.lower()) for endpoint in ENDPOINTS
    }
    for path in ("/decisions", "/labels"):
        body = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        assert sent(client, path, body["example"]).status_code == 200
    summaries = [one["summary"] for some in described["paths"].values() for one in some.values()]
    assert all(summaries)


def test_what_the_settings_redact_is_not_stored(playbook: BulletPlaybook) -> None:
    settings = ServiceSettings(without_users=True)
    hiding(["who"], playbook)
    with TestClient(create_service(settings, playbook), base_url="http://127.0.0.1") as client:
        given = {"transaction": {"amount": 20, "who": "Ann"}, "decision_id": "of Ann"}
        assert client.post("/decisions", json=given).status_code == 200
    assert playbook.decision("of Ann")["text"] == "amount: 20"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://127.0.0.1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_without_users_a_page_of_another_site_does_nothing(
    playbook: BulletPlaybook, headers: dict[str, str], status: int
) -> None:
    app = create_service(ServiceSettings(without_users=True), playbook)
    body = b'{"transaction": {"amount": 5, "hour": 14}}'
    with TestClient(app, base_url="http://127.0.0.1") as client:
        sent = {"Content-Type": "application/json", **headers}
        assert client.post("/decisions", content=body, headers=sent).status_code == status
        read = client.get("/playbook", headers=headers)
        assert read.status_code == (403 if "Host" in headers else 200)


@pytest.mark.parametrize("way", ["service", "graph", "reviewed"])
def test_the_server_of_langgraph_stores_no_hidden_field(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACE_PLAYBOOK_URL", f"sqlite:///{tmp_path / 'ace.db'}")
    with BulletPlaybook(tmp_path / "ace.db") as book:
        hiding(["who", "card"], book)
    server = runpy.run_module("acegraph.graph.studio")
    given = {"transaction": {"amount": 20, "who": "Ann", "card": "C-1"}, "decision_id": "d1"}
    with BulletPlaybook(tmp_path / "ace.db") as book:
        if way == "service":
            token = f"ann.{add_user(book.database, 'ann', 'feed')}"
            headers = {"Authorization": f"Bearer {token}"}
            answer = TestClient(server["app"]).post("/decisions", json=given, headers=headers)
            assert answer.status_code == 200
        else:
            server[way].invoke(given)
        stored = book.decision("d1")["text"]
    assert stored == "amount: 20"


def test_when_too_many_wait_the_next_is_refused(playbook: BulletPlaybook) -> None:
    """A writer holds the ledger, so that what comes has to wait."""
    settings = ServiceSettings(most_waiting=3)
    with TestClient(create_service(settings, playbook)) as client:
        sent(client, "/decisions", {"transaction": PAYMENT, "decision_id": "wait-0"})
        answers: list[httpx.Response] = []

        def send(number: int) -> None:
            body = [{"transaction": PAYMENT, "decision_id": f"wait-{number}-{i}"} for i in range(2)]
            answers.append(sent(client, "/decisions", body))

        with BulletPlaybook(playbook.url) as other, other.writing():
            threads = [threading.Thread(target=send, args=[n]) for n in range(4)]
            for thread in threads:
                thread.start()
            while not answers:  # the refused ones come back while the others wait
                pass
        for thread in threads:
            thread.join()
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert all(int(answer.headers["Retry-After"]) >= 1 for answer in refused)
        assert 200 in [answer.status_code for answer in answers]


def test_ready_is_red_for_each_fault_of_postgresql_and_green_after(postgres: Server) -> None:
    url = postgres.url()
    with BulletPlaybook(url) as book, service_at(url) as client:

        def run(statement: str) -> None:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"BEGIN READ WRITE; {statement}; COMMIT")

        def set_schema(version: int) -> None:
            run(f"UPDATE ace_meta SET value = '{version}' WHERE key = 'schema'")

        def set_read_only(answer: str) -> None:
            run(f"ALTER ROLE CURRENT_USER SET default_transaction_read_only = {answer}")
            run(_END_OTHERS)  # who is connected already keeps the setting of before

        for spoil, repair in (
            (partial(set_schema, 99), partial(set_schema, book.database.schema_version)),
            (partial(run, "ALTER TABLE clock RENAME TO away"),
             partial(run, "ALTER TABLE away RENAME TO clock")),
            (partial(set_read_only, "on"), partial(set_read_only, "off")),
            (postgres.stop_at_once, postgres.start_again),
        ):  # fmt: skip
            check_red_then_green(client, spoil, repair)
        assert not verify(book)


_END_OTHERS = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND usename = current_user"""


def service_at(url: str) -> TestClient:
    return TestClient(create_service(ServiceSettings(url=url)))


def check_red_then_green(
    client: TestClient, spoil: Callable[[], object], repair: Callable[[], object]
) -> None:
    assert client.get("/ready").status_code == 200
    spoil()
    try:
        red = client.get("/ready")
        assert (red.status_code, red.json()["status"]) == (503, "not ready")
        assert client.get("/live").status_code == 200
    finally:
        repair()
    assert client.get("/ready").status_code == 200


def test_ready_is_red_for_each_fault_of_a_file_and_green_after(tmp_path: Path) -> None:
    file, away = tmp_path / "ace.db", tmp_path / "away.db"
    with service_at(f"sqlite:///{file}") as client:
        check_red_then_green(client, lambda: file.rename(away), lambda: away.rename(file))
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        full = file.stat().st_size  # no file may grow beyond this: the disk is full
        check_red_then_green(
            client,
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (min(full, 4096), usual[1])),
            lambda: resource.setrlimit(resource.RLIMIT_FSIZE, usual),
        )
    with service_at(f"sqlite:///{tmp_path}/no/folder/ace.db") as client:
        assert client.get("/ready").status_code == 503


@pytest.mark.parametrize("is_replaced", [False, True])
def test_nothing_is_answered_from_a_file_that_was_removed_or_replaced(
    tmp_path: Path, is_replaced: bool
) -> None:
    file, older, url = tmp_path / "ace.db", tmp_path / "older.db", f"sqlite:///{tmp_path}/ace.db"
    BulletPlaybook(url).close()
    shutil.copy(file, older)
    service = create_service(ServiceSettings(url, without_users=True))
    with TestClient(service, base_url="http://127.0.0.1") as client:
        payment = {"transaction": PAYMENT, "decision_id": "d1"}
        assert client.post("/decisions", json=payment).status_code == 200
        if is_replaced:
            older.replace(file)
        else:
            file.unlink()
        label = {"decision_id": "d1", "label": "DECLINE"}
        answers = [
            client.post("/decisions", json=payment),
            client.post("/decisions", json={**payment, "decision_id": "d2"}),
            client.post("/labels", json=label),
            *(client.get(path) for path in ("/ready", "/metrics", "/decisions/d1", "/playbook")),
        ]
        assert [answer.status_code for answer in answers] == [503] * len(answers)
        assert client.get("/live").status_code == 200


def test_ready_is_red_for_a_file_of_another_schema(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ace.db"
    with BulletPlaybook(url) as book, service_at(url) as client:

        def set_schema(version: str) -> None:
            with book.database.writing() as writer:
                change = "UPDATE ace_meta SET value = :v WHERE key = 'schema'"
                writer.connection.execute(sa.text(change), {"v": version})

        now = str(book.database.schema_version)
        check_red_then_green(client, lambda: set_schema("99"), lambda: set_schema(now))


def test_ready_is_red_where_nothing_can_be_written(playbook: BulletPlaybook) -> None:
    with TestClient(create_service(ServiceSettings(), playbook)) as client:
        driver = playbook.database._driver  # type: ignore[attr-defined]
        check_red_then_green(
            client,
            lambda: driver.execute("PRAGMA query_only = 1"),
            lambda: driver.execute("PRAGMA query_only = 0"),
        )


def test_every_metric_is_documented_with_its_kind(client: TestClient) -> None:
    text = client.get("/metrics", headers=as_role("viewer")).text
    given = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    page = (ROOT / "docs" / "service.md").read_text()
    listed = {name.strip("`"): kind for name, kind, *_ in table(page, "metric")}
    assert listed == given


def test_no_secret_is_stored(playbook: BulletPlaybook) -> None:
    with playbook.database.reading() as connection:
        rows = [str(row) for row in connection.execute(sa.select(tables.users))]
        rows += connection.execute(sa.select(tables.meta.c.value)).scalars().all()
    assert len(rows) > len(ROLES)
    for token in TOKENS.values():
        assert not any(token.partition(".")[2] in row for row in rows)


def test_a_request_that_fails_does_not_fail_those_beside_it() -> None:
    seen: list[str] = []

    async def decide(given: Sequence[AceInput]) -> list[Answer]:
        seen.extend(str(one["decision_id"]) for one in given)
        if any(one["transaction"] == "bad" for one in given):
            raise RuntimeError("a fault")
        return [cast(AceOutput, {"decision_id": one["decision_id"]}) for one in given]

    async def send() -> list[Any]:
        batcher = Batcher(decide, 100)
        given: list[list[AceInput]] = [[{"transaction": text}] for text in ("a", "bad", "b")]
        return await asyncio.gather(*map(batcher.decide, given), return_exceptions=True)

    first, bad, last = asyncio.run(send())
    assert isinstance(bad, RuntimeError)
    # The second time they have the ids of the first: nothing is counted twice.
    assert [seen.count(answer[0]["decision_id"]) for answer in (first, last)] == [2, 2]


def test_an_undecided_item_under_a_used_id_does_not_stop_the_others(client: TestClient) -> None:
    sent(client, "/decisions", {"transaction": PAYMENT, "decision_id": "used-1"})
    items = [
        {"transaction": {"nonsense": "x"}, "decision_id": "used-2"},
        {"transaction": PAYMENT, "decision_id": "used-2"},
        {"transaction": PAYMENT, "decision_id": "used-3"},
        {"transaction": {"nonsense": "x"}, "decision_id": "used-3"},
    ]
    answers = sent(client, "/decisions", items).json()["answers"]
    assert [one.get("decision") or one["error"]["status"] for one in answers][2] == "DECLINE"
    assert all("error" not in one or one["error"]["status"] == 409 for one in answers)
    assert sum("error" in one for one in answers) == 2


def test_the_task_is_a_schema_and_a_key_that_it_refuses_is_named_with_all_other_faults() -> None:
    fields = (Field("claim_value", "number", usual=True, least=0), Field("report", "flag"))
    task = Task("claims", fields, answers=("SETTLE", "INVESTIGATE"), unknown="refuse")
    book = BulletPlaybook(task=task)
    settings = ServiceSettings(without_users=True)
    with TestClient(create_service(settings, book), base_url="http://localhost") as asked:
        schema = asked.get("/task").json()
        assert schema["properties"]["claim_value"]["x-kind"] == "number"
        assert schema["additionalProperties"] is False
        refused = asked.post("/decisions", json={"transaction": {"shoes": 4, "claim_value": -1}})
        assert refused.status_code == 422
        assert refused.json()["error"]["faults"] == [
            {"field": "shoes", "why": "unknown", "wanted": "one of claim_value, report"},
            {"field": "claim_value", "why": "range", "wanted": "a number of at least 0"},
        ]
        open_ones = [{"claim_value": -1, "report": True}, {"report": "perhaps"}, {"claim_value": 4}]
        for case in open_ones:  # missing, out of range and another word are recorded
            assert asked.post("/decisions", json={"transaction": case}).status_code == 200
        asked.post("/decisions", json={"transaction": {"claim_value": 5}, "decision_id": "d"})
        label = {"decision_id": "d", "label": "Investigate"}
        assert asked.post("/labels", json=label).status_code == 200
    assert book.decision("d")["label"] == "DECLINE"
