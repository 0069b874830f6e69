"""When a request is made again, and after which pause. The only place that says so.

The clients' own retries are switched off. A deadline covers all attempts and the pauses between
them. It knows nothing of HTTP clients: a status, headers and the name of an error are enough.
"""

import email.utils
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

STATUSES: Final = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Answers that a second request may change. 400, 401, 403, 404 and 422 say: not with this one."""
ERRORS: Final = frozenset(
    {
        "ConnectError",
        "ConnectTimeout",
        "PoolTimeout",
        "ReadError",
        "ReadTimeout",
        "RemoteProtocolError",
        "WriteError",
        "WriteTimeout",
    }
)
"""Failures of the line, by the name httpx gives them."""
HOPELESS: Final = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes that come with status 429 and do not pass by waiting."""


@dataclass(frozen=True)
class Retry:
    """How long and how often one request is tried."""

    attempts: int = 3
    deadline: float = 150.0
    """Seconds for all attempts together."""
    timeout: float = 60.0
    """Seconds for one of them."""
    first_pause: float = 0.5
    longest_pause: float = 8.0

    def pause_after_error(self, error: str, attempt: int) -> float | None:
        """Seconds to wait after a failure of the line; None gives up."""
        return self._pause(attempt) if error in ERRORS else None

    def pause_after_status(
        self, status: int, headers: Mapping[str, str], code: str, attempt: int
    ) -> float | None:
        """Seconds to wait after an answer; None takes it as it is.

        >>> Retry().pause_after_status(429, {"retry-after": "7"}, "", attempt=1)
        7.0
        >>> Retry().pause_after_status(401, {}, "", attempt=1) is None
        True
        """
        if status not in STATUSES or code in HOPELESS or headers.get("x-should-retry") == "false":
            return None
        pause = self._pause(attempt)
        wanted = retry_after(headers)
        return pause if pause is None or wanted is None else wanted

    def _pause(self, attempt: int) -> float | None:
        if attempt >= self.attempts:
            return None
        # Many that were turned away at once must not come back at once.
        longest = min(self.first_pause * 2 ** (attempt - 1), self.longest_pause)
        return float(longest * random.uniform(0.75, 1.0))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The pause a server asks for, in seconds or as a date; None where it asks for none.

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
    except (KeyError, ValueError):
        return None
    return max(0.0, date.timestamp() - time.time())
