"""Connections of the service and the desk: as many as there are files for, none silent for long.

uvicorn limits neither: whoever opens connections and says nothing would keep everybody else out.
"""

import asyncio
import resource
from typing import ClassVar, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

_SECONDS: Final = 10
"""So long a client may take to say what it wants, and to send the rest of what was refused."""
_FILES: Final = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
_MOST: Final = min(512, _FILES // 4)
"""The connections of one process; the database and the files need some, too."""
BACKLOG: Final = min(2_048, _FILES // 8)
"""So many are taken at once, before others are closed: without a file left, none for a second."""


class Connection(H11Protocol):
    """A connection that gives up after some silence, and makes room when there are too many."""

    _silent: ClassVar[dict["Connection", asyncio.TimerHandle]] = {}
    """Those without a request at work, the longest silent first, and when they give up."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the new connection; if it is one too many, the longest silent one goes."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > _MOST:
            next(iter(self._silent)).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        super().connection_lost(exc)
        self._speaks()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._speaks()
        elif self not in self._silent:
            self._silent[self] = self.loop.call_later(_SECONDS, self.transport.close)

    def _speaks(self) -> None:
        if timer := self._silent.pop(self, None):
            timer.cancel()
