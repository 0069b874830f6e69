"""Two users on the real dev server with langgraph.secure.json: each sees what is theirs."""

import runpy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import httpx
import pytest
from dev_server import client, running_dev_server
from langgraph_sdk import Auth
from langgraph_sdk.errors import APIStatusError

from acegraph.graph import create_ace_graph
from acegraph.graph.server.auth import own_runs
from acegraph.graph.server.guard import Guard
from acegraph.nodes import Curator
from acegraph.nodes.curator.approval import give_approval
from acegraph.state import AceContext, BulletPlaybook, InvalidSettings
from acegraph.state.maintenance.people.users import Role, add_user
from acegraph.state.run.review_answers import ApprovalAnswer
from acegraph.state.task.policy import Policy

RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"
ASKED = Policy(review_from=0, review_to=1)
SPOOF = {"who": "bob", "verdict": "APPROVE", "why": "in another's name"}


@dataclass(frozen=True)
class Place:
    address: str
    folder: Path
    playbook: str
    tokens: dict[str, str]
    ann: Any
    bob: Any
    anybody: httpx.Client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("secure")
    url = f"sqlite:///{folder / 'ace.db'}"
    roles: dict[str, Role] = {"ann": "analyst", "bob": "analyst", "eve": "viewer", "shop": "feed"}
    with BulletPlaybook(url) as book:
        book.set_policy(ASKED)
        tokens = {n: f"{n}.{add_user(book.database, n, role)}" for n, role in roles.items()}
    with (
        running_dev_server(folder, "langgraph.secure.json") as address,
        client(address, tokens["ann"]) as ann,
        client(address, tokens["bob"]) as bob,
        httpx.Client() as anybody,
    ):
        yield Place(address, folder, url, tokens, ann, bob, anybody)


def refused(call: Any, *args: Any, **kwargs: Any) -> int:
    """The status with which the server refuses a call; it must refuse."""
    with pytest.raises((APIStatusError, httpx.HTTPStatusError)) as found:
        call(*args, **kwargs)
    return int(found.value.response.status_code)


def paused(client: Any, decision_id: str) -> str:
    """A thread of this user on which a run waits for a verdict."""
    thread = client.threads.create()["thread_id"]
    given = {"transaction": RISKY, "decision_id": decision_id}
    client.runs.wait(thread, "ace_reviewed", input=given)
    return str(thread)


@pytest.fixture(scope="module")
def waiting(server: Place) -> str:
    """A thread of Ann's on which a run waits for a verdict that nobody gives."""
    return paused(server.ann, "order-8")


def question(client: Any, thread: str) -> Any:
    return client.threads.get_state(thread)["tasks"][0]["interrupts"][0]["value"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer ann"},
        {"authorization": "ANN"},
        {"authorization": "Basic ANN"},
        {"authorization": "Bearer ANNx"},
        {"authorization": "Bearer EVE"},  # a viewer, who may not decide
        {"authorization": "Bearer ﬀ"},
        {"x-api-key": "ANN"},
        {"x-auth-scheme": "langsmith", "x-api-key": "anything"},  # how Studio would come in
    ],
)
def test_without_a_valid_token_there_is_no_answer(server: Place, headers: dict[str, str]) -> None:
    ann, eve = server.tokens["ann"], server.tokens["eve"]
    sent = {n: v.replace("ANN", ann).replace("EVE", eve).encode() for n, v in headers.items()}
    for method, path in [
        ("POST", "/assistants/search"),
        ("POST", "/threads"),
        ("POST", "/threads/search"),
        ("POST", "/runs/wait"),
        ("POST", "/runs/crons/search"),
    ]:
        answer = server.anybody.request(method, server.address + path, headers=sent, json={})
        assert answer.status_code == 401, (path, answer.text)


