"""What every request passes: sites, kinds and sizes of bodies, headers, counts."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from acegraph.graph.desk import mounts
from acegraph.graph.operations.decide import Answer
from acegraph.graph.server.app import create_service
from acegraph.graph.server.door import HEADERS, Door
from acegraph.graph.server.endpoints import MOST_ITEMS
from acegraph.graph.server.routes import ENDPOINTS
from acegraph.graph.server.service import Batcher, ServiceSettings
from acegraph.state import AceInput, BulletPlaybook
from acegraph.state.maintenance.people.users import add_user

PLACE = "http://127.0.0.1"
PATHS = [
    *(endpoint.path.format(id="b1") for endpoint in ENDPOINTS),
    *("/openapi.json", "/nothing", "/desk", "/desk/", "/desk/login", "/desk/nothing"),
    *("/desk/static/desk.css", "/desk/static/nothing"),
]
"""Every kind of path that a service has, and some that it has not."""
FOREIGN = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": f"{PLACE}.evil.example"},
    {"Origin": f"{PLACE}:81"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.fixture(params=[True, False], ids=["without users", "with users"])
def client(request: pytest.FixtureRequest) -> TestClient:
    book = BulletPlaybook()
    book.add_bullet("DECLINE when amount >= 900", "fraud_detection")
    token = f"ann.{add_user(book.database, 'ann', 'administrator')}"
    settings = ServiceSettings(without_users=request.param)
    found = TestClient(create_service(settings, book, mounts=mounts), base_url=PLACE)
    if not request.param:
        found.headers["Authorization"] = f"Bearer {token}"
    return found


def test_a_page_of_another_site_reaches_nothing(client: TestClient) -> None:
    for path in PATHS:
        for headers in FOREIGN:
            kinds = ("application/json", "text/plain", "application/x-www-form-urlencoded")
            for kind in kinds:
                sent = {**headers, "Content-Type": kind}
                answer = client.post(path, content=b'{"status": "retired"}', headers=sent)
                assert answer.status_code == 403, (path, sent)


def test_only_the_kind_that_a_path_takes_is_read(client: TestClient) -> None:
    for path in PATHS:
        is_form = path.startswith("/desk/")
        kinds = {"text/plain": False, "": False, "application/json": not is_form}
        for kind, is_right in {**kinds, "application/x-www-form-urlencoded": is_form}.items():
            sent = {"Content-Type": kind} if kind else {}
            answer = client.post(path, content=b"{}", headers=sent, follow_redirects=False)
            assert (answer.status_code != 415) == is_right, (path, kind)


def test_every_answer_protects_browsers(client: TestClient) -> None:
    for path in PATHS:
        for method in ("GET", "POST", "DELETE"):
            answer = client.request(method, path, follow_redirects=False)
            assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, (path, method)


def test_where_nobody_is_asked_only_this_machines_names_lead_here() -> None:
    app = create_service(ServiceSettings(without_users=True), BulletPlaybook(), mounts=mounts)
    client = TestClient(app, base_url=PLACE)
    for path in PATHS:
        for host in ("evil.example", "127.0.0.1.evil.example", "[", ""):
            assert client.get(path, headers={"Host": host}).status_code == 403
        for host in ("localhost:8000", "[::1]", "127.0.0.1"):
            assert client.get(path, headers={"Host": host}).status_code != 403


def test_a_body_that_is_too_long_is_refused(client: TestClient) -> None:
    long = b'{"transaction": "' + b"x" * 4_000_000 + b'"}'
    kind = {"Content-Type": "application/json"}
    for path in ("/decisions", "/labels", "/playbook/b1", "/review/b1"):
        answer = client.post(path, content=long, headers=kind)
        assert (answer.status_code, "4,000,000" in answer.text) == (413, True)
    form = client.post("/desk/login", data={"token": "x" * 100_000})
    assert form.status_code == 413


def test_more_items_than_one_request_may_have_are_refused_before_they_are_made(
    client: TestClient,
) -> None:
    kind = {"Content-Type": "application/json"}
    for path in ("/decisions", "/labels"):
        # What comes after the last item that is taken is not even JSON.
        many = b"[" + b"{}," * (MOST_ITEMS + 1) + b"no JSON"
        answer = client.post(path, content=many, headers=kind)
        assert (answer.status_code, "1,000 items" in answer.text) == (422, True)


@pytest.mark.parametrize(
    "body", ["[] []", "[{}", "[{},]", "[,]", "[{} {}]", "{} {}", "[", "1", '"']
)
def test_what_is_no_json_is_refused(client: TestClient, body: str) -> None:
    kind = {"Content-Type": "application/json"}
    assert client.post("/decisions", content=body.encode(), headers=kind).status_code == 422


@pytest.mark.parametrize("body", ["[]", " [ ] ", "\n[{}\t,\r{} ]\n"])
def test_blanks_between_the_items_mean_nothing(client: TestClient, body: str) -> None:
    kind = {"Content-Type": "application/json"}
    answer = client.post("/labels", content=body.encode(), headers=kind)
    assert [one["item"] for one in answer.json()["refused"]] == list(range(body.count("{")))


def test_every_answer_is_counted_and_so_is_a_fault() -> None:
    async def fail(request: Request) -> Response:
        raise RuntimeError("a fault")

    app = create_service(
        ServiceSettings(without_users=True), BulletPlaybook(), (), lambda _: [Route("/fail", fail)]
    )
    client = TestClient(app, base_url=PLACE, raise_server_exceptions=False)
    failed = client.get("/fail")
    assert (failed.status_code, failed.json()["error"]["status"]) == (500, 500)
    assert failed.headers["X-Content-Type-Options"] == "nosniff"
    client.get("/nothing")
    client.get("/playbook/b99")
    counted = re.findall(
        r'request_seconds_count{path="(.*?)",status="(\d+)".*?} (\S+)', client.get("/metrics").text
    )
    assert set(counted) == {
        ("other", "500", "1.0"), ("other", "404", "1.0"), ("/playbook/{id}", "404", "1.0"),
    }  # fmt: skip


async def test_bodies_that_are_too_much_together_are_refused() -> None:
    """Four bodies have come almost; the fifth one is refused, until one of them is answered."""
    statuses: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    def come(waiting: asyncio.Event) -> Any:
        parts = iter([b"x" * 3_900_000, b"x"])

        async def receive() -> Any:
            part = next(parts)
            if part == b"x":
                await waiting.wait()
            return {"type": "http.request", "body": part, "more_body": part != b"x"}

        return receive

    headers = [(b"content-type", b"application/json"), (b"content-length", b"3900001")]
    scope = {"type": "http", "method": "POST", "path": "/decisions", "headers": headers}
    door = Door(app, is_open=False, note=lambda path, status, seconds: None)
    end = asyncio.Event()
    first = [asyncio.ensure_future(door(scope, come(end), send)) for _ in range(4)]
    await asyncio.sleep(0)
    await door(scope, come(end), send)
    assert statuses == [429]
    end.set()
    await asyncio.gather(*first)
    await door(scope, come(end), send)
    assert statuses == [429]


async def test_nobody_decides_for_a_client_that_is_gone() -> None:
    began, go_on, decided = asyncio.Event(), asyncio.Event(), list[str]()

    async def decide(given: Sequence[AceInput]) -> list[Answer]:
        decided.extend(str(one["decision_id"]) for one in given)
        began.set()
        await go_on.wait()
        return [{"decision_id": one["decision_id"]} for one in given]  # type: ignore[typeddict-item]

    batcher = Batcher(decide, 100)
    asked = [
        asyncio.ensure_future(batcher.decide([{"transaction": "x", "decision_id": name}]))
        for name in ("first", "gone")
    ]
    await began.wait()
    later = asyncio.ensure_future(batcher.decide([{"transaction": "x", "decision_id": "left"}]))
    stays = asyncio.ensure_future(batcher.decide([{"transaction": "x", "decision_id": "stays"}]))
    await asyncio.sleep(0)
    later.cancel()
    go_on.set()
    await asyncio.gather(*asked, stays)
    assert decided[-1] == "stays"
    assert "left" not in decided
    assert batcher.waiting == 0


def test_a_text_that_nobody_can_encode_is_answered_as_it_came(client: TestClient) -> None:
    body = json.dumps({"decision_id": "\ud800", "label": "fraud"}).encode()
    answer = client.post("/labels", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code < 500
