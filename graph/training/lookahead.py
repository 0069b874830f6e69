"""Model answers fetched before a case's turn, so that many model calls are under way at once.

Case i is prepared on the playbook as it stood after the learning of case i - lag: bullets are
selected, the agent decides, and after a mistake the reflector writes. Fields that are derived from
the ledger do not see the cases under way; those of a file do. When the case has its turn, the
compiled graph runs on it and takes these answers instead of asking. So decisions are recorded
and rules are learned in the order of the cases, and the same cases with the same lag give the same
run, however long each answer takes. Which cases run is decided in pipeline.py.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar, cast

from acegraph.graph.build import Parts, as_function, build_graph
from acegraph.graph.data.files import Item, transaction_of
from acegraph.graph.training.known_rows import Cases
from acegraph.nodes.agent.decision import Decision
from acegraph.nodes.models.embedding_models import EmbeddingModel
from acegraph.nodes.reflector.node import reflect_on
from acegraph.nodes.reflector.reflector import Judged
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import OWN_LOOP, Wait
from acegraph.nodes.runtime.usage import Meter, innermost, metered
from acegraph.nodes.selector.node import understand
from acegraph.nodes.selector.stages import Selection
from acegraph.state import AceContext, AceInput, AceOutput, ModelError, Transaction
from acegraph.state.playbook.frozen_view import FrozenPlaybook
from acegraph.state.run.lesson import Lesson
from acegraph.state.run.modes import settle_settings
from acegraph.state.run.schema import GivenTransaction, Reflection, RunSettings

T = TypeVar("T")
Turn = Callable[[Item, str], AceOutput]
"""Runs the graph on one labelled case under its decision id."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A model's answer that was fetched ahead of time, or its failure, and what it cost."""

    meter: Meter
    value: T | None = None
    error: ModelError | None = None

    def give(self) -> T:
        """Return the answer or raise the failure; the cost counts for the node that asks now."""
        innermost().absorb(self.meter)
        if self.error is not None:
            raise self.error
        return self.value  # type: ignore[return-value]


@dataclass(frozen=True)
class Prepared:
    """Everything the models answered about one case before its turn."""

    view: FrozenPlaybook
    selection: Answer[Selection]
    decision: Answer[Decision]
    reflection: Answer[Reflection | None] | None = None
    """None if there was nothing to reflect on."""


