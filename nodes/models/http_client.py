"""An HTTP client for OpenAI's library that counts, limits and checks every answer.

Importing this module takes a second, because it imports that library, which also sends again what
may succeed at another attempt. answers.py says what an answer must be.
"""

import importlib
import json
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import openai

from acegraph.nodes.models.answers import as_mapping, check_answer, size_limit
from acegraph.nodes.runtime import usage
from acegraph.state import ModelUnavailable
from acegraph.state.errors import ModelAnswerInvalid

if TYPE_CHECKING:
    import httpx2 as httpx
else:  # openai 3 builds on httpx2, openai 2 on httpx; both have the same interface
    httpx = importlib.import_module(
        openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0]
    )


def _without_credentials(record: logging.LogRecord) -> bool:
    """Let a line of httpx's log pass without user, password and query of the server's URL."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            str(part.copy_with(userinfo=b"", query=None)) if isinstance(part, httpx.URL) else part
            for part in record.args
        )
    return True


logging.getLogger(httpx.__name__).addFilter(_without_credentials)


class Client(openai.DefaultAsyncHttpxClient):
    """The client of one model."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request once, and read and check its whole answer."""
        question = _read_json(request.content)
        name = str(question.get("model", "unknown"))
        usage.begin_call(name)
        request.headers["accept-encoding"] = "identity"  # nothing grows when it is unpacked
        # A redirection could lead anywhere, and as often as the server likes.
        options |= {"stream": True, "follow_redirects": False}
        streamed = await super().send(request, **options)
        response = await _read_whole(streamed, request, size_limit(question), name)
        answer = _read_json(response.content)
        used = as_mapping(answer.get("usage"))
        usage.end_call(name, used.get("prompt_tokens"), used.get("completion_tokens"))
        if (status := response.status_code) >= 400:
            return response  # OpenAI's library decides whether to ask again
        if status >= 300:
            raise ModelUnavailable(
                f"{name}: the server redirects (HTTP {status}), which is not followed; "
                "set OPENAI_BASE_URL to the address it redirects to"
            )
        if status != 200:
            raise ModelAnswerInvalid(f"{name}: the answer has HTTP status {status}, not 200")
        check_answer(name, question, answer, response.content)
        headers = {"content-type": "application/json"}
        return httpx.Response(200, headers=headers, content=response.content, request=request)


async def _read_whole(
    response: httpx.Response, request: httpx.Request, limit: int, name: str
) -> httpx.Response:
    """The answer with all that was sent, which is not packed and not above the limit."""
    body = bytearray()
    async with aclosing(response):
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ModelAnswerInvalid(f"{name}: the answer is packed, which was not asked for")
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > limit:
                raise ModelAnswerInvalid(f"{name}: the answer has more than {limit / 1e6:g} MB")
    status, headers = response.status_code, response.headers
    return httpx.Response(status, headers=headers, content=bytes(body), request=request)


def _read_json(content: bytes) -> dict[str, object]:
    """The JSON object in some bytes; empty where they hold none."""
    try:
        return as_mapping(json.loads(content))
    except (ValueError, RecursionError):
        return {}
