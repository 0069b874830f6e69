"""One body for a synchronous and an asynchronous call.

A step that may wait (for a model, for the disk) is written once, as a coroutine that is told how to
wait. `BLOCKING` waits on the spot and never suspends, so `finish` can run the coroutine without an
event loop; `AWAITING` awaits, and takes work that blocks to a thread; `OWN_LOOP` awaits, and does
such work on the spot: for whoever runs a loop of his own, where a thread costs more than the work.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Wait(Protocol):
    """How to wait for something that has a synchronous and an asynchronous form."""

    async def either(self, now: Callable[[], T], later: Callable[[], Awaitable[T]]) -> T:
        """The result, got in the form that fits."""
        ...

    async def work(self, function: Callable[..., T], *args: Any) -> T:
        """The result of a function that computes, or reads and writes the disk."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


class _Blocking:
    async def either(self, now: Callable[[], T], later: Callable[[], Awaitable[T]]) -> T:
        return now()

    async def work(self, function: Callable[..., T], *args: Any) -> T:
        return function(*args)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Awaiting:
    async def either(self, now: Callable[[], T], later: Callable[[], Awaitable[T]]) -> T:
        return await later()

    async def work(self, function: Callable[..., T], *args: Any) -> T:
        return await asyncio.to_thread(function, *args)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _OwnLoop(_Awaiting):
    async def work(self, function: Callable[..., T], *args: Any) -> T:
        return function(*args)


BLOCKING: Wait = _Blocking()
AWAITING: Wait = _Awaiting()
OWN_LOOP: Wait = _OwnLoop()


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that was told to wait by `BLOCKING`.

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


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run asynchronous work from a plain function, be it called inside an event loop (a notebook)
    or not.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as beside:
        beside.submit(copy_context().run, asyncio.run, work).result()
