"""Model answers fetched ahead of their turn, so that many are under way at once.

Case i is foreseen on the playbook as it stood after the learning of case i - lag: bullets are
selected, the agent decides, and the reflector writes from a mistake. Then, when its turn comes, it
runs through the compiled graph, which finds these answers there instead of asking. Recording and
curation therefore happen in the order of the cases, and the same cases with the same lag give the
same run, however long each answer takes. The vector of a new bullet is bought meanwhile: nobody but
the first who needs it waits for it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from acegraph.graph.build import Parts, build_graph
from acegraph.graph.data.files import Item
from acegraph.nodes.agent.agent import Decision
from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.reflector.node import reflect_on
from acegraph.nodes.runtime.sync_async import OWN_LOOP
from acegraph.nodes.runtime.usage import Meter, innermost, metered
from acegraph.nodes.selector.stages import Selection
from acegraph.state import AceContext, ModelError, Transaction
from acegraph.state.playbook.frozen_view import FrozenPlaybook
from acegraph.state.run.lesson import Lesson
from acegraph.state.run.modes import settle_settings
from acegraph.state.run.schema import Reflection, RunSettings

T = TypeVar("T")


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What was said ahead of time, or the failure, and what it cost."""

    meter: Meter
    value: T | None = None
    error: ModelError | None = None

    def give(self) -> T:
        """Say it now, and let the cost count where it is said."""
        innermost().absorb(self.meter)
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


@dataclass(frozen=True)
class Foreseen:
    """Everything the models said about one case before its turn."""

    view: FrozenPlaybook
    selection: Answer[Selection]
    decision: Answer[Decision]
    reflection: Answer[Reflection | None] | None = None
    """None where there was nothing to reflect on."""


class Lookahead:
    """Foresees cases with some parts, and gives the parts for the graph that takes the turns."""

    def __init__(self, parts: Parts, context: AceContext) -> None:
        self.inner = parts
        self._settings = settle_settings(context)
        self._turn: Foreseen | None = None
        self._buying: set[asyncio.Task[None]] = set()
        self.bought = Meter()
        """What the vectors of new bullets cost."""

    @property
    def parts(self) -> Parts:
        """The same parts, which say what was foreseen where something was."""
        return replace(
            self.inner,
            agent=_Agent(self),
            reflector=_Reflector(self),
            selectors=_Selectors(self),
            visible_playbook=lambda: self.turn.view,
            stores_vectors=False,
        )

    @property
    def turn(self) -> Foreseen:
        """The case whose turn it is: there is never more than one."""
        assert self._turn is not None
        return self._turn

    async def results(
        self,
        cases: Sequence[tuple[Item, str]],
        lag: int,
        take_turn: Callable[[Item, str], dict[str, Any]],
        go_on: Callable[[], bool],
    ) -> AsyncGenerator[tuple[str, dict[str, Any]]]:
        """The results of all cases in their order, at most `lag` of them under way.

        `take_turn` runs the graph on one case; while `go_on` says no, none is begun.
        """
        loop = asyncio.get_running_loop()
        waiting = deque(cases)
        under_way: deque[tuple[Item, str, asyncio.Task[Foreseen]]] = deque()
        try:
            while True:
                while waiting and len(under_way) < lag and go_on():
                    item, case_id = waiting.popleft()
                    view = FrozenPlaybook(self.inner.playbook, self._settings["node"])
                    task = loop.create_task(self._foresee(item, case_id, view))
                    under_way.append((item, case_id, task))
                if not under_way:
                    return
                item, case_id, task = under_way.popleft()
                self._turn = await task
                # In a thread: should the graph still have to ask a model, the others go on.
                result = await asyncio.to_thread(take_turn, item, case_id)
                if bullet_id := result["new_bullet"]:
                    self._buying.add(loop.create_task(self._buy_vector(bullet_id)))
                yield case_id, result
        finally:
            for _, _, task in under_way:
                task.cancel()
            left = [*(task for _, _, task in under_way), *self._buying]
            await asyncio.gather(*left, return_exceptions=True)

    async def _foresee(self, item: Item, case_id: str, view: FrozenPlaybook) -> Foreseen:
        settings, transaction = self._settings, Transaction.of(item["query"])
        selection = await _ask(
            self.inner.selectors.select(transaction, settings, view, case_id, OWN_LOOP)
        )
        assert selection.value is not None
        decision = await _ask(
            self.inner.agent.decide_with(
                transaction, selection.value.bullets, OWN_LOOP, settings["agent_model"], case_id
            )
        )
        found = Foreseen(view, selection, decision)
        if not settings["learn"] or decision.value is None:
            return found
        if decision.value.decision == item["answer"]:
            return found
        lesson = Lesson(
            decision_id=case_id,
            transaction=transaction,
            decision=decision.value.decision,
            correct=item["answer"],
            reasons=list(decision.value.reasons),
            settings=settings,
        )
        asked = reflect_on(lesson, self.inner.reflector, view, OWN_LOOP)
        return replace(found, reflection=await _ask(asked))

    async def _buy_vector(self, bullet_id: str) -> None:
        """Should it fail, the selector buys it when it is needed."""
        playbook = self.inner.playbook
        embedding = self.inner.selectors.embedding(self._settings)
        content = playbook.get_bullet(bullet_id).content
        with metered(self.bought), suppress(ModelError):
            (vector,) = await embedding.vectors([content], OWN_LOOP, playbook)
            playbook.store_vectors(embedding.name, {bullet_id: vector})


def turns(parts: Parts, context: AceContext) -> Callable[[Item, str], dict[str, Any]]:
    """The compiled graph as a function of one labelled case and its id."""
    graph = build_graph(parts).compile()

    def turn(item: Item, case_id: str) -> dict[str, Any]:
        return graph.invoke(
            {
                "transaction": item["query"],
                "ground_truth": item["answer"],
                "decision_id": case_id,
            },
            context=context,
        )

    return turn


async def _ask(question: Coroutine[Any, Any, T]) -> Answer[T]:
    with metered(Meter()) as meter:
        try:
            return Answer(meter, await question)
        except ModelError as error:
            return Answer(meter, error=error)


class _Selectors:
    def __init__(self, ahead: Lookahead) -> None:
        self._ahead = ahead

    def embedding(self, settings: RunSettings) -> EmbeddingModel:
        return self._ahead.inner.selectors.embedding(settings)

    async def select(self, *_: Any) -> Selection:
        return self._ahead.turn.selection.give()


class _Agent:
    def __init__(self, ahead: Lookahead) -> None:
        self._ahead = ahead

    async def decide_with(self, *_: Any, **__: Any) -> Decision:
        return self._ahead.turn.decision.give()


class _Reflector:
    def __init__(self, ahead: Lookahead) -> None:
        self._ahead = ahead

    async def reflect_with(self, *given: Any, **named: Any) -> Reflection | None:
        said = self._ahead.turn.reflection
        if said is None:  # an every-k-th right decision: only its turn tells that it is one
            return await self._ahead.inner.reflector.reflect_with(*given, **named)
        return said.give()
