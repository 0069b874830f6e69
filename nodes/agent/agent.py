"""The agent: APPROVE or DECLINE for one transaction, with a risk score and reasons.

A language model decides where one is named (reading.py), else the embedded analyst (analyst.py).
The agent sees the transaction and the bullets passed to it, never the playbook or the label.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from acegraph.nodes.agent.analyst import PLAIN, analyse
from acegraph.nodes.agent.decision import Decision
from acegraph.nodes.models.named import AnyModel, resolve_model
from acegraph.nodes.rules.scale import RiskScale
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.text.reader import fields_to_test
from acegraph.state import Bullet, Transaction, parse_condition
from acegraph.state.values.verdict import Verdict

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
        return finish(self.decide_with(Transaction.of(transaction), self.bullets, BLOCKING))

    async def adecide(self, transaction: str | Mapping[str, object]) -> Decision:
        """`decide` without blocking the event loop."""
        return await self.decide_with(Transaction.of(transaction), self.bullets, AWAITING)

    async def decide_with(
        self,
        transaction: Transaction,
        bullets: Iterable[Bullet],
        wait: Wait,
        name: str | None = None,
        decision_id: str = "",
        scale: RiskScale = PLAIN,
    ) -> Decision:
        """Decide with these bullets; `name` is a model other than the default one.

        The embedded analyst decides on the `scale` of risk; a model is told what it would decide.
        """
        shown, model = tuple(bullets), self.language_model(name)
        if model is None:
            return analyse(fields_to_test(transaction), shown, scale)
        from acegraph.nodes.agent.reading import Case, decide_by_reading

        case = Case(transaction, shown, decision_id, scale)
        return await decide_by_reading(model, case, wait, self._prompt)
