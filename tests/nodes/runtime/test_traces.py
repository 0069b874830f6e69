"""What a run tells while it goes on: its question for a person, and who asked a model."""

from typing import Any

import pytest
from followers import Follower
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver

from acegraph.graph import create_ace_graph
from acegraph.nodes import LanguageModel
from acegraph.state import BulletPlaybook

NODE = "fraud_detection"
SMALL = {"amount": 5, "hour": 12}


def test_a_run_that_waits_for_a_person_says_so_with_a_schema() -> None:
    graph = create_ace_graph(review=True).compile(checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "1"}}
    steps = list(graph.stream({"transaction": {"amount": "many"}}, thread, stream_mode="updates"))
    [asked] = steps[-1]["__interrupt__"]
    assert "verdict" in asked.value["response_schema"]["properties"]


class Seen(BaseCallbackHandler):
    def __init__(self) -> None:
        self.metadata: list[Any] = []

    def on_chat_model_start(self, *args: Any, metadata: Any = None, **more: Any) -> None:
        self.metadata.append(metadata)


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_traces_of_a_model_name_the_node_that_asked(way: str) -> None:
    seen = Seen()
    with BulletPlaybook() as playbook:
        playbook.add_bullet("APPROVE when hour >= 8", NODE)
        graph = create_ace_graph(
            playbook=playbook, agent=LanguageModel(Follower(), "prompt")
        ).compile()
        given, config = {"transaction": SMALL, "decision_id": "d1"}, {"callbacks": [seen]}
        if way == "invoke":
            graph.invoke(given, config)
        else:
            await graph.ainvoke(given, config)
    [metadata] = seen.metadata
    assert metadata["langgraph_node"] == "agent"
