"""A scripted HTTP server on loopback that speaks the OpenAI protocol: chats and embeddings.

A reply is a function from the body of a request to what is sent back. A test scripts one reply, or
several in turn, per form that a model may be asked to fill in; every request is kept. It knows
nothing of fraud.
"""

import base64
import json
import sys
import time
import zlib
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any, Self

Body = dict[str, Any]
_PATIENCE_SECONDS = 10


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    path: str
    body: Body
    headers: Mapping[str, str]

    @property
    def prompt(self) -> str:
        """All its messages as one text."""
        return "\n".join(str(message["content"]) for message in self.body["messages"])


@dataclass(frozen=True)
class Response:
    """What the server sends back."""

    content: bytes
    status: int = 200
    content_type: str = "application/json"
    # Clients that are told when to come back do so at once, so that retries cost no time.
    headers: Mapping[str, str] = field(default_factory=lambda: {"retry-after-ms": "1"})
    broken_off: bool = False
    """Whether the connection closes halfway through the content."""
    drips: float = 0.0
    """Seconds between one byte of the content and the next."""
    surplus: bytes = b""
    """What comes right after the content, and belongs to no request."""


@dataclass(frozen=True)
class Raw(Response):
    """What is written to the connection as it is, piece by piece; then the connection closes."""

    pieces: Callable[[], Iterable[bytes]] = tuple
    pause: float = 0.0
    """Seconds between the pieces."""


Reply = Callable[[Body], Response | None]
"""None closes the connection without an answer."""


class OpenAIServer:
    """The server: script it, use it, count what it was asked."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.forget()
        self._http = _Quiet(("127.0.0.1", 0), _handler_of(self))
        self._thread = Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """What OPENAI_BASE_URL is set to."""
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @property
    def chats(self) -> list[Request]:
        """The requests for a chat completion, in order."""
        return [r for r in self.requests if r.path == "/v1/chat/completions"]

    @property
    def embeddings(self) -> list[Request]:
        """The requests for vectors, in order."""
        return [r for r in self.requests if r.path == "/v1/embeddings"]

    def forget(self) -> None:
        """Begin anew: no request was made, and only vectors are to be had."""
        self.requests: list[Request] = []
        self._scripts: dict[str, list[Reply]] = {"embeddings": [embedded()]}

    def on(self, asked: str, *replies: Reply) -> None:
        """What to say when asked for a form of this name, for `plain` text or for `embeddings`.

        Replies are given in turn; the last one stays.
        """
        self._scripts[asked] = list(replies)

    def on_all(self, *replies: Reply) -> None:
        """What to say to every question for a form, or for plain text, whatever it is."""
        self._scripts = {"embeddings": self._scripts["embeddings"], "anything": list(replies)}

    def answer(self, request: Request) -> Response | None:
        """Note the request and give the reply that is due."""
        with self._lock:
            self.requests.append(request)
            script = self._scripts.get(_asked(request), self._scripts.get("anything"))
            if script is None:
                return failed(404, f"nothing is scripted for {_asked(request)}")(request.body)
            reply = script.pop(0) if len(script) > 1 else script[0]
        return reply(request.body)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def filled(**values: Any) -> Reply:
    """The form filled in, in the way the request asks for."""
    return written(json.dumps(values))


def written(text: str, finish_reason: str = "stop") -> Reply:
    """Any text where the form is expected: a call's arguments, or the content."""
    return lambda body: _completion(
        body,
        _message(calls=[text], name=_tool(body)) if _tool(body) else _message(text),
        finish_reason,
    )


def called(*arguments: str) -> Reply:
    """One function call for each text."""
    return lambda body: _completion(body, _message(calls=arguments, name=_tool(body)), "stop")


def said(content: str | None, finish_reason: str = "stop", refusal: str | None = None) -> Reply:
    """A message with this content and nothing else."""
    return lambda body: _completion(body, _message(content, refusal=refusal), finish_reason)


def failed(status: int, message: str, code: str | None = None) -> Reply:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "scripted", "code": code}
    return sent(json.dumps({"error": error}), status)


def sent(content: str, status: int = 200, content_type: str = "application/json") -> Reply:
    """These very bytes."""
    return lambda body: Response(content.encode(), status, content_type)


def hung_up(body: Body) -> None:
    """Close the connection without an answer."""


def broken_off(reply: Reply) -> Reply:
    """The first half of a reply, then a closed connection."""

    def half(body: Body) -> Response | None:
        response = reply(body)
        return response and replace(response, broken_off=True)

    return half


def raw(pieces: Callable[[], Iterable[bytes]], pause: float = 0.0) -> Reply:
    """Bytes that need not be HTTP."""
    return lambda body: Raw(b"", pieces=pieces, pause=pause)


def changed(reply: Reply, change: Callable[[Body], object]) -> Reply:
    """A reply whose JSON is something else: what `change` makes of it, as it is or as text."""

    def other(body: Body) -> Response | None:
        response = reply(body)
        if response is None:
            return None
        made = change(json.loads(response.content))
        content = made if isinstance(made, str) else json.dumps(made)
        return replace(response, content=content.encode("utf-8", "surrogatepass"))

    return other


