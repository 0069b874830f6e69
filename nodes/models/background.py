"""One event loop for all requests to model servers, in a thread of its own.

A blocking client has a time-out for each read and none for the whole: a server that sends a byte
now and then keeps it for ever. In an event loop everything can be given up at any time. Connections
belong to the loop that opened them, so one loop serves all callers, whether they block or await.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from threading import Lock, Thread
from typing import Any, Final, TypeVar

from acegraph.nodes.runtime.sync_async import Wait

T = TypeVar("T")


class _Background:
    """The loop, which begins with the first request; a fork begins another."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop
        self._thread: Thread | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="acegraph", daemon=True)
                self._thread.start()
            return self._loop


_BACKGROUND: Final = _Background()


async def in_background(work: Callable[[], Coroutine[Any, Any, T]], end: float, wait: Wait) -> T:
    """The result of some work in the common loop; it is given up at `end` (time.monotonic)."""

    async def limited() -> T:
        async with asyncio.timeout(end - time.monotonic()):
            return await work()

    future = asyncio.run_coroutine_threadsafe(limited(), _BACKGROUND.loop())
    try:
        return await wait.either(future.result, lambda: asyncio.wrap_future(future))
    finally:
        future.cancel()
