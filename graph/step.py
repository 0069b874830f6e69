"""A node of the graph: one coroutine body that runs under `invoke` and under `ainvoke`.

LangGraph gives a plain function a thread under `ainvoke` and refuses a coroutine under `invoke`;
nodes that wait for models need neither (see nodes/waiting.py).
"""

from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.runtime import Runtime, get_runtime

from acegraph.nodes.waiting import AWAITING, BLOCKING, Wait, finish
from acegraph.state import AceState

Update = dict[str, Any]
Body = Callable[[AceState, Runtime[Any], Wait], Coroutine[Any, Any, Update]]


class Step(Runnable[AceState, Update]):
    """A body as a node."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.name = body.__name__

    def invoke(
        self,
        input: AceState,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Update:
        """Run the body, waiting on the spot."""
        return finish(self._body(input, get_runtime(), BLOCKING))

    async def ainvoke(
        self,
        input: AceState,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Update:
        """Run the body without blocking the loop."""
        return await self._body(input, get_runtime(), AWAITING)
