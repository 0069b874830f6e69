"""Recordings: a question that a file holds is answered from it, any other is asked and added.

A recording is a file of JSON lines. The first one holds the secret behind the fences of prompts, so
that the same run writes the same prompts again. Every other one holds a question and its answer,
without headers; the key itself is struck out.
"""

import json
import secrets
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Final

from acegraph.state import InvalidSettings
from acegraph.state.database.places import private_file

_FORMAT: Final = "acegraph answers 1"
_STRUCK_OUT: Final = "[key]"
_SECRET_FROM: Final = 8
"""Shorter keys ("none", "x") are placeholders for servers without keys, and occur in any text."""


class Recording:
    """The answers in a file. Without a server that can be asked, a missing one stops the run."""

    def __init__(self, file: Path, hidden: tuple[str, ...], can_ask: bool) -> None:
        self._file, self._can_ask = file, can_ask
        self._hidden = [text for text in hidden if len(text) >= _SECRET_FROM]
        self._lock = Lock()
        self._answers: dict[tuple[str, str], bytes] = {}
        if file.exists() and file.stat().st_size:
            self.secret = self._read()
        else:
            self.secret = secrets.token_hex(16)
            self._write({"format": _FORMAT, "secret": self.secret})

    def answer(self, path: str, sent: bytes) -> bytes | None:
        """The recorded answer to exactly this question; None if the server has to be asked."""
        found = self._answers.get(self._key(path, sent))
        if found is None and not self._can_ask:
            raise InvalidSettings(
                f"this question is not in the recording {self._file}, and without OPENAI_API_KEY "
                "nobody can be asked: use the data, settings and version of acegraph that it was "
                "recorded with"
            )
        return found

    def note(self, path: str, sent: bytes, received: bytes) -> None:
        """Add an answer."""
        key, text = self._key(path, sent), self._without_secrets(received)
        self._answers[key] = text.encode()
        self._write({"path": key[0], "sent": key[1], "received": text})

    def _key(self, path: str, sent: bytes) -> tuple[str, str]:
        """The last part of the path, which is the same on every server, and what was sent."""
        return path.rstrip("/").rpartition("/")[2], self._without_secrets(sent)

    def _read(self) -> str:
        try:
            # Not splitlines: a model's text may hold other line separators, such as U+2028.
            lines = self._file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
            head, *entries = map(json.loads, lines)
            if head["format"] == _FORMAT:
                for one in entries:
                    self._answers[one["path"], one["sent"]] = one["received"].encode()
                return str(head["secret"])
        except (ValueError, KeyError, TypeError, AttributeError):
            pass
        raise InvalidSettings(f"{self._file} is not a recording of acegraph; nothing was changed")

    def _without_secrets(self, content: bytes) -> str:
        text = content.decode("utf-8", "replace")
        for hidden in self._hidden:
            text = text.replace(hidden, _STRUCK_OUT)
        return text

    def _write(self, entry: Mapping[str, str]) -> None:
        line = json.dumps(entry, ensure_ascii=False)
        with self._lock, private_file(self._file).open("a", encoding="utf-8") as out:
            out.write(line + "\n")