def test_the_service_is_there_too_with_the_same_users(server: Place) -> None:
    token = server.tokens["shop"]
    body = {"transaction": {"amount": 20, "hour": 14}, "decision_id": "beside-1"}
    path = f"{server.address}/decisions"
    assert server.anybody.get(f"{server.address}/ready").status_code == 200
    for wrong in ("x", token[4:], "eve.0123456789abcdef"):
        headers = {"Authorization": f"Bearer {wrong}"}
        assert server.anybody.post(path, json=body, headers=headers).status_code == 401
    done = server.anybody.post(path, json=body, headers={"Authorization": f"Bearer {token}"})
    assert done.json()["decision"] == "APPROVE"
    page = f"{server.address}/metrics"  # ours, and not that of the LangGraph server
    assert server.anybody.get(page).status_code == 401
    metrics = server.anybody.get(
        page, headers={"Authorization": f"Bearer {server.tokens['ann']}"}
    ).text
    assert all(line.startswith(("#", "acegraph_")) for line in metrics.splitlines())
    with BulletPlaybook(server.playbook) as book:
        assert book.decision("beside-1")["decision"] == "APPROVE"


def test_pages_that_need_no_token_elsewhere_are_switched_off(server: Place) -> None:
    thread = server.ann.threads.create()["thread_id"]
    for method, path in [
        *(("GET", f"/{page}") for page in ("", "info", "docs", "openapi.json", "mcp")),
        ("GET", "/a2a/ace"),
        ("GET", "/ui/ace"),
        ("GET", f"/internal/debug/thread/{thread}"),
        ("GET", f"//internal/debug/thread/{thread}"),
        ("GET", f"/%69nternal/debug/thread/{thread}"),
        ("GET", f"/threads/../internal/debug/thread/{thread}"),
        ("GET", "/deploy"),
        ("POST", "/deploy"),  # unguarded it starts a process; GET has failed by then
        ("GET", "/deploy/1/stream"),
        ("POST", "/internal/truncate"),
    ]:
        for headers in ({}, {"authorization": f"Bearer {server.tokens['ann']}"}):
            answer = server.anybody.request(method, server.address + path, headers=headers)
            assert answer.status_code in (401, 404), path
    assert server.ann.threads.get(thread)["thread_id"] == thread  # nothing was wiped
    server.ann.threads.delete(thread)


def test_the_door_is_open_for_what_has_users_and_for_nothing_else(server: Place) -> None:
    assert server.anybody.get(f"{server.address}/ok").json() == {"ok": True}
    for path in ("/okay", "/threadsearch", "/internal/threads", "/"):
        token = {"authorization": f"Bearer {server.tokens['ann']}"}
        assert server.anybody.get(server.address + path, headers=token).text == "not found"


FORGED = "GET /ok 200 ann was here"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (f"/threads/x%0A{FORGED}", {}),
        (f"/threads/x%0d%0a{FORGED}", {}),
        (f"/runs/%1b[2J{FORGED}", {}),
        (f"/threads/%C2%9b2J{FORGED}", {}),
        (f"/assistants/%E2%80%AE{FORGED}", {}),
        (f"/threads/%ff{FORGED}", {}),
        ("/threads/x", {"x-request-id": f"\x9b2J{FORGED}".encode()}),
        ("/threads/x", {"user-agent": f"é{FORGED}".encode()}),
    ],
)
def test_no_stranger_writes_into_the_log(server: Place, path: str, headers: Any) -> None:
    answer = server.anybody.get(server.address + path.replace(" ", "%20"), headers=headers)
    assert (answer.status_code, answer.text) == (404, "not found")
    server.anybody.get(f"{server.address}/threads/logged")  # requests are logged in their order
    file, deadline = server.folder / "server.log", monotonic() + 20
    while b"/threads/logged" not in file.read_bytes():  # the line may come after the answer
        assert monotonic() < deadline
    assert FORGED.encode() not in file.read_bytes()


def test_only_its_owner_may_enter_the_folder_that_the_server_unpickles(server: Place) -> None:
    assert (server.folder / ".langgraph_api").stat().st_mode & 0o777 == 0o700
    assert (server.folder / "ace.db").stat().st_mode & 0o777 == 0o600


