"""HTTP clients for OpenAI's library that retry, count, record and replay every request.

Importing this module takes a second, because it imports that library. retries.py decides what is
retried, recordings.py defines what is recorded, nodes/runtime/usage.py counts calls and tokens.
"""

import asyncio
import importlib
import json
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import openai

from acegraph.nodes.models.answers import (
    AnswerRefused,
    as_mapping,
    checked_answer,
    read_body,
    size_limit,
)
from acegraph.nodes.models.recordings import Exchange, Player, Recording
from acegraph.nodes.models.retries import Retry
from acegraph.nodes.runtime import usage
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.state import ModelUnavailable
from acegraph.state.errors import ModelAnswerInvalid

if TYPE_CHECKING:
    import httpx2 as httpx
else:  # openai 3 builds on httpx2, openai 2 on httpx; both have the same interface
    httpx = importlib.import_module(
        openai.DefaultHttpxClient.__mro__[1].__module__.partition(".")[0]
    )

Attempt = Callable[[float], Awaitable[Exchange]]
"""Sends a request once; its argument is the moment (time.monotonic) by which it must be over."""

logger = logging.getLogger(__name__)


def _without_credentials(record: logging.LogRecord) -> bool:
    """Let a line of httpx's log pass without user, password and query of the server's URL."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            str(part.copy_with(userinfo=b"", query=None)) if isinstance(part, httpx.URL) else part
            for part in record.args
        )
    return True


logging.getLogger(httpx.__name__).addFilter(_without_credentials)
_RETRIED: Final = "request to %s: attempt %d failed (%s), the next one follows in %.1f seconds"
_GRACE: Final = 0.5
"""Seconds after which a blocking caller goes even if the event loop is busy with other work."""
_NOT_COPIED: Final = ("content-encoding", "content-length", "transfer-encoding")


class RetryingTransport:
    """What both clients share: the attempts of one request, and its recording or replay."""

    def __init__(self, retry: Retry, recording: Recording | None = None) -> None:
        self.retry, self.recording = retry, recording
        self.connections = Connections()

    async def deliver(self, request: httpx.Request, attempt: Attempt, wait: Wait) -> httpx.Response:
        """The final answer to a request, after as many attempts as `retry` allows."""
        end = self.retry.end()
        model = str(_read_json(request.content).get("model", "unknown"))
        number = 0
        while True:
            number += 1
            usage.begin_call(model)
            exchange = await self._attempt(request, attempt, end, wait)
            answer = _read_json(exchange.received)
            used = as_mapping(answer.get("usage"))
            usage.end_call(model, used.get("prompt_tokens"), used.get("completion_tokens"))
            pause = self._pause(exchange, answer, number)
            if pause is None or time.monotonic() + pause >= end or self._is_last_recorded(request):
                return _response(exchange, answer, request)
            if not isinstance(self.recording, Player):
                failure = exchange.error or f"HTTP {exchange.status}"
                logger.info(_RETRIED, request.url.host, number, failure, pause)
                await wait.sleep(pause)

    async def _attempt(
        self, request: httpx.Request, attempt: Attempt, end: float, wait: Wait
    ) -> Exchange:
        if isinstance(self.recording, Player):
            return self.recording.answer(request.url.path, request.content)
        allowed = min(self.retry.timeout, end - time.monotonic())
        # httpx has four time-outs; none of them may be longer than the time that is left.
        request.extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), allowed)
        exchange = _failed(request, httpx.ReadTimeout.__name__)
        if allowed > 0:
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
        code = str(as_mapping(answer.get("error")).get("code"))
        headers = exchange.headers or {}
        return self.retry.pause_after_status(exchange.status, headers, code, number)


class Connections:
    """Sends requests. An open connection belongs to the event loop that opened it, so there is one
    client for each loop, which is closed when the loop ends.
    """

    def __init__(self) -> None:
        self.verify = httpx.create_ssl_context()  # 30 ms, so it is shared
        self._by_loop: WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[httpx.AsyncClient, AsyncGenerator[None]]
        ] = WeakKeyDictionary()

    async def exchange(
        self, request: httpx.Request, end: float, options: Mapping[str, Any]
    ) -> Exchange:
        """Send a request once and read its whole answer; after `end` it is a failure."""
        client = await self._client_of_this_loop()
        request.headers["accept-encoding"] = "gzip, deflate"
        # A redirection could lead anywhere, and as often as the server likes.
        options = {**options, "stream": True, "follow_redirects": False}
        try:
            async with asyncio.timeout(end - time.monotonic()):
                response = await client.send(request, **options)
                async with aclosing(response):
                    encoding = response.headers.get("content-encoding", "")
                    limit = size_limit(_read_json(request.content))
                    body = await read_body(response.aiter_raw(), encoding, limit)
                if _has_more(response):
                    await response.extensions["network_stream"].aclose()
                    raise AnswerRefused("there is more than one answer")
        except TimeoutError:
            return _failed(request, httpx.ReadTimeout.__name__)
        except httpx.TransportError as error:
            return _failed(request, type(error).__name__)
        except AnswerRefused as refusal:
            return _failed(request, str(refusal))
        headers = {n: v for n, v in response.headers.items() if n.lower() not in _NOT_COPIED}
        return Exchange(request.url.path, request.content, response.status_code, headers, body)

    async def _client_of_this_loop(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            client = openai.DefaultAsyncHttpxClient(verify=self.verify)
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


class _Background:
    """An event loop in a thread of its own, which sends the requests of blocking callers.

    A blocking client has a time-out for each read and none for the whole: a server that sends a
    byte now and then keeps it for ever. In an event loop everything can be given up at any time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._loop: asyncio.AbstractEventLoop
        self._thread: Thread | None = None

    def run(self, exchange: Coroutine[object, None, Exchange], end: float) -> Exchange:
        """The result of an exchange; the caller waits for it, until shortly after `end`."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():  # after a fork it is gone
                self._loop = asyncio.new_event_loop()
                self._thread = Thread(target=self._loop.run_forever, name="acegraph", daemon=True)
                self._thread.start()
        future = asyncio.run_coroutine_threadsafe(exchange, self._loop)
        try:
            return future.result(end + _GRACE - time.monotonic())
        finally:
            future.cancel()


_BACKGROUND: Final = _Background()


class Client(openai.DefaultHttpxClient):
    """The synchronous client."""

    def __init__(self, transport: RetryingTransport) -> None:
        super().__init__(verify=transport.connections.verify)
        self._retrying = transport

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and read its whole answer."""
        connections = self._retrying.connections

        async def attempt(end: float) -> Exchange:
            try:
                return _BACKGROUND.run(connections.exchange(request, end, options), end)
            except TimeoutError:
                return _failed(request, httpx.ReadTimeout.__name__)

        return finish(self._retrying.deliver(request, attempt, BLOCKING))


