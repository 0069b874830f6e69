"""HTTP clients for OpenAI's library that retry, count, record and replay every request.

Importing this module takes a second, because it imports that library. retries.py decides what is
retried, recordings.py defines what is recorded, nodes/runtime/usage.py counts calls and tokens.
"""

import asyncio
import importlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import openai

from acegraph.nodes.models.recordings import Exchange, Player, Recording
from acegraph.nodes.models.retries import Retry
from acegraph.nodes.runtime import usage
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish

if TYPE_CHECKING:
    import httpx2 as httpx
else:  # openai 3 builds on httpx2, openai 2 on httpx; both have the same interface
    httpx = importlib.import_module(
        openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]
    )

Attempt = Callable[[float], Awaitable[Exchange]]
"""Sends a request once; its argument is the moment (time.monotonic) by which it must be over."""

logger = logging.getLogger(__name__)
_RETRIED: Final = "request to %s: attempt %d failed (%s), the next one follows in %.1f seconds"
_NOT_COPIED: Final = ("content-encoding", "content-length", "transfer-encoding")


class RetryingTransport:
    """What both clients share: the attempts of one request, and its recording or replay."""

    def __init__(self, retry: Retry, recording: Recording | None = None) -> None:
        self.retry, self.recording = retry, recording

    async def deliver(self, request: httpx.Request, attempt: Attempt, wait: Wait) -> httpx.Response:
        """The final answer to a request, after as many attempts as `retry` allows."""
        end = time.monotonic() + self.retry.deadline
        model = str(_read_json(request.content).get("model", "unknown"))
        number = 0
        while True:
            number += 1
            usage.begin_call(model)
            exchange = await self._attempt(request, attempt, end, wait)
            answer = _read_json(exchange.received)
            used = _mapping(answer.get("usage"))
            usage.end_call(model, used.get("prompt_tokens"), used.get("completion_tokens"))
            pause = self._pause(exchange, answer, number)
            if pause is None or time.monotonic() + pause >= end or self._is_last_recorded(request):
                return _response(_in_order(exchange, answer), request)
            if not isinstance(self.recording, Player):
                failure = exchange.error or f"HTTP {exchange.status}"
                logger.info(_RETRIED, request.url.host, number, failure, pause)
                await wait.sleep(pause)

    async def _attempt(
        self, request: httpx.Request, attempt: Attempt, end: float, wait: Wait
    ) -> Exchange:
        if isinstance(self.recording, Player):
            return self.recording.answer(request.url.path, request.content)
        allowed = min(self.retry.timeout, max(end - time.monotonic(), 0.001))
        # httpx has four time-outs; none of them may be longer than the time that is left.
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), allowed)
        exchange = await attempt(time.monotonic() + allowed)
        if self.recording:
            await wait.work(self.recording.note, exchange)
        return exchange

    def _is_last_recorded(self, request: httpx.Request) -> bool:
        """Whether a replayed recording holds no further attempt: the recorded run gave up here."""
        player = self.recording
        return isinstance(player, Player) and not player.has(request.url.path, request.content)

    def _pause(self, exchange: Exchange, answer: dict[str, object], number: int) -> float | None:
        if exchange.error:
            return self.retry.pause_after_error(exchange.error, number)
        code = str(_mapping(answer.get("error")).get("code"))
        headers = exchange.headers or {}
        return self.retry.pause_after_status(exchange.status, headers, code, number)


class Client(openai.DefaultHttpxClient):
    """The synchronous client."""

    def __init__(self, transport: RetryingTransport) -> None:
        super().__init__()
        self._retrying = transport

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and read its whole answer."""
        options["stream"] = True

        async def attempt(end: float) -> Exchange:
            try:
                response = super(Client, self).send(request, **options)
                with closing(response):
                    body = bytearray()
                    for chunk in response.iter_bytes():
                        body += chunk
                        # A server that sends single bytes never reaches the time-out of a read.
                        if time.monotonic() > end:
                            raise httpx.ReadTimeout("the answer took too long")
            except httpx.TransportError as error:
                return _failed(request, error)
            return _answered(request, response, bytes(body))

        return finish(self._retrying.deliver(request, attempt, BLOCKING))


class AsyncClient(openai.DefaultAsyncHttpxClient):
    """The asynchronous client. An open connection belongs to the event loop that opened it, so this
    client keeps separate connections for each loop and closes them when the loop ends.
    """

    def __init__(self, transport: RetryingTransport) -> None:
        super().__init__()
        self._retrying = transport
        self._by_loop: WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None]]
        ] = WeakKeyDictionary()

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and read its whole answer."""
        options["stream"] = True
        client = await self._client_of_this_loop()

        async def attempt(end: float) -> Exchange:
            try:
                async with asyncio.timeout(end - time.monotonic()):
                    response = await client.send(request, **options)
                    async with aclosing(response):
                        body = await response.aread()
            except TimeoutError:
                return _failed(request, httpx.ReadTimeout("the answer took too long"))
            except httpx.TransportError as error:
                return _failed(request, error)
            return _answered(request, response, body)

        return await self._retrying.deliver(request, attempt, AWAITING)

    async def _client_of_this_loop(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            client = openai.DefaultAsyncHttpxClient()
            closer = self._close_with(loop, client)
            self._by_loop[loop] = (client, closer)
            await anext(closer)
        return self._by_loop[loop][0]

    async def _close_with(
        self, loop: asyncio.AbstractEventLoop, client: httpx.AsyncClient
    ) -> AsyncGenerator[None]:
        """Close the client with its loop: a loop that ends closes its asynchronous generators."""
        try:
            yield
        finally:
            self._by_loop.pop(loop, None)
            await client.aclose()


def _failed(request: httpx.Request, error: Exception) -> Exchange:
    return Exchange(request.url.path, request.content, error=type(error).__name__)


def _answered(request: httpx.Request, response: httpx.Response, body: bytes) -> Exchange:
    headers = {n: v for n, v in response.headers.items() if n.lower() not in _NOT_COPIED}
    return Exchange(request.url.path, request.content, response.status_code, headers, body)


def _in_order(exchange: Exchange, answer: dict[str, object]) -> Exchange:
    """The exchange with its vectors in the order of their texts, which LangChain relies on."""
    data = answer.get("data")
    if not isinstance(data, list):
        return exchange
    places = [place for entry in data if isinstance(place := _mapping(entry).get("index"), int)]
    if len(places) < len(data) or places == sorted(places):
        return exchange
    ordered = {**answer, "data": sorted(data, key=lambda entry: entry["index"])}
    return replace(exchange, received=json.dumps(ordered).encode())


def _response(exchange: Exchange, request: httpx.Request) -> httpx.Response:
    if exchange.error:
        error = getattr(httpx, exchange.error, httpx.TransportError)
        raise error(exchange.error, request=request)
    headers = dict(exchange.headers or {})
    return httpx.Response(
        exchange.status, headers=headers, content=exchange.received, request=request
    )


def _read_json(content: bytes) -> dict[str, object]:
    """The JSON object in some bytes; empty where they hold none."""
    try:
        return _mapping(json.loads(content))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}