async def test_no_websocket_passes_the_door() -> None:
    sent: list[Any] = []

    async def inside(*_: Any) -> None:
        raise AssertionError("it was let in")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/threads/1/stream/events"}
    await Guard(inside)(scope, inside, send)
    assert [message["type"] for message in sent] == ["websocket.close"]


def test_a_thread_with_its_runs_and_states_is_its_owners(server: Place) -> None:
    ann, bob = server.ann, server.bob
    thread = ann.threads.create(metadata={"owner": "bob", "case": 1})["thread_id"]
    result = ann.runs.wait(thread, "ace", input={"transaction": RISKY})
    assert result["decision"] == "DECLINE"
    run = ann.runs.list(thread)[0]["run_id"]
    state = ann.threads.get_state(thread)
    checkpoint = state["checkpoint"]["checkpoint_id"]

    assert bob.threads.search() == []
    assert bob.threads.search(metadata={"owner": "ann"}) == []
    for call, *given in [
        (bob.threads.get, thread),
        (bob.threads.get_state, thread),
        (bob.threads.get_state, thread, None, checkpoint),
        (bob.threads.get_history, thread),
        (bob.threads.update_state, thread, {"decision": "APPROVE"}),
        (bob.threads.copy, thread),
        (bob.threads.delete, thread),
        (bob.runs.list, thread),
        (bob.runs.get, thread, run),
        (bob.runs.join, thread, run),
        (bob.runs.cancel, thread, run),
        (bob.runs.delete, thread, run),
        (bob.runs.wait, thread, "ace"),
    ]:
        assert refused(call, *given) in (403, 404, 409), call
    assert refused(bob.threads.update, thread, metadata={"owner": "bob"}) in (403, 404)
    assert refused(bob.threads.create, thread_id=thread, if_exists="do_nothing") in (404, 409)

    ann.threads.update(thread, metadata={"owner": "bob", "case": 2})
    kept = ann.threads.get(thread)["metadata"]
    assert (kept["owner"], kept["case"]) == ("ann", 2)
    assert ann.threads.get_state(thread)["values"]["decision"] == "DECLINE"
    assert [found["thread_id"] for found in ann.threads.search()] == [thread]


def test_everybody_runs_the_servers_assistants_and_nobody_makes_or_changes_one(
    server: Place,
) -> None:
    ann, bob = server.ann, server.bob
    for theirs in (
        *({"policy": {"explore": 1.0}}, {"base_rate": 1e-9}, {"redact": []}, {"seed": 1}),
        *({"agent_model": "gpt-4o"}, {"mode": "vanilla"}, {"learn": False}),
    ):
        made = ann.threads.create()["thread_id"]
        run = {"assistant_id": "ace", "input": {"transaction": RISKY}}
        for given in ({"context": theirs}, {"config": {"configurable": theirs}}):
            path = f"/threads/{made}/runs"
            assert refused(ann.http.post, path, json={**run, **given}) == 403, given
    labelled = {**run, "input": {"transaction": RISKY, "ground_truth": "legit"}}
    assert refused(ann.http.post, path, json=labelled) == 403
    common = bob.assistants.search()
    assert [found["metadata"]["created_by"] for found in common] == ["system", "system"]
    system = common[0]["assistant_id"]
    assert bob.assistants.get_schemas(system)
    assert refused(ann.assistants.create, "ace", metadata={"created_by": "system"}) == 403
    for call in (bob.assistants.update, bob.assistants.delete):
        assert refused(call, system) == 403


