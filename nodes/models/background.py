"""One event loop for all requests to model servers, in a thread of its own.

A blocking client has a time-out for each read and none for the whole: a server that sends a byte
now and then keeps it for ever. In an event loop everything can be given up at any time. Connections
belong to the loop that opened them, so one loop serves all callers, whether they block or await.
"""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from functools import lru_cache
from threading import Lock, Thread
from typing import Final, TypeVar

from acegraph.nodes.runtime.sync_async import Wait

T = TypeVar("T")


_LOCK: Final = Lock()


@lru_cache(maxsize=1)
def _loop_of(process: int) -> asyncio.AbstractEventLoop:
    """The loop of a process, which begins with the first request; a fork begins another."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="acegraph", daemon=True).start()
    return loop


async def in_background(
    work: Callable[[], Coroutine[object, None, T]], end: float, wait: Wait
) -> T:
    """The result of some work in the common loop; it is given up at `end` (time.monotonic)."""

    async def limited() -> T:
        async with asyncio.timeout(end - time.monotonic()):
            return await work()

    with _LOCK:
        loop = _loop_of(os.getpid())
    future = asyncio.run_coroutine_threadsafe(limited(), loop)
    try:
        return await wait.either(future.result, lambda: asyncio.wrap_future(future))
    finally:
        future.cancel()
