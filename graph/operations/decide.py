"""Decide many transactions with the answers that the graph gives for each of them.

Some are decided together on the playbook as it is at one moment and are recorded in one write; then
what was wrong is learned from, in their order. LangGraph does not run: nobody watches.
"""

from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeVar

from acegraph.graph.build import Parts, gather_parts, learning_steps, output_of
from acegraph.nodes.agent.agent import SimpleFraudAgent
from acegraph.nodes.agent.node import AgentNode
from acegraph.nodes.judge.node import REFUSED, sighting_in
from acegraph.nodes.models.named import Role, model_name
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Step, Wait, finish
from acegraph.nodes.selector.node import ReadCase, chosen, read_case, written
from acegraph.nodes.selector.selector import NOTHING
from acegraph.state import AceContext, AceInput, AceOutput, AceState, BulletPlaybook
from acegraph.state.errors import AceError, PlaybookError
from acegraph.state.playbook.playbook import FrozenPlaybook
from acegraph.state.run.context import settle, settle_settings
from acegraph.state.run.schema import HeldBackRule, RunSettings, Update
from acegraph.state.values import Bullet, number_of, of_source

BATCH: Final = 500
"""How many decisions are recorded in one write at most."""
Answer = AceOutput | AceError
"""What a run of the graph returns, or the error that it raises."""
E = TypeVar("E", bound=AceError)


def decide_many(
    playbook: BulletPlaybook | Parts, given: Sequence[AceInput], context: AceContext | None = None
) -> list[Answer]:
    """What `graph.invoke` returns for each input, in their order; an error does not stop the
    others, it takes the place of its answer.

    A database that fails stops all: what was not answered may be sent again.

    >>> [answer] = decide_many(BulletPlaybook(), [{"transaction": {"amount": 20, "hour": 14}}])
    >>> answer["decision"]
    'APPROVE'
    """
    return finish(_decide_all(_parts_of(playbook, context), given, BLOCKING))


async def adecide_many(
    playbook: BulletPlaybook | Parts, given: Sequence[AceInput], context: AceContext | None = None
) -> list[Answer]:
    """`decide_many` without blocking the event loop."""
    parts = await AWAITING.work(_parts_of, playbook, context)
    if asks_no_model(settle_settings(parts.context)):
        return await AWAITING.work(decide_many, parts, given)
    return await _decide_all(parts, given, AWAITING)


def asks_no_model(settings: RunSettings, *more: Role) -> bool:
    """Whether the embedded parts decide, judge and embed, and do what `more` roles do."""
    roles = ("agent", "judge", "embedding", *more)
    return all(model_name(role, settings[f"{role}_model"]) is None for role in roles)  # type: ignore[literal-required]


async def decide_block(parts: Parts, given: Sequence[AceInput], wait: Wait) -> list[Answer]:
    """The answers to the first inputs, up to one that looks back on another of them.

    All are decided on the playbook as it is now. What they teach is curated in their order.
    """
    block = await wait.work(_opened, parts, wait)
    read = await wait.work(lambda: list(block.read(given)))
    states = await wait.together(block.decided(one) for one in read if isinstance(one, ReadCase))
    ended = iter(await block.learned(await block.judged(states)))
    results = [next(ended) if isinstance(one, ReadCase) else one for one in read]
    return [one if isinstance(one, AceError) else output_of(one) for one in results]


def _opened(parts: Parts, wait: Wait) -> "_Block":
    """A block of inputs, which sees the playbook as it is now."""
    book = FrozenPlaybook(parts.playbook, parts.context.node)
    settings = settle(book, parts.context)
    settings["review"] = False
    agent = parts.agent
    is_embedded = isinstance(agent, SimpleFraudAgent) and not agent.reader(settings["agent_model"])
    if is_embedded and settings["credit"] != "selected":  # nobody reads what would be shown
        settings["reads"] = False
    return _Block(parts, settings, book, Ruleset.of(book, settings), wait)