def test_a_paused_run_is_answered_by_whoever_is_signed_in(server: Place) -> None:
    ann, bob = server.ann, server.bob
    thread = paused(ann, "order-7")

    def resume(client: Any, **answer: Any) -> Any:
        config = {"configurable": {"langgraph_auth_user_id": answer["who"]}}
        return client.runs.wait(thread, "ace_reviewed", command={"resume": answer}, config=config)

    assert question(ann, thread)["kind"] == "verdict"
    assert refused(resume, bob, who="bob", verdict="APPROVE", why="not my thread") in (403, 404)
    resume(ann, **SPOOF)
    assert question(ann, thread)["error"] == "signed in as ann, the answer is signed bob"
    result = resume(ann, who="ann", verdict="DECLINE", why="the customer denies it")
    assert (result["decision"], result["review"]["who"]) == ("DECLINE", "ann")


@pytest.mark.parametrize(
    "forged",
    [
        {"config": {"langgraph_auth_user_id": "bob"}},
        {"config": {"langgraph_auth_user_id": "bob", "configurable": {"a": 1}}},
        {"config": {"langgraph_auth_user": {"identity": "bob"}}},
        {"config": {"anything": 1}},
        {"config": {"configurable": {"langgraph_auth": "bob"}}},
        {"context": {"langgraph_auth_scheme": "bob"}},
    ],
)
def test_no_config_signs_in_anothers_name(server: Place, waiting: str, forged: Any) -> None:
    ann, thread = server.ann, waiting
    resume = {"assistant_id": "ace_reviewed", "command": {"resume": SPOOF}, **forged}
    begin = {"assistant_id": "ace_reviewed", "input": {"transaction": RISKY}, **forged}
    for path, given in [
        (f"/threads/{thread}/runs", resume),
        (f"/threads/{thread}/runs/wait", resume),
        (f"/threads/{thread}/runs/stream", resume),
        ("/runs", begin),
        ("/runs/wait", begin),
        ("/runs/stream", begin),
        ("/runs/batch", [begin]),
        ("/runs/crons", {**begin, "schedule": "0 0 * * *"}),
        (f"/threads/{thread}/runs/crons", {**begin, "schedule": "0 0 * * *"}),
    ]:
        assert refused(ann.http.post, path, json=given) == 403, path
    assert "error" not in question(ann, thread)


@pytest.mark.parametrize(
    "forged",
    [
        {"context": {"langgraph_auth_user_id": "bob"}},
        pytest.param({"context": {"langgraph_auth_user_id": "ann"}}, marks=pytest.mark.slow),
        pytest.param(
            {
                "config": {
                    "configurable": {"langgraph_auth_user_id": "ann", "__context_provided__": 1}
                }
            },
            marks=pytest.mark.slow,
        ),
        {"checkpoint": {"langgraph_auth_user_id": "bob", "__context_provided__": True}},
    ],
)
def test_what_the_server_signs_itself_is_not_the_clients(server: Place, forged: Any) -> None:
    thread = paused(server.ann, f"order-{uuid4()}")
    given = {"assistant_id": "ace_reviewed", "command": {"resume": SPOOF}, **forged}
    server.ann.http.post(f"/threads/{thread}/runs/wait", json=given)
    assert question(server.ann, thread)["error"] == "signed in as ann, the answer is signed bob"


def test_the_second_way_to_start_runs_is_closed(server: Place, waiting: str) -> None:
    """It does not take out of a config what is the server's own, as the first one does."""
    unsigned = {"langgraph_auth_user_id": "ann", "__context_provided__": True}
    params = {"assistant_id": "ace_reviewed", "input": SPOOF, "config": {"configurable": unsigned}}
    given = {"id": 1, "method": "run.start", "params": params}
    for spelled in (waiting, waiting.upper()):
        assert refused(server.ann.http.post, f"/threads/{spelled}/commands", json=given) == 404
        events = {"channels": ["values"]}
        path = f"/threads/{spelled}/stream/events"
        assert refused(server.ann.http.post, path, json=events) == 404
    assert "error" not in question(server.ann, waiting)


