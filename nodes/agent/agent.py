"""The agent: APPROVE or DECLINE for one transaction, with a risk score and reasons.

A language model decides where one is named (reading.py), else the embedded analyst (a ruleset).
The agent sees the transaction and the bullets passed to it, never the playbook or the label.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from acegraph.nodes.agent.fail_closed import Decision
from acegraph.nodes.models.named import AnyModel, resolve_model
from acegraph.nodes.rules.ruleset import Ruleset
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.text.reader import fields_to_test
from acegraph.nodes.text.understand import understand_alone
from acegraph.state import Bullet, Transaction, parse_condition
from acegraph.state.values.transaction import Fields
from acegraph.state.values.verdict import Verdict, parse_verdict

if TYPE_CHECKING:
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
        from acegraph.nodes.agent.reading import reader_of

        return reader_of(model, self._prompt)

    def language_model(self, name: str | None = None) -> "LanguageModel | None":
        """The model that decides; None for the embedded analyst."""
        return resolve_model("agent", self._model, name)

    def analyze(self, transaction: str | Mapping[str, object]) -> Verdict:
        """The verdict alone."""
        return self.decide(transaction).decision

    def decide(self, transaction: str | Mapping[str, object]) -> Decision:
        """The verdict with its risk score, its reasons and the bullets that had a part in it."""
        understood = understand_alone(transaction, self.bullets)
        return finish(self.decide_with(understood, self.bullets, BLOCKING))

    async def adecide(self, transaction: str | Mapping[str, object]) -> Decision:
        """`decide` without blocking the event loop."""
        understood = understand_alone(transaction, self.bullets)
        return await self.decide_with(understood, self.bullets, AWAITING)

    async def decide_with(
        self,
        transaction: Transaction,
        bullets: Iterable[Bullet],
        wait: Wait,
        name: str | None = None,
        decision_id: str = "",
        ruleset: Ruleset | None = None,
    ) -> Decision:
        """Decide with these bullets; `name` is a model other than the default one.

        The embedded analyst decides by the ruleset, else by these bullets; a model is told what it
        would decide.
        """
        shown, model = tuple(bullets), self.language_model(name)
        ruleset = ruleset or Ruleset(tuple(b for b in shown if b.condition))
        if model is None:
            return _embedded(ruleset, fields_to_test(transaction), shown)
        from acegraph.nodes.agent.reading import Case, decide_by_reading

        case = Case(transaction, shown, decision_id, ruleset)
        return await decide_by_reading(model, case, wait, self._prompt)


def _embedded(ruleset: Ruleset, fields: Fields, shown: tuple[Bullet, ...]) -> Decision:
    """What the embedded analyst decides, with its reasons."""
    ruling = ruleset.weigh(fields)
    reasons = ruleset.explain(fields, ruling, sum(b.condition is None for b in shown))
    used = tuple(b.id for b in ruling.fired)
    return Decision(parse_verdict(ruling.decision), ruling.risk, tuple(reasons), used)
