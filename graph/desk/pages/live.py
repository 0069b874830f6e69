"""Live: decisions as they come, by server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from time import monotonic
from typing import TYPE_CHECKING, Final

import numpy as np
from starlette.responses import StreamingResponse

from acegraph.graph.desk.desk import Desk, Page
from acegraph.graph.desk.pages.decisions import Line, lines_of
from acegraph.graph.desk.visit import Visit

if TYPE_CHECKING:
    from starlette.responses import Response

_SHOWN: Final = 30
_EVERY_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 300.0
"""After this the browser asks again: so a stream ends soon after its session."""


def show(desk: Desk, visit: Visit) -> Response:
    """The newest decisions; the page follows from here on."""
    columns = desk.decisions()
    newest = np.arange(len(columns))[-_SHOWN:][::-1]
    found = {"lines": lines_of(desk, columns, newest), "after": len(columns)}
    return desk.page(visit, "live.html", found)


def follow(desk: Desk, visit: Visit) -> Response:
    """The stream of new decisions, each as a row of the table."""
    after = visit.request.headers.get("last-event-id") or visit.asked("after")
    start = int(after) if after.isascii() and after.isdigit() and len(after) < 16 else 0
    return StreamingResponse(_events(desk, visit, start), media_type="text/event-stream")


async def _events(desk: Desk, visit: Visit, start: int) -> AsyncIterator[str]:
    began = monotonic()
    while monotonic() - began < _LONGEST_SECONDS:
        if await visit.request.is_disconnected():
            return
        if await asyncio.to_thread(desk.entrance.session, visit.request) is None:
            return
        lines, start = await asyncio.to_thread(_news, desk, start)
        for number, line in lines:
            row = desk.part("_line.html", {"line": line, "base": visit.base})
            data = "".join(f"data: {part}\n" for part in row.splitlines())
            yield f"id: {number}\n{data}\n"
        if not lines:
            yield ": nothing new\n\n"
        await asyncio.sleep(_EVERY_SECONDS)


def _news(desk: Desk, start: int) -> tuple[list[tuple[int, Line]], int]:
    """The decisions after so many, at most a page of them, and how many there are now."""
    columns = desk.decisions()
    size = len(columns)
    rows = np.arange(min(start, size), size)[-_SHOWN:]
    return list(zip((rows + 1).tolist(), lines_of(desk, columns, rows), strict=True)), size


PAGES: Final = (
    Page("GET", "/live", "viewer", show),
    Page("GET", "/live/events", "viewer", follow),
)
