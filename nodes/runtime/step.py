"""A node of the graph: one coroutine body that runs under `invoke` and under `ainvoke`.

LangGraph gives a plain function a thread under `ainvoke` and refuses a coroutine under `invoke`;
nodes that wait for models need neither (see nodes/waiting.py).
"""

from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.state import AceState
from acegraph.state.run.schema import Update

Body = Callable[[AceState, Wait], Coroutine[Any, Any, Update]]


class Step(Runnable[AceState, Update]):
    """A body as a node; what its models cost is noted in the state under the node's name."""

    def __init__(self, body: Body, name: str) -> None:
        self._body = body
        self.name = self.step = name

    def invoke(
        self,
        input: AceState,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Update:
        """Run the body, waiting on the spot."""
        return finish(self._run(input, BLOCKING))

    async def ainvoke(
        self,
        input: AceState,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Update:
        """Run the body without blocking the loop."""
        return await self._run(input, AWAITING)

    async def _run(self, state: AceState, wait: Wait) -> Update:
        with metered(Meter()) as meter:
            update = await self._body(state, wait)
        if meter.by_model:
            usage = update["usage"] if "usage" in update else state["usage"]
            update["usage"] = {**usage, self.step: meter.to_json()}
        if meter.notes:
            warnings = update["warnings"] if "warnings" in update else state["warnings"]
            update["warnings"] = [*warnings, *(f"{self.step}: {note}" for note in meter.notes)]
        return update
