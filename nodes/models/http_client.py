"""The line to the servers: HTTP clients for OpenAI's library that retry, count, record and replay.

Importing it takes a second, because it imports that library. What is retried is said in
retries.py, what is recorded in tape.py, who is told of the cost in usage.py.
"""

import asyncio
import importlib
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, closing
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import openai

from acegraph.nodes.models.recordings import Exchange, Player, Recorder
from acegraph.nodes.models.retries import Retry
from acegraph.nodes.runtime import usage
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish

# openai 3 stands on httpx2, openai 2 on httpx; their interfaces are the same.
httpx: Any = importlib.import_module(
    openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]
)


_NOT_COPIED = ("content-encoding", "content-length", "transfer-encoding")


class RetryingTransport:
    """What both clients share: one request, however many attempts it takes."""

    def __init__(self, retry: Retry, tape: Recorder | Player | None = None) -> None:
        self.retry, self.tape = retry, tape

    async def deliver(
        self, request: Any, attempt: Callable[[float], Awaitable[Exchange]], wait: Wait
    ) -> Any:
        """The answer to a request; an attempt is told when it must be over."""
        over = time.monotonic() + self.retry.deadline
        model = str(_read(request.content).get("model", "unknown"))
        number = 0
        while True:
            number += 1
            usage.begin_call(model)
            found = await self._attempt(request, attempt, over, wait)
            said = _read(found.received)
            used = _mapping(said.get("usage"))
            usage.end_call(model, used.get("prompt_tokens"), used.get("completion_tokens"))
            pause = self._pause(found, said, number)
            if pause is None or time.monotonic() + pause >= over or self._was_the_last(request):
                return _response(_in_order(found, said), request)
            if not isinstance(self.tape, Player):
                await wait.sleep(pause)

    async def _attempt(
        self, request: Any, attempt: Callable[[float], Awaitable[Exchange]], over: float, wait: Wait
    ) -> Exchange:
        if isinstance(self.tape, Player):
            return self.tape.answer(request.url.path, request.content)
        allowed = min(self.retry.timeout, max(over - time.monotonic(), 0.001))
        # httpx knows four time-outs; none of them may be longer than what is left.
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), allowed)
        found = await attempt(time.monotonic() + allowed)
        if self.tape:
            await wait.work(self.tape.note, found)
        return found

    def _was_the_last(self, request: Any) -> bool:
        """Whether the recorded attempts end here: there, time had run out."""
        tape = self.tape
        return isinstance(tape, Player) and not tape.has(request.url.path, request.content)

    def _pause(self, found: Exchange, said: dict[str, Any], number: int) -> float | None:
        if found.error:
            return self.retry.pause_after_error(found.error, number)
        code = str(_mapping(said.get("error")).get("code"))
        return self.retry.pause_after_status(found.status, found.headers or {}, code, number)


class Client(openai.DefaultHttpxClient):
    """The synchronous client."""

    def __init__(self, line: RetryingTransport, **settings: Any) -> None:
        super().__init__(**settings)
        self._line = line

    def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read its whole answer."""
        options["stream"] = True

        async def attempt(over: float) -> Exchange:
            try:
                response = super(Client, self).send(request, **options)
                with closing(response):
                    body = bytearray()
                    for chunk in response.iter_bytes():
                        body += chunk
                        _check(over)
            except httpx.TransportError as error:
                return _failed(request, error)
            return _answered(request, response, bytes(body))

        return finish(self._line.deliver(request, attempt, BLOCKING))


class AsyncClient(openai.DefaultAsyncHttpxClient):
    """The asynchronous client. An open connection belongs to the event loop it was opened in, so
    each loop has connections of its own, and closes them when it ends.
    """

    def __init__(self, line: RetryingTransport, **settings: Any) -> None:
        super().__init__(**settings)
        self._line, self._settings = line, settings
        self._of_loop: WeakKeyDictionary[Any, tuple[Any, AsyncGenerator[None]]] = (
            WeakKeyDictionary()
        )

    async def send(self, request: Any, **options: Any) -> Any:
        """Send a request and read its whole answer."""
        options["stream"] = True
        client = await self._here()

        async def attempt(over: float) -> Exchange:
            try:
                async with asyncio.timeout(over - time.monotonic()):
                    response = await client.send(request, **options)
                    async with aclosing(response):
                        body = await response.aread()
            except TimeoutError:
                return _failed(request, httpx.ReadTimeout("the answer took too long"))
            except httpx.TransportError as error:
                return _failed(request, error)
            return _answered(request, response, body)

        return await self._line.deliver(request, attempt, AWAITING)

    async def _here(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._of_loop:
            client = openai.DefaultAsyncHttpxClient(**self._settings)
            watch = self._until_the_end(client, loop)
            self._of_loop[loop] = (client, watch)
            await anext(watch)
        return self._of_loop[loop][0]

    async def _until_the_end(self, client: Any, loop: Any) -> AsyncGenerator[None]:
        """A loop that ends closes its asynchronous generators: this one closes the client."""
        try:
            yield
        finally:
            self._of_loop.pop(loop, None)
            await client.aclose()


def _check(over: float) -> None:
    """A server that sends a byte now and then never reaches the time-out of a read."""
    if time.monotonic() > over:
        raise httpx.ReadTimeout("the answer took too long")


def _failed(request: Any, error: Exception) -> Exchange:
    return Exchange(request.url.path, request.content, error=type(error).__name__)


def _answered(request: Any, response: Any, body: bytes) -> Exchange:
    headers = {n: v for n, v in response.headers.items() if n.lower() not in _NOT_COPIED}
    return Exchange(request.url.path, request.content, response.status_code, headers, body)


def _in_order(found: Exchange, said: dict[str, Any]) -> Exchange:
    """Vectors in the order of their texts: LangChain takes them as they come."""
    data = said.get("data")
    if not isinstance(data, list):
        return found
    places = [place for entry in data if isinstance(place := _mapping(entry).get("index"), int)]
    if len(places) < len(data) or places == sorted(places):
        return found
    ordered = {**said, "data": sorted(data, key=lambda entry: entry["index"])}
    return replace(found, received=json.dumps(ordered).encode())


def _response(found: Exchange, request: Any) -> Any:
    if found.error:
        error = getattr(httpx, found.error, httpx.TransportError)
        raise error(found.error, request=request)
    return httpx.Response(
        found.status, headers=dict(found.headers or {}), content=found.received, request=request
    )


def _read(content: bytes) -> dict[str, Any]:
    try:
        return _mapping(json.loads(content))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
