"""Logs on standard error, where they are asked for: lines of JSON for machines, or of text.

No line holds a value of a transaction. An exception that nobody expected is told by its kind and
its places in the code, since its text may repeat what it was given.
"""

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Final

from acegraph.state.errors import InvalidSettings

VARIABLE: Final = "ACE_LOG_FORMAT"
FORMATS: Final = ("json", "text")
_LOGGERS: Final = ("acegraph", "uvicorn")
_ErrorInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)
_USUAL: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "color_message"}


class TextFormatter(logging.Formatter):
    """One line for people; of an exception its kind and its places."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatException(self, ei: _ErrorInfo) -> str:  # noqa: N802
        """The kind of an exception, and where it came from."""
        kind, _, places = ei
        frames = traceback.extract_tb(places)
        return f"{kind.__name__ if kind else ''} at {' '.join(map(_place, frames))}"


class JsonFormatter(TextFormatter):
    """One object a line: `at`, `level`, `logger`, `message`, `process`, and what `extra` adds."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip(),
            "process": record.process,
        }
        line |= {name: value for name, value in vars(record).items() if name not in _USUAL}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _place(frame: traceback.FrameSummary) -> str:
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"


def is_asked_for() -> bool:
    """Whether the environment asks for logs."""
    return bool(os.environ.get(VARIABLE))


def start_logging() -> None:
    """Write the log to standard error in the format that the environment asks for, if it does."""
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if not wanted:
        return
    if wanted not in FORMATS:
        raise InvalidSettings(f"{VARIABLE} is {' or '.join(FORMATS)}, not {wanted!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if wanted == "json" else TextFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
