"""The agent: APPROVE or DECLINE for one transaction, with a risk score and reasons.

A language model decides where one is named (reading.py), else the embedded analyst (a ruleset).
The agent sees the transaction and the bullets passed to it, never the playbook or the label.
"""

from collections.abc import Iterable, Mapping
from itertools import filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING, Union

from acegraph.nodes.agent.node import Agent, Decision, Question, what_hides
from acegraph.nodes.models.named import AnyModel, is_model, resolve_model
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.text.understand import fields_to_test, understand_alone
from acegraph.state import InvalidSettings
from acegraph.state.values import APPROVE, Bullet, Verdict, parse_condition, parse_verdict

if TYPE_CHECKING:
    from acegraph.nodes.models.custom_calls import Custom
    from acegraph.nodes.models.language_model import LanguageModel


class SimpleFraudAgent:
    """Decides on transactions with the help of bullets: texts, or `Bullet` objects."""

    def __init__(
        self,
        bullets: Iterable[str | Bullet] = (),
        *,
        model: AnyModel = None,
        prompt: str | None = None,
    ) -> None:
        """`prompt` are the instructions of a language model, if not the usual ones."""
        self.bullets = tuple(
            b if isinstance(b, Bullet) else Bullet(f"b{n}", b, "", condition=parse_condition(b))
            for n, b in enumerate(bullets, start=1)
        )
        self._model, self._prompt = model, prompt

    def reader(self, name: str | None = None) -> str:
        """Who reads bullets in prose: a model and the version of its prompt; empty if nobody does.

        `name` is a model other than the default one.
        """
        model = self.language_model(name)
        if model is None:
            return ""
        from acegraph.nodes.agent.prompt import AGENT, prompt_version

        return f"{model.name} {prompt_version(self._prompt or AGENT)}"

    def language_model(self, name: str | None = None) -> "LanguageModel | None":
        """The model that decides; None for the embedded analyst."""
        return resolve_model("agent", self._model, name)

    def analyze(self, transaction: str | Mapping[str, object]) -> Verdict:
        """The verdict alone."""
        return self.decide(transaction).decision

    def decide(self, transaction: str | Mapping[str, object]) -> Decision:
        """The verdict with its risk score, its reasons and the bullets that had a part in it."""
        return finish(self.decide_on(self._question(transaction), BLOCKING))

    async def adecide(self, transaction: str | Mapping[str, object]) -> Decision:
        """`decide` without blocking the event loop."""
        return await self.decide_on(self._question(transaction), AWAITING)

    async def decide_on(self, asked: Question, wait: Wait, name: str | None = None) -> Decision:
        """Decide on a case; a model is told what the embedded analyst would decide."""
        model = self.language_model(name)
        if model is None:
            return _embedded(asked)
        from acegraph.nodes.agent.reading import decide_by_reading

        return await decide_by_reading(model, asked, wait, self._prompt)

    def _question(self, given: str | Mapping[str, object]) -> Question:
        transaction = understand_alone(given, self.bullets)
        rules = Ruleset(tuple(bullet for bullet in self.bullets if bullet.condition))
        return Question(transaction, fields_to_test(transaction), self.bullets, rules)


AgentLike = Union[SimpleFraudAgent, AnyModel, "Custom"]
"""What may be given as an agent."""


def as_agent(agent: AgentLike, prompt: str | None = None) -> Agent:
    """An agent in the form that the node calls."""
    if isinstance(agent, SimpleFraudAgent):
        if agent.bullets:
            raise InvalidSettings("in the graph the bullets come from the playbook, not the agent")
        return agent
    if is_model(agent):
        return SimpleFraudAgent(model=agent, prompt=prompt)
    from acegraph.nodes.agent.custom import CustomAgent

    return CustomAgent(agent)


def _embedded(asked: Question) -> Decision:
    """What the embedded analyst decides, with its reasons."""
    ruleset, fields = asked.ruleset, asked.fields
    doubts = asked.doubts
    ruling = ruleset.weigh(fields) if doubts is None else ruleset.decide(fields, doubts)
    if undecided := ruling.undecided:
        ruling = ruleset.weigh(fields)  # the reasons tell what the fields say as they stand
    elif ruling.decision == APPROVE:
        undecided = what_hides(asked)
    prose = [*filterfalse(attrgetter("condition"), asked.shown)]
    reasons = ruleset.explain(fields, ruling, len(prose))
    used = tuple(map(attrgetter("id"), ruling.fired))
    verdict = parse_verdict(ruling.decision)
    return Decision(verdict, ruling.risk, tuple(reasons), used, undecided=undecided)