@dataclass(frozen=True)
class _Block:
    """Inputs that are decided together."""

    parts: Parts
    settings: RunSettings
    book: BulletPlaybook
    """What selector and agent see."""
    rules: Ruleset
    wait: Wait

    def read(self, given: Sequence[AceInput]) -> Iterator[ReadCase | AceError]:
        """The cases, or errors, up to the first that looks back on another one of them."""
        entities: set[tuple[str, str]] = set()
        for one in given:
            try:
                read = read_case(one, self.book, self.settings, self.parts.keeps_derived)
            except AceError as error:
                yield _answer(error)
                continue
            sighting = sighting_in(read.case)
            seen = set(sighting.who.items()) if sighting and not self.parts.keeps_derived else set()
            if not entities.isdisjoint(seen):
                return
            entities |= seen
            yield read

    async def decided(self, read: ReadCase) -> AceState:
        """The state of a case after the agent."""
        if not self.settings.get("reads", True):
            return await self._weighed(read)

        def choose(_: AceState, wait: Wait) -> Coroutine[object, None, Update]:
            return chosen(read, self.settings.copy(), self.parts.selectors, self.book, wait)

        state = await Step(choose, "selector").run({}, self.wait)
        return state | await Step(self.agent, "agent").run(state, self.wait)

    async def _weighed(self, read: ReadCase) -> AceState:
        """The state where nobody reads: all active rules that hold decide, and none is scored."""
        state = written(read, self.settings, NOTHING, self.book.clock)
        update = await self.agent(state, self.wait)
        fields, held = read.case["fields"], update.get("bullets_used")
        if held is None:  # undecided
            held = [bullet.id for bullet in self.rules.weigh(fields).fired]
        held += [b.id for b in self.on_trial if b.condition and b.condition.holds(fields)]
        rules = self.book.get_bullets(sorted(held, key=number_of))
        state["held_back"] = [HeldBackRule(id=one.id, verdict=one.verdict) for one in rules]
        return state | update

    @cached_property
    def agent(self) -> AgentNode:
        """What decides."""
        return AgentNode(self.book, self.parts.agent, lambda: self.parts.challenger, self.rules)

    @cached_property
    def on_trial(self) -> list[Bullet]:
        """The rules that count in shadow."""
        if not self.settings["selects"] or not self.settings["n_bullets"]:
            return []
        bullets = self.book.get_bullets_for_node(self.settings["node"], status="candidate")
        return [one for one in of_source(bullets, self.settings["source"]) if one.is_on_trial]

    async def judged(self, states: Sequence[AceState]) -> list[AceState | PlaybookError]:
        """The states after the judge, or why the ledger refuses the decision."""
        judge, wait = self.parts.judge_node, self.wait
        if all(state["case"]["ground_truth"] for state in states) or asks_no_model(self.settings):
            updates = await judge.judge_many(states, wait)
        else:  # what each opinion costs is measured
            updates = []
            for state in states:
                try:
                    updates.append(await Step(judge, "judge").run(state, wait))
                except REFUSED as error:
                    updates.append(error)
        results: list[AceState | PlaybookError] = []
        for state, update in zip(states, updates, strict=True):
            if isinstance(update, PlaybookError):
                results.append(_answer(update))
            else:
                results.append({**state, **update})
        return results

    async def learned(
        self, results: list[AceState | PlaybookError]
    ) -> list[AceState | PlaybookError]:
        """The results, after what was wrong was reflected on and the playbook was curated."""
        reflector, curator = learning_steps(self.parts)
        lessons = [one for one in results if isinstance(one, dict) and one["learning"]]
        written = await self.wait.together(reflector.run(lesson, self.wait) for lesson in lessons)
        for lesson, update in zip(lessons, written, strict=True):
            lesson |= update
            lesson |= await curator.run(lesson, self.wait)
        return results


def _parts_of(playbook: BulletPlaybook | Parts, context: AceContext | None) -> Parts:
    return playbook if isinstance(playbook, Parts) else gather_parts(playbook, context=context)


async def _decide_all(parts: Parts, given: Sequence[AceInput], wait: Wait) -> list[Answer]:
    answers: list[Answer] = []
    while len(answers) < len(given):
        some = given[len(answers) :][:BATCH]
        labelled = [n for n, one in enumerate(some) if one.get("ground_truth") is not None]
        if labelled and settle_settings(parts.context)["learn"]:
            some = some[: max(labelled[0], 1)]  # what one teaches counts for the next
        answers += await decide_block(parts, some, wait)
    return answers


def _answer(error: E) -> E:
    """An error about one decision; a database that failed is no answer."""
    if isinstance(error, PlaybookError) and not isinstance(error, REFUSED):
        raise error
    return error