async def test_a_run_cannot_take_its_users_name_away() -> None:
    """As a context with the user's own name would, where the server lets it through."""
    ctx: Any = SimpleNamespace(user=SimpleNamespace(identity="ann"), action="create_run")
    filled_in = {"langgraph_auth_user_id": "ann", "__after_seconds__": 0}
    kwargs: dict[str, Any] = {"config": {"configurable": filled_in}, "context": {"node": "cards"}}
    assert await own_runs(ctx, {"kwargs": kwargs}) == {"owner": "ann"}
    kwargs["context"] = {"langgraph_auth_user_id": "ann"}
    with pytest.raises(Auth.exceptions.HTTPException):
        await own_runs(ctx, {"kwargs": kwargs})


def test_a_state_is_written_by_runs_only(server: Place, waiting: str) -> None:
    ann, thread = server.ann, waiting
    forged = {"label_source": "label", "settings": {"review": False}}
    before = ann.threads.get_state(thread)
    assert refused(ann.threads.update_state, thread, forged, as_node="review") == 403
    for command in (
        {"update": forged},
        {"goto": "curator"},
        {"goto": {"node": "curator", "input": forged}},
        {"resume": {**SPOOF, "who": "ann"}, "update": forged},
    ):
        assert refused(ann.runs.wait, thread, "ace_reviewed", command=command) == 403
    assert ann.threads.get_state(thread) == before

    steps = [{"updates": [{"values": forged, "as_node": "review"}]}]
    made = str(uuid4())
    new = {"thread_id": made, "metadata": {"graph_id": "ace_reviewed"}, "supersteps": steps}
    ann.http.post("/threads", json=new)  # it says 201, made without the state
    assert not ann.threads.get_state(made)["values"]


def test_nobody_approves_what_their_own_thread_taught(server: Place) -> None:
    ann, cards = server.ann, {"node": "cards"}
    with BulletPlaybook(server.playbook) as playbook:
        know_cards(playbook)
        playbook.set_policy(ASKED, "cards")
        thread = ann.threads.create()["thread_id"]
        given = {"transaction": {"amount": 21, "tx_last_hour": 4}}
        ann.runs.wait(thread, "ace_reviewed", input=given, context=cards)
        verdict = {"resume": {"who": "ann", "verdict": "DECLINE", "why": "a test of cards"}}
        ann.runs.wait(thread, "ace_reviewed", command=verdict, context=cards)
        asked = question(ann, thread)
        assert (asked["kind"], asked["origin"]["label_source"]) == ("approval", "analyst:ann")

        def resume() -> Any:
            mine = {"who": "ann", "approve": True, "why": "mine"}
            bobs = {"owner": "bob"}
            return ann.runs.wait(
                thread,
                "ace_reviewed",
                command={"resume": mine},
                context=cards,
                metadata=bobs,
                config={"metadata": bobs},
            )

        resume()
        assert question(ann, thread)["error"].startswith("the thread is ann's own")
        assert playbook.get_bullet(asked["bullet"]).status == "candidate"
        bob = ApprovalAnswer(who="bob", approve=True, why="read it")
        give_approval(playbook, asked["bullet"], bob, Curator())  # as acegraph review does
        assert resume()["new_bullet"] == asked["bullet"]


def know_cards(playbook: BulletPlaybook) -> None:
    """Labelled cases from which the next mistake is learned."""
    graph = create_ace_graph(playbook=playbook, reflector=lambda given: {"new_bullet": ""})
    known = graph.compile()
    for number in range(24):
        is_fraud = number % 2 == 0
        given = {
            "transaction": {"amount": 20 + number, "tx_last_hour": 4 if is_fraud else 1},
            "ground_truth": "DECLINE" if is_fraud else "APPROVE",
        }
        known.invoke(given, context=AceContext(node="cards"))


def test_what_nobody_thought_of_is_denied(server: Place) -> None:
    assert refused(server.ann.crons.create, "ace", schedule="0 0 * * *", input={}) == 403


def test_the_variable_that_named_users_stops_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ACE_USERS", "ann:0123456789abcdef")
    with pytest.raises(InvalidSettings, match="ACE_USERS is gone") as found:
        runpy.run_module("acegraph.graph.studio")
    assert "0123456789abcdef" not in str(found.value)
