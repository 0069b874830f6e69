"""Two users on the real dev server with langgraph.secure.json: each sees what is theirs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from dev_server import client, running_dev_server
from langgraph_sdk.errors import APIStatusError

from acegraph.graph.auth import read_users
from acegraph.state import InvalidSettings

ANN, BOB = "ann-0123456789abcdef", "bob-0123456789abcdef"
RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"


@dataclass(frozen=True)
class Place:
    address: str
    ann: Any
    bob: Any


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("secure")
    env = {"ACE_USERS": f"ann:{ANN},bob:{BOB}"}
    with (
        running_dev_server(folder, "langgraph.secure.json", env) as address,
        client(address, ANN) as ann,
        client(address, BOB) as bob,
    ):
        yield Place(address, ann, bob)


def refused(call: Any, *args: Any, **kwargs: Any) -> int:
    """The status with which the server refuses a call; it must refuse."""
    with pytest.raises((APIStatusError, httpx.HTTPStatusError)) as found:
        call(*args, **kwargs)
    return int(found.value.response.status_code)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer ann"},
        {"authorization": ANN},
        {"authorization": f"Basic {ANN}"},
        {"authorization": f"Bearer {ANN}x"},
        {"authorization": "Bearer ﬀ".encode()},
        {"x-api-key": ANN},
        {"x-auth-scheme": "langsmith", "x-api-key": "anything"},  # how Studio would come in
    ],
)
def test_without_a_valid_token_there_is_no_answer(server: Place, headers: Any) -> None:
    for method, path in [
        ("POST", "/assistants/search"),
        ("POST", "/threads"),
        ("POST", "/threads/search"),
        ("POST", "/runs/wait"),
        ("PUT", "/store/items"),
        ("POST", "/store/items/search"),
        ("POST", "/store/namespaces"),
        ("POST", "/runs/crons/search"),
    ]:
        answer = httpx.request(method, server.address + path, headers=headers, json={})
        assert answer.status_code == 401, (path, answer.text)


def test_pages_that_need_no_token_elsewhere_are_switched_off(server: Place) -> None:
    for path in ("/info", "/docs", "/openapi.json", "/metrics", "/mcp", "/a2a/ace", "/ui/ace"):
        assert httpx.get(server.address + path).status_code in (401, 404), path


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


def test_store_items_are_their_owners(server: Place) -> None:
    ann, bob = server.ann, server.bob
    ann.store.put_item(["notes"], "k", {"text": "ann's own"})
    assert ann.store.get_item(["notes"], "k")["value"] == {"text": "ann's own"}
    assert bob.store.list_namespaces()["namespaces"] == []
    for namespace in (["notes"], ["ann", "notes"], ["ann"]):
        assert not bob.store.get_item(namespace, "k")
        assert bob.store.search_items(namespace)["items"] == []
        bob.store.put_item(namespace, "k", {"text": "bob's"})
        bob.store.delete_item(namespace, "k")
    assert bob.store.search_items([])["items"] == []
    assert ann.store.get_item(["notes"], "k")["value"] == {"text": "ann's own"}


def test_everybody_runs_the_servers_assistant_and_nobody_anothers(server: Place) -> None:
    ann, bob = server.ann, server.bob
    hers = ann.assistants.create(
        "ace", context={"mode": "vanilla"}, metadata={"created_by": "system"}
    )["assistant_id"]
    common = bob.assistants.search()
    assert [found["metadata"]["created_by"] for found in common] == ["system", "system"]
    system = common[0]["assistant_id"]
    assert bob.assistants.get_schemas(system)
    thread = bob.threads.create()["thread_id"]
    for call, *given in [
        (bob.assistants.get, hers),
        (bob.assistants.get_schemas, hers),
        (bob.assistants.update, hers),
        (bob.assistants.delete, hers),
        (bob.assistants.update, system),
        (bob.assistants.delete, system),
        (bob.runs.wait, thread, hers),
    ]:
        assert refused(call, *given) in (403, 404, 409), call
    assert ann.assistants.get(hers)["metadata"]["owner"] == "ann"


def test_a_paused_run_is_answered_by_whoever_is_signed_in(server: Place) -> None:
    ann, bob = server.ann, server.bob
    thread = ann.threads.create()["thread_id"]
    given = {"transaction": RISKY, "decision_id": "order-7"}
    context = {"review_from": 0, "review_to": 1}
    ann.runs.wait(thread, "ace_reviewed", input=given, context=context)

    def question() -> Any:
        return ann.threads.get_state(thread)["tasks"][0]["interrupts"][0]["value"]

    def resume(client: Any, **answer: Any) -> Any:
        config = {"configurable": {"langgraph_auth_user_id": answer["who"]}}
        return client.runs.wait(
            thread, "ace_reviewed", command={"resume": answer}, context=context, config=config
        )

    assert question()["kind"] == "verdict"
    assert refused(resume, bob, who="bob", verdict="APPROVE", why="not my thread") in (403, 404)
    resume(ann, who="bob", verdict="APPROVE", why="in another's name")
    assert question()["error"] == "signed in as ann, the answer is signed bob"
    result = resume(ann, who="ann", verdict="DECLINE", why="the customer denies it")
    assert (result["decision"], result["review"]["who"]) == ("DECLINE", "ann")


def test_what_nobody_thought_of_is_denied(server: Place) -> None:
    assert refused(server.ann.crons.create, "ace", schedule="0 0 * * *", input={}) == 403


def test_nobody_is_let_in_where_nobody_is_named() -> None:
    assert read_users("") == {}


@pytest.mark.parametrize(
    "text",
    [
        "ann",
        "ann:short",
        f":{ANN}",
        f"ann:{ANN},ann:{BOB}",
        f"ann:{ANN},bob:{ANN}",
        f"a.nn:{ANN}",
        f"ann:{ANN},",
    ],
)
def test_a_list_of_users_with_a_mistake_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"ACE_USERS: entry \d") as found:
        read_users(text)
    assert ANN not in str(found.value)
