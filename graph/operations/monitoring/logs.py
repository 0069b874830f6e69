"""Logs on standard error, where they are asked for: lines of JSON.

No line holds a value of a transaction. An exception that nobody expected is told by its kind and
its places in the code, since its text may repeat what it was given.
"""

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final

from acegraph.state.errors import InvalidSettings

VARIABLE: Final = "ACE_LOG_FORMAT"
_LOGGERS: Final = ("acegraph", "uvicorn")
_USUAL: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "color_message"}


class JsonFormatter(logging.Formatter):
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

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """The kind of an exception, and where it came from."""
        kind, _, places = ei
        frames = traceback.extract_tb(places)
        named = (f"{one.filename.rpartition('/')[2]}:{one.lineno}" for one in frames)
        return f"{kind.__name__ if kind else ''} at {' '.join(named)}"


def is_asked_for() -> bool:
    """Whether the environment asks for logs."""
    return bool(os.environ.get(VARIABLE))


def start_logging() -> None:
    """Write the log to standard error, if the environment asks for it."""
    if not is_asked_for():
        return
    if (wanted := os.environ[VARIABLE].strip().lower()) != "json":
        raise InvalidSettings(f"{VARIABLE} is json, not {wanted!r}")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