def waiting_for(reply: Reply, seconds: str) -> Reply:
    """A reply that asks to come back after so many seconds."""

    def later(body: Body) -> Response | None:
        response = reply(body)
        return response and replace(response, headers={"retry-after": seconds})

    return later


def dripped(reply: Reply, seconds: float) -> Reply:
    """A reply sent byte by byte."""

    def slow(body: Body) -> Response | None:
        response = reply(body)
        return response and replace(response, drips=seconds)

    return slow


def delayed(reply: Reply, seconds: Callable[[Body], float]) -> Reply:
    """A reply that takes its time."""

    def late(body: Body) -> Response | None:
        time.sleep(seconds(body))
        return reply(body)

    return late


def held(release: Event, reply: Reply) -> Reply:
    """A reply that is given when the test says so, or never."""

    def late(body: Body) -> Response | None:
        return reply(body) if release.wait(_PATIENCE_SECONDS) else None

    return late


def embedded(dimension: int = 1536, fill: float | None = None) -> Reply:
    """Vectors that are alike for texts with the same words; or made of one number throughout."""
    return lambda body: _vectors(
        body, [[fill] * dimension if fill else _vector(t, dimension) for t in body["input"]]
    )


def ragged(body: Body) -> Response:
    """Vectors of different lengths in one batch."""
    return _vectors(body, [_vector(t, 8 + i) for i, t in enumerate(body["input"])])


def _asked(request: Request) -> str:
    if request.path == "/v1/embeddings":
        return "embeddings"
    form = request.body.get("response_format", {}).get("json_schema", {}).get("name")
    return form or _tool(request.body) or "plain"


def _tool(body: Body) -> str | None:
    return body["tools"][0]["function"]["name"] if body.get("tools") else None


def _message(
    content: str | None = None,
    *,
    refusal: str | None = None,
    calls: Any = (),
    name: str | None = None,
) -> Body:
    message: Body = {"role": "assistant", "content": content, "refusal": refusal}
    if calls:
        message["tool_calls"] = [
            {"id": f"call_{i}", "type": "function", "function": {"name": name, "arguments": text}}
            for i, text in enumerate(calls)
        ]
    return message


def _completion(body: Body, message: Body, finish_reason: str) -> Response:
    head = {"id": "chatcmpl-1", "created": 0, "model": body["model"]}
    choice = {"index": 0, "finish_reason": finish_reason}
    if body.get("stream"):
        calls = [{**c, "index": i} for i, c in enumerate(message.get("tool_calls", []))]
        delta = {**message, "tool_calls": calls} if calls else message
        kind = {**head, "object": "chat.completion.chunk"}
        return _events(
            {**kind, "choices": [{"index": 0, "delta": delta}]},
            {**kind, "choices": [{**choice, "delta": {}}]},
        )
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return _json(
        {
            **head,
            "object": "chat.completion",
            "usage": usage,
            "choices": [{**choice, "message": message}],
        }
    )


def _events(*chunks: Body) -> Response:
    lines = [*(json.dumps(chunk) for chunk in chunks), "[DONE]"]
    content = "".join(f"data: {line}\n\n" for line in lines)
    return Response(content.encode(), content_type="text/event-stream")


def _vectors(body: Body, vectors: list[list[float]]) -> Response:
    packed = body.get("encoding_format") == "base64"
    data = [
        {
            "object": "embedding",
            "index": i,
            "embedding": base64.b64encode(array("f", vector)).decode() if packed else vector,
        }
        for i, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return _json({"object": "list", "model": body["model"], "data": data, "usage": usage})


def _vector(text: str, dimension: int) -> list[float]:
    vector = [0.0] * dimension
    for word in text.lower().split():
        vector[zlib.crc32(word.encode()) % dimension] += 1.0
    return vector


def _json(body: Body) -> Response:
    return Response(json.dumps(body).encode())


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away: giving up is theirs to do."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler_of(server: OpenAIServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept, as real servers keep them
        disable_nagle_algorithm = True  # else each answer is 40 ms late

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            body = json.loads(self.rfile.read(length))
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = server.answer(Request(self.path, body, headers))
            if response is None:
                self.close_connection = True
                return
            if isinstance(response, Raw):
                self.close_connection = True
                for piece in response.pieces():
                    self.wfile.write(piece)
                    time.sleep(response.pause)
                return
            self.send_response(response.status)
            self.send_header("content-type", response.content_type)
            self.send_header("content-length", str(len(response.content)))
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.end_headers()
            length = len(response.content)
            whole = response.content[: length // 2 if response.broken_off else length]
            step = 1 if response.drips else max(length, 1)
            for start in range(0, len(whole), step):
                time.sleep(response.drips)
                self.wfile.write(whole[start : start + step] + response.surplus)
            self.close_connection |= response.broken_off

        def log_message(self, *_: object) -> None:
            """Say nothing: the requests are kept."""

    return Handler
