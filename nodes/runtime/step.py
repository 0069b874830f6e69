"""A node of the graph: one coroutine body that runs under `invoke` and under `ainvoke`.

LangGraph runs a plain function in a thread under `ainvoke` and refuses a coroutine under `invoke`.
A step has neither limitation (see sync_async.py).
"""

from collections.abc import Callable, Coroutine
from functools import cache

from langchain_core.runnables import Runnable, RunnableConfig

from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.state import AceState
from acegraph.state.run.schema import Update

Body = Callable[[AceState, Wait], Coroutine[object, None, Update]]


def when_needed(make: Callable[[], Body]) -> Body:
    """A body that is made, and its modules imported, when it is first run."""
    made = cache(make)

    def run(state: AceState, wait: Wait) -> Coroutine[object, None, Update]:
        return made()(state, wait)

    return run


class Step(Runnable[AceState, Update]):
    """Runs a body as a node, and writes the usage of its models under its name into the state."""

    def __init__(self, body: Body, name: str) -> None:
        self._body = body
        self.name = self.step = name

    def invoke(
        self, input: AceState, config: RunnableConfig | None = None, **kwargs: object
    ) -> Update:
        """Run the body in this thread, which waits with it."""
        return finish(self.run_alone(input, BLOCKING))

    async def ainvoke(
        self, input: AceState, config: RunnableConfig | None = None, **kwargs: object
    ) -> Update:
        """Run the body without blocking the event loop."""
        return await self.run_alone(input, AWAITING)

    async def run_alone(self, state: AceState, wait: Wait) -> Update:
        """Run the body, as a node or outside of a graph."""
        with metered(Meter()) as meter:
            update = await self._body(state, wait)
        if meter.by_model:
            usage = update["usage"] if "usage" in update else state["usage"]
            update["usage"] = {**usage, self.step: meter.to_json()}
        if meter.notes:
            warnings = update["warnings"] if "warnings" in update else state["warnings"]
            update["warnings"] = [*warnings, *(f"{self.step}: {note}" for note in meter.notes)]
        return update
