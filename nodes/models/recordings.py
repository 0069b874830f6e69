"""Recordings of all exchanges with the model servers, and their replay without a network.

A recording is a file of JSON lines. The first one holds the secret behind the fences of prompts, so
that the same run writes the same prompts again. Every other one holds a request and its answer,
byte for byte, without headers that could hold a key; the key itself is struck out everywhere.
"""

import base64
import hashlib
import json
import re
import secrets
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, TypedDict

from acegraph.state import InvalidSettings
from acegraph.state.database.places import private_file

_FORMAT: Final = "acegraph exchanges 1"
_STRUCK_OUT: Final = b"[key]"
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

    def __init__(self, file: Path, *secrets_: str) -> None:
        self.file = file
        self._secrets = [_spellings(text) for text in secrets_ if len(text) >= _SECRET_FROM]
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
            content = _as_text(self._without_secrets(exchange.received))
            received = {"status": exchange.status, "headers": headers, **content}
        sent = _as_text(self._without_secrets(exchange.sent))
        self._write(_Line(path=exchange.path, sent=sent, received=received))

    def _without_secrets(self, content: bytes) -> bytes:
        for pattern in self._secrets:
            content = pattern.sub(_STRUCK_OUT, content)
        return content

    def _write(self, entry: Mapping[str, object]) -> None:
        line = self._without_secrets(json.dumps(entry, ensure_ascii=False).encode())
        with self._lock, private_file(self.file).open("ab") as out:
            out.write(line + b"\n")


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


def _spellings(secret: str) -> re.Pattern[bytes]:
    r"""A secret as a server may repeat it: plain, escaped for JSON, URLs or HTML, hex, base64.

    >>> _spellings("sk-canary").sub(b"*", rb"a sk-canary \u0073k%2Dcanary &#115;k-canary")
    b'a * * *'
    >>> _spellings("sk-canary").sub(b"*", base64.b64encode(b"ann:sk-canary"))
    b'YW5uO*'
    """
    plain = b"".join(map(_forms, secret))
    raw = secret.encode()
    # In base64 the same bytes look different at each of three places. The signs at its ends also
    # hold bits of its neighbours: they are not looked for, but struck out with the rest.
    words = {
        re.escape(alphabet(b"\0" * place + raw)[place + (place > 0) : -4].rstrip(b"="))
        for place in range(3)
        for alphabet in (base64.b64encode, base64.urlsafe_b64encode)
    }
    in_base64 = rb"[\w+/-]?(?:" + b"|".join(sorted(words)) + rb")[\w+/=-]{0,4}"
    return re.compile(b"(?i:" + plain + b"|" + raw.hex().encode() + b")|" + in_base64)


def _forms(sign: str) -> bytes:
    """A pattern of the ways to write one character."""
    raw, number = sign.encode(), ord(sign)
    units = sign.encode("utf-16-be").hex()
    escaped = "".join(rf"\\{{1,8}}u{units[i : i + 4]}" for i in range(0, len(units), 4))
    in_url = "".join(f"%(?:25)*{byte:02x}" for byte in raw)
    ways = (rf"\\{{0,4}}{re.escape(sign)}", escaped, in_url, f"&#0*{number};", f"&#x0*{number:x};")
    return f"(?:{'|'.join(ways)})".encode()


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
