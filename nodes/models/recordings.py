"""Recordings of all exchanges with the model servers, and their replay without a network.

A recording is a file of JSON lines. The first one holds the secret behind the fences of prompts, so
that the same run writes the same prompts again. Every other one holds a request and its answer,
byte for byte, without headers that could hold a key; the key itself is struck out everywhere.
"""

import base64
import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, TypedDict

from acegraph.state import InvalidSettings

_FORMAT: Final = "acegraph exchanges 1"
_STRUCK_OUT: Final = "[key]"
_SECRET_FROM: Final = 8
"""Shorter keys ("none", "x") are placeholders for servers without keys, and occur in any text."""
_HEADERS: Final = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
"""The headers of an answer that change how it is read. Others may name people and accounts."""


class _Message(TypedDict, total=False):
    """A request, an answer or a failure in the file; content that is not UTF-8 is in base64."""

    text: str
    base64: str
    status: int
    headers: dict[str, str]
    error: str


class _Line(TypedDict):
    """One exchange in the file."""

    path: str
    sent: _Message
    received: _Message


@dataclass(frozen=True)
class Exchange:
    """One request and what came back: an answer, or a failure of the connection."""

    path: str
    sent: bytes
    status: int = 0
    headers: Mapping[str, str] | None = None
    received: bytes = b""
    error: str = ""
    """The name of the failure if no answer came."""


class Recorder:
    """Writes each exchange to a file as soon as it is over; continues an existing recording."""

    def __init__(self, file: Path, key: str = "") -> None:
        self.file, self._key = file, key
        self._is_secret = len(key) >= _SECRET_FROM
        self._lock = Lock()
        if file.exists() and file.stat().st_size:
            self.secret = _secret_of(file)
        else:
            self.secret = secrets.token_hex(16)
            self._write({"format": _FORMAT, "secret": self.secret})

    def note(self, exchange: Exchange) -> None:
        """Write one exchange."""
        headers = {n: v for n, v in (exchange.headers or {}).items() if n.lower() in _HEADERS}
        received: _Message = {"error": exchange.error}
        if not exchange.error:
            content = self._without_key(exchange.received)
            received = {"status": exchange.status, "headers": headers, **content}
        sent = self._without_key(exchange.sent)
        self._write(_Line(path=exchange.path, sent=sent, received=received))

    def _without_key(self, content: bytes) -> _Message:
        """The content without the key, which `_write` would not find in base64."""
        if self._is_secret:
            content = content.replace(self._key.encode(), _STRUCK_OUT.encode())
        return _as_text(content)

    def _write(self, entry: Mapping[str, object]) -> None:
        line = json.dumps(entry, ensure_ascii=False)
        if self._is_secret:
            line = line.replace(json.dumps(self._key)[1:-1], _STRUCK_OUT)
        with self._lock, self.file.open("a", encoding="utf-8") as out:
            out.write(line + "\n")


class Player:
    """Answers requests from a recording; a repeated request gets its recorded answers in order."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.secret = _secret_of(file)
        self._lock = Lock()
        self._answers: dict[str, list[Exchange]] = defaultdict(list)
        # Not splitlines: a model's text may hold other line separators, such as U+2028.
        lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for number, line in enumerate(lines[1:], start=2):
            try:
                exchange = _exchange(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidSettings(f"{file}:{number} is no recorded exchange: {error}") from None
            self._answers[_fingerprint(exchange.path, exchange.sent)].append(exchange)

    def has(self, path: str, sent: bytes) -> bool:
        """Whether the recording has another answer to exactly this request."""
        with self._lock:
            return bool(self._answers.get(_fingerprint(path, sent)))

    def answer(self, path: str, sent: bytes) -> Exchange:
        """The next recorded exchange of exactly this request."""
        with self._lock:
            left = self._answers.get(_fingerprint(path, sent))
            if left:
                return left.pop(0)
        asked = "is not in" if left is None else "was asked less often in"
        raise InvalidSettings(
            f"this {_endpoint(path)} request {asked} the recording {self.file}: replay with the "
            "data, settings and version of acegraph that it was recorded with, or record anew"
        )


Recording = Recorder | Player
"""A recording in use: one that is being written, or one that is being replayed."""


def _secret_of(file: Path) -> str:
    """The secret in the first line of a recording."""
    try:
        with file.open(encoding="utf-8") as lines:
            head = json.loads(lines.readline())
        if head["format"] == _FORMAT:
            return str(head["secret"])
    except FileNotFoundError:
        raise InvalidSettings(f"no recording at {file}; ACE_RECORD={file} makes one") from None
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise InvalidSettings(f"{file} is not a recording of acegraph; nothing was changed")


def _exchange(line: _Line) -> Exchange:
    received, sent, path = line["received"], _as_bytes(line["sent"]), line["path"]
    if "error" in received:
        return Exchange(path, sent, error=received["error"])
    return Exchange(path, sent, received["status"], received["headers"], _as_bytes(received))


def _as_text(content: bytes) -> _Message:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _as_bytes(content: _Message) -> bytes:
    if "base64" in content:
        return base64.b64decode(content["base64"])
    return content["text"].encode()


def _endpoint(path: str) -> str:
    """The last part of the path, which is the same on every server."""
    return path.rstrip("/").rpartition("/")[2]


def _fingerprint(path: str, sent: bytes) -> str:
    return f"{_endpoint(path)} {hashlib.sha256(sent).hexdigest()}"
