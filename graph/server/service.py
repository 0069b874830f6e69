"""What the handlers of the service work with: the playbook, what decides, limits and counts.

Requests that come at the same time are decided together, and answered after the commit. While one
batch is at work the next one gathers. Whoever comes when too many wait is told to come again.

The database is opened when it is first needed: a service that starts before its database becomes
ready later.
"""

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final
from uuid import uuid4

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from acegraph.graph.build import Parts, gather_parts
from acegraph.graph.operations.decide import BATCH, Answer, adecide_many
from acegraph.graph.server.access import NotAllowed, bearer_token, check_role, user_of
from acegraph.state import AceContext, AceInput, BulletPlaybook
from acegraph.state.errors import AceError
from acegraph.state.maintenance.people.users import Role, User

disable_created_metrics()  # type: ignore[no-untyped-call]  # when a process began to count says nothing
Decide = Callable[[Sequence[AceInput]], Awaitable[list[Answer]]]
_Request = tuple[Sequence[AceInput], asyncio.Future[list[Answer]]]
_PART: Final = 200
"""So many transactions of one request are decided before it is the turn of other requests."""
EVERYBODY: Final = User("everyone", "administrator")
"""Who is meant by a request without a token, where the service runs without users."""


@dataclass(frozen=True)
class ServiceSettings:
    """How a service works."""

    url: str = ""
    learn: bool = True
    """Whether decisions count and mistakes are learned from."""
    without_users: bool = False
    """Whether everybody who reaches the service is an administrator."""
    most_waiting: int = 4_000
    """Transactions that may wait at once in one process; half of them from long requests."""


class Meters:
    """What one process counts."""

    def __init__(self) -> None:
        self.registry, self._worker = CollectorRegistry(), str(os.getpid())
        counter = partial(Counter, namespace="acegraph", registry=self.registry)
        answers = "Decisions given by this process since it started."
        self._answers = counter("answers", answers, ("worker", "decision"))
        model = "Calls, tokens and costs of language models."
        self._model = counter("model", model, ("worker", "what"))
        labels = ("worker", "path", "status")
        self._seconds = Histogram(
            "acegraph_request_seconds", "Time until an answer.", labels, registry=self.registry
        )

    def note_request(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._seconds.labels(self._worker, path, status).observe(seconds)

    def note_answer(self, answer: Answer) -> None:
        """Count an answer, and what its models used."""
        if isinstance(answer, AceError):
            self._answers.labels(self._worker, type(answer).__name__).inc()
            return
        self._answers.labels(self._worker, answer["decision"]).inc()
        for usage in answer["usage"].values():
            for name, value in usage.items():
                if isinstance(value, int | float):
                    self._model.labels(self._worker, name).inc(value)


class TooMuch(AceError):
    """More was sent than is taken."""


@dataclass
class Batcher:
    """Gathers transactions of many requests into batches."""

    decide_batch: Decide
    most_waiting: int
    """So many transactions may wait at once; half of them may be of long requests, so that short
    ones find a place."""

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
        most = self.most_waiting // (2 if len(given) > _PART else 1)
        if self.waiting + len(given) > most:
            raise TooMuch(f"{self.waiting} transactions are waiting; try again later")
        self.waiting += len(given)
        try:
            parts = [given[start : start + _PART] for start in range(0, len(given), _PART)]
            return [answer for part in parts for answer in await self._decided(part)]
        finally:
            self.waiting -= len(given)

    async def _decided(self, given: Sequence[AceInput]) -> list[Answer]:
        loop = asyncio.get_running_loop()
        answers: asyncio.Future[list[Answer]] = loop.create_future()
        self._requests.append((given, answers))
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
            # Whoever has left is not decided for.
            await self._answer([one for one in requests if not one[1].done()])

    async def _answer(self, requests: Sequence[_Request]) -> None:
        if not requests:
            return
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


class Service:
    """What the handlers work with."""

    def __init__(self, settings: ServiceSettings, playbook: BulletPlaybook | None = None) -> None:
        self.settings = settings
        self.meters = Meters()
        self._context = AceContext(learn=None if settings.learn else False)
        self._batcher = Batcher(
            lambda given: adecide_many(self.parts, given), settings.most_waiting
        )
        self.reading = asyncio.Lock()
        """One long body is read at a time."""
        self._playbook = playbook
        self._parts: Parts | None = None
        self._opening = Lock()

    @property
    def playbook(self) -> BulletPlaybook:
        """The playbook; it is opened when it is first needed."""
        with self._opening:
            if self._playbook is None:
                self._playbook = BulletPlaybook(self.settings.url)
            return self._playbook

    @property
    def parts(self) -> Parts:
        """What decides; made with the playbook."""
        playbook = self.playbook
        with self._opening:
            if self._parts is None:
                self._parts = gather_parts(playbook, context=self._context)
            return self._parts

    async def user(self, header: str, role: Role) -> User:
        """The user of a header `Authorization`, who must have a role."""
        is_anybody = not header and self.settings.without_users
        user = EVERYBODY if is_anybody else await self.user_of(bearer_token(header))
        if user is None:
            raise NotAllowed("a valid token is wanted: Authorization: Bearer NAME.SECRET", 401)
        check_role(user, role)
        return user

    async def user_of(self, token: str) -> User | None:
        """The user of a token; None if it is nobody's."""
        return await asyncio.to_thread(lambda: user_of(token, self.playbook.database))

    async def decide(self, given: Sequence[AceInput]) -> list[Answer]:
        """Decide the transactions of a request together with those of others."""
        answers = await self._batcher.decide(given) if given else []
        for answer in answers:
            self.meters.note_answer(answer)
        return answers

    def close(self) -> None:
        """Close the playbook, unless another part of the process opened it."""
        if self._playbook is not None and self.settings.url:
            self._playbook.close()
