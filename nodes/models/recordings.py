"""A recording of every exchange with the models, and its replay without a network.

A file of JSON lines. The first holds the secret behind the fences of the prompts, so that the same
run writes the same prompts again; each other one is a request and what came back, byte for byte.
Headers that could hold a key are not written, and the key itself is struck out wherever it stands.
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
from typing import Any, Final

from acegraph.state import InvalidSettings

_FORMAT: Final = "acegraph exchanges 1"
_STRUCK_OUT: Final = "[key]"
_SECRET_FROM: Final = 8
"""Shorter keys ("none", "x") are what servers without keys are given; they stand in every text."""
_HEADERS: Final = ("content-type", "retry-after", "retry-after-ms", "x-should-retry")
"""Of the answers: what changes how one is read. All others may name people and accounts."""


@dataclass(frozen=True)
class Exchange:
    """One request and what came back: an answer, or a failure of the line."""

    path: str
    sent: bytes
    status: int = 0
    headers: Mapping[str, str] | None = None
    received: bytes = b""
    error: str = ""
    """The name of the failure, where no answer came."""


class Recorder:
    """Writes exchanges to a file, each when it is over; an existing recording is continued."""

    def __init__(self, file: Path, key: str = "") -> None:
        self.file, self._key = file, key
        self._is_secret = len(key) >= _SECRET_FROM
        self._lock = Lock()
        if file.exists() and file.stat().st_size:
            self.secret = _head(file)
        else:
            self.secret = secrets.token_hex(16)
            self._write({"format": _FORMAT, "secret": self.secret})

    def note(self, exchange: Exchange) -> None:
        """Write one exchange."""
        headers = {n: v for n, v in (exchange.headers or {}).items() if n.lower() in _HEADERS}
        answer: dict[str, Any] = {"error": exchange.error}
        if not exchange.error:
            received = self._without_key(exchange.received)
            answer = {"status": exchange.status, "headers": headers, **received}
        sent = self._without_key(exchange.sent)
        self._write({"path": exchange.path, "sent": sent, "received": answer})

    def _without_key(self, content: bytes) -> dict[str, str]:
        """What base64 hides is struck out before."""
        if self._is_secret:
            content = content.replace(self._key.encode(), _STRUCK_OUT.encode())
        return _as_text(content)

    def _write(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry, ensure_ascii=False)
        if self._is_secret:
            line = line.replace(json.dumps(self._key)[1:-1], _STRUCK_OUT)
        with self._lock, self.file.open("a", encoding="utf-8") as out:
            out.write(line + "\n")


class Player:
    """Answers requests from a recording; the same request asked twice gets its answers in turn."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.secret = _head(file)
        self._lock = Lock()
        self._answers: dict[str, list[Exchange]] = defaultdict(list)
        # Not splitlines: what a model wrote may hold other ends of lines, such as U+2028.
        lines = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        for number, line in enumerate(lines[1:], start=2):
            try:
                exchange = _read(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidSettings(f"{file}:{number} is no recorded exchange: {error}") from None
            self._answers[_name(exchange.path, exchange.sent)].append(exchange)

    def has(self, path: str, sent: bytes) -> bool:
        """Whether this very request has an answer left."""
        with self._lock:
            return bool(self._answers.get(_name(path, sent)))

    def answer(self, path: str, sent: bytes) -> Exchange:
        """What came back when this very request was recorded."""
        with self._lock:
            left = self._answers.get(_name(path, sent))
            if left:
                return left.pop(0)
        asked = "is not in" if left is None else "was asked less often in"
        raise InvalidSettings(
            f"this {_kind(path)} request {asked} the recording {self.file}: replay with the data, "
            "settings and version of acegraph that it was recorded with, or record anew"
        )


def _head(file: Path) -> str:
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


def _read(entry: Mapping[str, Any]) -> Exchange:
    received = entry["received"]
    sent = _as_bytes(entry["sent"])
    if "error" in received:
        return Exchange(entry["path"], sent, error=received["error"])
    return Exchange(
        entry["path"], sent, received["status"], received["headers"], _as_bytes(received)
    )


def _as_text(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def _as_bytes(entry: Mapping[str, str]) -> bytes:
    if "base64" in entry:
        return base64.b64decode(entry["base64"])
    return entry["text"].encode()


def _kind(path: str) -> str:
    """The end of the path: where a server lives does not matter."""
    return path.rstrip("/").rpartition("/")[2]


def _name(path: str, sent: bytes) -> str:
    return f"{_kind(path)} {hashlib.sha256(sent).hexdigest()}"