class AsyncClient(openai.DefaultAsyncHttpxClient):
    """The asynchronous client."""

    def __init__(self, transport: RetryingTransport) -> None:
        super().__init__(verify=transport.connections.verify)
        self._retrying = transport

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request and read its whole answer."""
        connections = self._retrying.connections

        async def attempt(end: float) -> Exchange:
            return await connections.exchange(request, end, options)

        return await self._retrying.deliver(request, attempt, AWAITING)


def _has_more(response: httpx.Response) -> bool:
    """Whether the server sent something after its answer.

    The next request on this connection would take it for its own answer. Only the parser of the
    connection knows of it, which httpx shows to nobody.
    """
    found: object = response.stream
    for name in ("_stream", "_httpcore_stream", "_stream", "_connection", "_h11_state"):
        found = getattr(found, name, None)
    unread, _ = getattr(found, "trailing_data", (b"", False))
    return bool(unread)


def _failed(request: httpx.Request, error: str) -> Exchange:
    return Exchange(request.url.path, request.content, error=error)


def _response(
    exchange: Exchange, answer: dict[str, object], request: httpx.Request
) -> httpx.Response:
    """What OpenAI's library gets to read: the checked answer, or an error."""
    question = _read_json(request.content)
    name, status, received = question.get("model"), exchange.status, exchange.received
    if error := getattr(httpx, exchange.error or "-", None):
        raise error(exchange.error, request=request)
    if 300 <= status < 400:
        raise ModelUnavailable(
            f"{name}: the server redirects (HTTP {status}), which is not followed; "
            "set OPENAI_BASE_URL to the address it redirects to"
        )
    try:
        if exchange.error:
            raise AnswerRefused(exchange.error)
        if status == 200:
            received = checked_answer(question, answer, received)
        elif status < 300:
            raise AnswerRefused(f"the answer has HTTP status {status}, not 200")
    except AnswerRefused as refusal:
        raise ModelAnswerInvalid(f"{name}: {refusal}") from None
    headers = dict(exchange.headers or {})
    return httpx.Response(status, headers=headers, content=received, request=request)


def _read_json(content: bytes) -> dict[str, object]:
    """The JSON object in some bytes; empty where they hold none."""
    try:
        return as_mapping(json.loads(content))
    except (ValueError, RecursionError):
        return {}
