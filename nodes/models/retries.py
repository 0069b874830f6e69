"""Which failed requests are sent again, and after which pause; no other module decides this.

The retries of OpenAI's library are switched off. One deadline covers all attempts and the pauses
between them, and all requests that one question takes. This module knows no HTTP client: it sees a
status, headers and the name of an error.
"""

import email.utils
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

STATUSES: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses that may change on a second attempt; 400, 401, 403, 404 and 422 do not."""
ERRORS: Final = frozenset(
    "ConnectError ConnectTimeout PoolTimeout ReadError ReadTimeout RemoteProtocolError WriteError "
    "WriteTimeout".split()
)
"""Failures of the connection, by the names of httpx."""
HOPELESS: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes that come with status 429 and do not go away by waiting."""

_asked_at: ContextVar[list[float] | None] = ContextVar("asked_at", default=None)
"""The moment of a question's first request; a list, because requests run in copied contexts."""


@contextmanager
def one_question() -> Iterator[None]:
    """All requests made inside have one deadline together: a form may take three."""
    token = _asked_at.set([])
    try:
        yield
    finally:
        _asked_at.reset(token)


@dataclass(frozen=True)
class Retry:
    """How long and how often one request is attempted."""

    attempts: int = 3
    deadline: float = 150.0
    """Seconds for all attempts together, and for all requests of one question."""
    timeout: float = 60.0
    """Seconds for one attempt."""
    first_pause: float = 0.5
    longest_pause: float = 8.0

    def end(self) -> float:
        """The moment (time.monotonic) of the deadline."""
        asked_at = _asked_at.get()
        if asked_at is None:
            return time.monotonic() + self.deadline
        if not asked_at:
            asked_at.append(time.monotonic())
        return asked_at[0] + self.deadline

    def pause_after_error(self, error: str, attempt: int) -> float | None:
        """Seconds to wait after a failure of the connection; None means give up."""
        return self._pause(attempt) if error in ERRORS else None

    def pause_after_status(
        self, status: int, headers: Mapping[str, str], code: str, attempt: int
    ) -> float | None:
        """Seconds to wait before the next attempt; None means that this answer is final.

        >>> Retry().pause_after_status(429, {"retry-after": "7"}, "", attempt=1)
        7.0
        >>> Retry().pause_after_status(401, {}, "", attempt=1) is None
        True
        """
        if status not in STATUSES or code in HOPELESS or headers.get("x-should-retry") == "false":
            return None
        pause = self._pause(attempt)
        requested = retry_after(headers)
        return pause if pause is None or requested is None else requested

    def _pause(self, attempt: int) -> float | None:
        if attempt >= self.attempts:
            return None
        # Requests that were refused at the same moment must not all come back at the same moment.
        longest = min(self.first_pause * 2 ** (attempt - 1), self.longest_pause)
        return float(longest * random.uniform(0.75, 1.0))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause in seconds that a server asks for, as a number or a date; None if it asks for none.

    >>> retry_after({"retry-after-ms": "1500"})
    1.5
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    try:
        date = email.utils.parsedate_to_datetime(headers["retry-after"])
        return max(0.0, date.timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):
        return None
