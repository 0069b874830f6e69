"""Requests that come at the same time are decided together, and answered after the commit.

While one batch is at work the next one gathers. Whoever comes when too many wait is told to come
again; what was acknowledged is recorded by then.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from acegraph.graph.operations.decide import BATCH, Answer
from acegraph.state import AceInput
from acegraph.state.errors import AceError

Decide = Callable[[Sequence[AceInput]], Awaitable[list[Answer]]]
_Request = tuple[Sequence[AceInput], asyncio.Future[list[Answer]]]


class TooMuch(AceError):
    """More was sent than is taken."""


@dataclass
class Batcher:
    """Gathers transactions of many requests into batches."""

    decide_batch: Decide
    most_waiting: int
    """So many transactions may wait at once; one request alone may always come."""

    def __post_init__(self) -> None:
        self.waiting = 0
        self._requests: deque[_Request] = deque()
        self._work: asyncio.Task[None] | None = None

    async def decide(self, given: Sequence[AceInput]) -> list[Answer]:
        """The answers to the transactions of one request.

        Each gets an id, if it has none: it may be decided again with others or alone, and counts
        once.
        """
        given = [
            one if one.get("decision_id") is not None else {**one, "decision_id": uuid4().hex}
            for one in given
        ]
        if self.waiting and self.waiting + len(given) > self.most_waiting:
            raise TooMuch(f"{self.waiting} transactions are waiting; try again later")
        loop = asyncio.get_running_loop()
        answers: asyncio.Future[list[Answer]] = loop.create_future()
        self._requests.append((given, answers))
        self.waiting += len(given)
        if self._work is None or self._work.done():
            self._work = loop.create_task(self._decide_all())
        return await answers

    async def _decide_all(self) -> None:
        while self._requests:
            requests = [self._requests.popleft()]
            size = len(requests[0][0])
            while self._requests and size + len(self._requests[0][0]) <= BATCH:
                requests.append(self._requests.popleft())
                size += len(requests[-1][0])
            try:
                await self._answer(requests)
            finally:
                self.waiting -= size

    async def _answer(self, requests: Sequence[_Request]) -> None:
        try:
            answers = await self.decide_batch([one for given, _ in requests for one in given])
        except Exception as error:  # noqa: BLE001  a request gets it
            if len(requests) > 1 and not isinstance(error, AceError):
                for one in requests:  # whoever sent what fails must not fail the others
                    await self._answer([one])
                return
            for _, waiting in requests:
                if not waiting.done():
                    waiting.set_exception(error)
        else:
            for given, waiting in requests:
                if not waiting.done():  # else its client has left
                    waiting.set_result(answers[: len(given)])
                answers = answers[len(given) :]
