"""The real LangGraph dev server, started on loopback with no key and driven by its own client."""

from collections.abc import Iterator
from typing import Any

import pytest
from dev_server import client, running_dev_server

pytestmark = pytest.mark.slow
RISKY = "User pays $2,500 at 3 AM via VPN, account is 2 days old"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running_dev_server(tmp_path_factory.mktemp("studio")) as address, client(address) as found:
        yield found


@pytest.fixture
def assistant(server: Any) -> str:
    return str(server.assistants.search(graph_id="ace")[0]["assistant_id"])


def test_the_form_is_drawn_from_described_schemas(server: Any, assistant: str) -> None:
    schemas = server.assistants.get_schemas(assistant)
    given = schemas["input_schema"]["properties"]
    assert set(given) == {"transaction", "ground_truth", "decision_id"}
    assert given["ground_truth"]["enum"] == ["APPROVE", "DECLINE", None]
    assert "description" in given["transaction"]
    context = schemas["context_schema"]["properties"]
    assert context["mode"]["enum"] == ["vanilla", "offline_online", "online"]
    assert all("description" in field for field in context.values())
    assert "api_key" not in str(schemas)


def test_the_drawing_has_the_five_nodes(server: Any, assistant: str) -> None:
    drawn = server.assistants.get_graph(assistant, xray=1)
    names = {node["id"] for node in drawn["nodes"]}
    assert names >= {"selector", "agent", "judge", "reflector", "curator"}


@pytest.mark.parametrize("mode", ["vanilla", "offline_online", "online"])
def test_a_run_in_each_mode_shows_the_funnel_in_its_state(
    server: Any, assistant: str, mode: str
) -> None:
    thread = server.threads.create()["thread_id"]
    result = server.runs.wait(
        thread,
        assistant,
        input={"transaction": RISKY, "ground_truth": "APPROVE"},
        context={"mode": mode},
    )
    assert (result["decision"], result["verdict"]) == ("DECLINE", "wrong")
    state = server.threads.get_state(thread)["values"]
    assert set(state["funnel"]) == {"context", "quality", "semantic", "score", "diversity"}
    assert (state["curation"] is None) == (mode == "vanilla")
