"""One function body for synchronous and asynchronous callers.

A step that may wait for a model or for the disk is written once, as a coroutine with a parameter
that says how to wait. `BLOCKING` blocks the thread and never suspends, so that `finish` can run the
coroutine without an event loop. `AWAITING` awaits, and moves blocking work to another thread.
The threads are our own: writers that wait for a lock do not fill the default executor of asyncio.
`OWN_LOOP` awaits, and does blocking work in the loop: for callers that run a loop of their own,
where another thread would cost more than the work.

A `Step` makes such a coroutine a node: LangGraph runs a plain function in a thread under `ainvoke`
and refuses a coroutine under `invoke`.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, lru_cache, partial
from typing import Final, ParamSpec, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.state import AceState
from acegraph.state.run.schema import Update

P = ParamSpec("P")
T = TypeVar("T")
_THREADS: Final = 32


@lru_cache(maxsize=1)
def _threads_of(process: int) -> ThreadPoolExecutor:
    """The threads of a process: a fork does not inherit them."""
    return ThreadPoolExecutor(_THREADS, "acegraph")


class Wait:
    """How to wait for something that has a synchronous and an asynchronous form: by blocking."""

    async def either(self, now: Callable[[], T], later: Callable[[], Awaitable[T]]) -> T:
        """The result of `now` for a blocking caller, of `later` for an awaiting one."""
        return now()

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of a function that computes for long, or that reads or writes the disk."""
        return function(*args, **kwargs)

    async def together(self, works: Iterable[Coroutine[object, None, T]]) -> list[T]:
        """The results of some coroutines; an awaiting caller has all of them under way at once."""
        return [await work for work in works]


def for_a_future(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The result of a function that runs in another thread.

    A future cannot hold StopIteration: whoever awaited it would wait for ever.
    """
    try:
        return function(*args, **kwargs)
    except StopIteration as error:
        raise RuntimeError("a function raised StopIteration") from error


class _Awaiting(Wait):
    async def either(self, now: Callable[[], T], later: Callable[[], Awaitable[T]]) -> T:
        return await later()

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        call = partial(copy_context().run, partial(for_a_future, function, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(_threads_of(os.getpid()), call)

    async def together(self, works: Iterable[Coroutine[object, None, T]]) -> list[T]:
        tasks: list[asyncio.Future[T]] = [asyncio.ensure_future(work) for work in works]
        try:
            return await asyncio.gather(*tasks)
        finally:  # if one failed, the others are not left behind
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


class _OwnLoop(_Awaiting):
    work = Wait.work


BLOCKING: Final = Wait()
AWAITING: Final = _Awaiting()
OWN_LOOP: Final = _OwnLoop()


def finish(coroutine: Coroutine[object, None, T]) -> T:
    """The result of a coroutine that waits by `BLOCKING`.

    >>> async def double(x: int, wait: Wait) -> int:
    ...     return await wait.work(lambda: 2 * x)
    >>> finish(double(21, BLOCKING))
    42
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise TypeError("this part only works asynchronously: use ainvoke, abatch or astream")


def run_to_end(work: Coroutine[object, None, None]) -> None:
    """Run asynchronous work from a plain function, inside an event loop (a notebook) or outside."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as other_thread:
        other_thread.submit(copy_context().run, asyncio.run, work).result()


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
        return finish(self.run(input, BLOCKING))

    async def ainvoke(
        self, input: AceState, config: RunnableConfig | None = None, **kwargs: object
    ) -> Update:
        """Run the body without blocking the event loop."""
        return await self.run(input, AWAITING)

    async def run(self, state: AceState, wait: Wait) -> Update:
        """Run the body, also outside of a graph."""
        with metered(Meter()) as meter:
            update = await self._body(state, wait)
        if meter.by_model:
            usage = update["usage"] if "usage" in update else state["usage"]
            update["usage"] = {**usage, self.step: meter.to_json()}
        if meter.notes:
            warnings = update["warnings"] if "warnings" in update else state["warnings"]
            update["warnings"] = [*warnings, *(f"{self.step}: {note}" for note in meter.notes)]
        return update