class Lookahead:
    """Prepares cases, and gives the parts of the graph that then runs on them."""

    def __init__(self, parts: Parts, context: AceContext) -> None:
        self.asking_parts = parts
        self._settings = settle_settings(context)
        self.turn: Prepared
        """The answers about the case whose turn it is; there is never more than one such case."""
        self._fetching: set[asyncio.Task[None]] = set()
        self.vector_meter = Meter()
        """What the vectors of new bullets cost."""

    @property
    def parts(self) -> Parts:
        """The parts of a graph that gives prepared answers instead of asking."""
        return replace(
            self.asking_parts,
            agent=_PreparedAgent(self),
            reflects=partial(_PreparedReflector, self),
            selectors=_PreparedSelectors(self),
            visible_playbook=lambda: self.turn.view,
            stores_vectors=False,
        )

    async def results(
        self, cases: Cases, lag: int, take_turn: Turn, may_begin: Callable[[], bool]
    ) -> AsyncGenerator[tuple[str, AceOutput]]:
        """The results of all cases in their order; at most `lag` cases are under way.

        `take_turn` runs the graph on one case. A case is begun only while `may_begin` is true.
        """
        loop = asyncio.get_running_loop()
        waiting = deque(cases)
        under_way: deque[tuple[Item, str, asyncio.Task[Prepared]]] = deque()
        try:
            while True:
                while waiting and len(under_way) < lag and may_begin():
                    item, case_id = waiting.popleft()
                    view = FrozenPlaybook(self.asking_parts.playbook, self._settings["node"])
                    task = loop.create_task(self._prepare(item, case_id, view))
                    under_way.append((item, case_id, task))
                if not under_way:
                    return
                item, case_id, task = under_way.popleft()
                self.turn = await task
                # In a thread: if the graph still has to ask a model, the other cases go on.
                result = await asyncio.to_thread(take_turn, item, case_id)
                if bullet_id := result["new_bullet"]:
                    self._fetching.add(loop.create_task(self._fetch_vector(bullet_id)))
                yield case_id, result
        finally:
            for _, _, task in under_way:
                task.cancel()
            left = [*(task for _, _, task in under_way), *self._fetching]
            await asyncio.gather(*left, return_exceptions=True)

    async def _prepare(self, item: Item, case_id: str, view: FrozenPlaybook) -> Prepared:
        parts, settings = self.asking_parts, self._settings
        # As the node reads it: under known names, in the base currency, with derived fields.
        transaction = understand(
            Transaction.of(item["query"]),
            view,
            settings,
            case_id,
            keeps_derived=bool(item.get("sighting_columns")),
        ).transaction
        selection = await _ask(
            parts.selectors.select(transaction, settings, view, case_id, OWN_LOOP)
        )
        assert selection.value is not None
        decision = await _ask(
            parts.agent.decide_with(
                transaction,
                selection.value.bullets,
                OWN_LOOP,
                settings["agent_model"],
                case_id,
                Ruleset.of(view, settings),
            )
        )
        prepared, decided = Prepared(view, selection, decision), decision.value
        if not settings["learn"] or decided is None or decided.decision == item["answer"]:
            return prepared
        lesson = Lesson(
            decision_id=case_id,
            transaction=transaction,
            decision=decided.decision,
            correct=item["answer"],
            reasons=list(decided.reasons),
            settings=settings,
        )
        reflection = await _ask(reflect_on(lesson, parts.reflector, view, OWN_LOOP))
        return replace(prepared, reflection=reflection)

    async def _fetch_vector(self, bullet_id: str) -> None:
        """Store the vector of a new bullet; if this fails, the selector fetches it on first use."""
        playbook = self.asking_parts.playbook
        embedding = self.asking_parts.selectors.embedding(self._settings)
        content = playbook.get_bullet(bullet_id).content
        with metered(self.vector_meter), suppress(ModelError):
            (vector,) = await embedding.vectors([content], OWN_LOOP, playbook)
            playbook.store_vectors(embedding.name, {bullet_id: vector})


def turns(parts: Parts, context: AceContext, *, is_embedded: bool = False) -> Turn:
    """The graph as a function of one labelled case and its id.

    The compiled graph runs, or where no model is asked the same nodes without LangGraph.
    """

    def run_of(parts: Parts) -> Callable[[AceInput], AceOutput]:
        if is_embedded:
            return as_function(parts, context)
        graph = build_graph(parts).compile()
        return lambda given: cast(AceOutput, graph.invoke(given, context=context))

    run, run_of_derived = run_of(parts), run_of(replace(parts, keeps_derived=True))

    def turn(item: Item, case_id: str) -> AceOutput:
        chosen = run_of_derived if item.get("sighting_columns") else run
        return chosen(as_input(item, case_id))

    return turn


def as_input(item: Item, case_id: str) -> AceInput:
    """A labelled case as the graph takes it."""
    # The graph also takes a Transaction, which knows the amounts as they came.
    payment = cast("GivenTransaction", transaction_of(item) if "given" in item else item["query"])
    return AceInput(transaction=payment, ground_truth=item["answer"], decision_id=case_id)


async def _ask(question: Awaitable[T]) -> Answer[T]:
    with metered(Meter()) as meter:
        try:
            return Answer(meter, await question)
        except ModelError as error:
            return Answer(meter, error=error)


@dataclass(frozen=True)
class _StandIn:
    """A part of the graph that gives the answers prepared for the case whose turn it is."""

    ahead: Lookahead


class _PreparedSelectors(_StandIn):
    def embedding(self, settings: RunSettings) -> EmbeddingModel:
        return self.ahead.asking_parts.selectors.embedding(settings)

    async def select(self, *_: object, **__: object) -> Selection:
        return self.ahead.turn.selection.give()


class _PreparedAgent(_StandIn):
    async def decide_with(self, *_: object, **__: object) -> Decision:
        return self.ahead.turn.decision.give()


class _PreparedReflector(_StandIn):
    async def reflect_with(
        self, judged: Judged, wait: Wait, name: str | None = None
    ) -> Reflection | None:
        reflection = self.ahead.turn.reflection
        if reflection is None:  # after a right decision: only its turn tells that it is the k-th
            return await self.ahead.asking_parts.reflector.reflect_with(judged, wait, name)
        return reflection.give()
