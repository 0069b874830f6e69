"""Decide many transactions at once, with the answers that the graph gives for each of them.

Where no model is asked, the bodies of the nodes run without LangGraph, on the playbook as it is at
one moment, and the decisions of a batch are recorded in one write. What is learned from runs one by
one; whatever asks a model runs through the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from time import monotonic, time_ns
from typing import Any, Final, cast

from acegraph.graph.build import as_function, build_graph, gather_parts, output_of
from acegraph.nodes.agent.node import AgentNode
from acegraph.nodes.judge.judge import Judgement
from acegraph.nodes.judge.node import JudgeNode, label_of, record_of
from acegraph.nodes.judge.outcome import sighting_in
from acegraph.nodes.models.named import Role, model_name
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, finish
from acegraph.nodes.runtime.telemetry import note_decision
from acegraph.nodes.runtime.usage import Meter, metered
from acegraph.nodes.selector.factory import Selectors
from acegraph.nodes.selector.node import new_case, selected, understand
from acegraph.nodes.text.field_contract import Understood
from acegraph.state import AceContext, AceInput, AceOutput, AceState, BulletPlaybook, Transaction
from acegraph.state.errors import AceError, DecisionConflict, PlaybookError, PrunedDecision
from acegraph.state.playbook.frozen_view import FrozenPlaybook
from acegraph.state.run.modes import settle_settings
from acegraph.state.run.schema import CaseData, RunSettings
from acegraph.state.values.decision import Recorded
from acegraph.state.values.verdict import UNDECIDED

BATCH: Final = 500
"""How many decisions are recorded in one write at most."""
Answer = AceOutput | AceError
"""What a run of the graph returns, or the error that it raises."""
REFUSED: Final = (DecisionConflict, PrunedDecision)
"""The errors of a playbook that are about one decision."""


class Decider:
    """Decides on many transactions with one playbook.

    >>> decider = Decider(BulletPlaybook())
    >>> [answer] = decider.decide_many([{"transaction": {"amount": 20, "hour": 14}}])
    >>> answer["decision"]
    'APPROVE'
    """

    def __init__(self, playbook: BulletPlaybook, context: AceContext | None = None) -> None:
        self.playbook = playbook
        self._parts = gather_parts(playbook, context=context)
        self._selectors = Selectors()
        self.seconds: Counter[str] = Counter()
        """How long the bodies of the nodes took in batches, by node."""
        self._graph = build_graph(self._parts).compile()

    def decide_many(self, given: Sequence[AceInput]) -> list[Answer]:
        """What `graph.invoke` returns for each input, in their order; an error does not stop the
        others, it takes the place of its answer.

        A database that fails stops all: what was not answered may be sent again.
        """
        context = self._parts.context
        settings = settle_settings(context)
        settings["review"] = False
        answers: list[Answer] = []
        asks_a_model = not asks_no_model(settings)

        def needs_graph(one: AceInput) -> bool:
            is_learned_from = settings["learn"] and one.get("ground_truth") is not None
            return asks_a_model or is_learned_from

        for in_graph, some in groupby(given, needs_graph):
            inputs = list(some)
            if not in_graph:
                answers += self._in_batches(inputs, settings)
            elif asks_a_model or not asks_no_model(settings, "reflector"):
                answers += self._in_order(inputs, partial(self._graph.invoke, context=context))
            else:
                answers += self._in_order(inputs, as_function(self._parts, context))
        return answers

    def _in_order(self, given: Sequence[AceInput], run: Callable[[AceInput], Any]) -> list[Answer]:
        """One after the other, as each may be learned from."""
        answers = []
        for one in given:
            try:
                answers.append(_answer(run(one)))
            except AceError as error:
                answers.append(_answer(error))
        return answers

    async def adecide_many(self, given: Sequence[AceInput]) -> list[Answer]:
        """`decide_many` without blocking the event loop."""
        context = self._parts.context
        if asks_no_model(settle_settings(context)):
            return await AWAITING.work(self.decide_many, given)
        options: Any = {"context": context, "return_exceptions": True}
        return [_answer(one) for one in await self._graph.abatch(cast(Any, given), **options)]

    def _in_batches(self, given: Sequence[AceInput], settings: RunSettings) -> list[Answer]:
        answers: list[Answer] = []
        while len(answers) < len(given):
            answers += self._decide(given[len(answers) :][:BATCH], settings)
        return answers

    def _decide(self, given: Sequence[AceInput], settings: RunSettings) -> list[Answer]:
        """The answers to the first inputs that do not look back on each other."""
        times, began = [monotonic()], time_ns()
        with metered(Meter()):
            view = FrozenPlaybook(self.playbook, settings["node"])
            answers: list[Any] = list(_read(given, view, settings))
            numbers = [n for n, one in enumerate(answers) if isinstance(one, _Case)]
            cases = [answers[n] for n in numbers]
            selections = finish(
                self._selectors.select_many(
                    [one.understood.transaction for one in cases],
                    settings,
                    view,
                    [one.case["id"] for one in cases],
                    BLOCKING,
                )
            )
            times.append(monotonic())
            agent = AgentNode(
                view,
                self._parts.agent,
                self._parts.challenger,
                Ruleset.of(view, settings),
            )
            states: list[AceState] = []
            for one, selection in zip(cases, selections, strict=True):
                state = selected(
                    one.case, one.understood, settings, selection, selection.clock or view.clock
                )
                states.append({**state, **finish(agent(state, BLOCKING))})
            times.append(monotonic())
            for number, answer in zip(numbers, self._judged(states, began), strict=True):
                answers[number] = answer
        times.append(monotonic())
        for name, start, end in zip(("selector", "agent", "judge"), times, times[1:], strict=False):
            self.seconds[name] += end - start  # type: ignore[assignment]
        return answers

    def _judged(self, states: Sequence[AceState], began: int) -> Iterator[Answer]:
        """Record all decisions in one write, and conclude."""
        judge = JudgeNode(self.playbook, self._parts.judge)
        judged: dict[int, tuple[Judgement, str | None]] = {
            number: finish(judge.judged(state, BLOCKING))
            for number, state in enumerate(states)
            if state["decision"] != UNDECIDED
        }
        results: dict[int, Recorded | PlaybookError] = dict(
            zip(
                judged,
                self.playbook.record_many(
                    [
                        (record_of(states[number]), label_of(judgement))
                        for number, (judgement, _) in judged.items()
                    ]
                ),
                strict=True,
            )
        )
        for number, state in enumerate(states):
            recorded = results.get(number)
            if isinstance(recorded, PlaybookError):
                yield recorded
                continue
            try:
                if recorded is None:
                    update = finish(judge(state, BLOCKING))
                else:
                    update = finish(judge.concluded(state, recorded, *judged[number], BLOCKING))
            except REFUSED as error:
                yield error
            else:
                concluded: AceState = {**state, **update}
                note_decision(concluded, began)
                yield output_of(concluded)


@dataclass(frozen=True)
class _Case:
    case: CaseData
    understood: Understood


def asks_no_model(settings: RunSettings, *more: Role) -> bool:
    """Whether the embedded parts decide, judge and embed, and do what `more` roles do."""
    roles = ("agent", "judge", "embedding", *more)
    return all(model_name(role, settings[f"{role}_model"]) is None for role in roles)  # type: ignore[literal-required]


def _read(
    given: Sequence[AceInput], view: FrozenPlaybook, settings: RunSettings
) -> Iterator[_Case | AceError]:
    """The cases, or errors, up to the first payment that looks back on another one of them."""
    entities: set[tuple[str, str]] = set()
    for one in given:
        try:
            transaction = Transaction.of(one.get("transaction"))
            decision_id = str(one.get("decision_id") or "")
            understood = understand(transaction, view, settings, decision_id)
            case = new_case(one, transaction, understood)
        except AceError as error:
            yield error
            continue
        sighting = sighting_in(case)
        seen = set(sighting.who.items()) if sighting else set()
        if not entities.isdisjoint(seen):
            return
        entities |= seen
        yield _Case(case, understood)


def _answer(result: Any) -> Answer:
    """A result of `abatch`; a database that failed is no answer."""
    is_ours = isinstance(result, AceError)
    if isinstance(result, PlaybookError):
        is_ours = isinstance(result, REFUSED)
    if isinstance(result, BaseException) and not is_ours:
        raise result
    return cast(Answer, result)
