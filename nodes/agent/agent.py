"""The agent: APPROVE or DECLINE for one transaction, with a risk score and reasons.

A language model where one is configured, else the embedded analyst. It sees the transaction and the
bullets it is given, never the playbook or the label.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from acegraph.nodes.agent.analyst import analyse
from acegraph.nodes.agent.prompt import agent_messages
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.nodes.models.providers import resolve_model
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.text.reader import read_fields
from acegraph.state import Bullet, DecisionForm, Transaction, Verdict, clean_text, parse_condition

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True)
class Decision:
    """The whole record of a decision."""

    decision: Verdict
    risk_score: float | None = None
    reasons: tuple[str, ...] = ()
    bullets_used: tuple[str, ...] | None = ()
    """Ids of the bullets that had a part in it; None where that is unknown."""


class SimpleFraudAgent:
    """Decides on transactions with the help of bullets, given as texts or as `Bullet`s."""

    def __init__(
        self,
        bullets: Iterable[str | Bullet] = (),
        *,
        model: "BaseChatModel | LanguageModel | str | None" = None,
    ) -> None:
        self.bullets = tuple(
            b if isinstance(b, Bullet) else _from_text(number, b)
            for number, b in enumerate(bullets, start=1)
        )
        self._model = model

    def analyze(self, transaction: str | Mapping[str, Any]) -> Verdict:
        """The verdict alone."""
        return self.decide(transaction).decision

    def decide(self, transaction: str | Mapping[str, Any]) -> Decision:
        """The verdict with its risk score, its reasons and the bullets that had a part in it."""
        return finish(self.decide_with(Transaction.of(transaction), self.bullets, BLOCKING))

    async def adecide(self, transaction: str | Mapping[str, Any]) -> Decision:
        """`decide` for those who must not block."""
        return await self.decide_with(Transaction.of(transaction), self.bullets, AWAITING)

    async def decide_with(
        self,
        transaction: Transaction,
        bullets: Iterable[Bullet],
        wait: Wait,
        name: str | None = None,
        decision_id: str = "",
    ) -> Decision:
        """Decide with these bullets; `name` asks for a model other than the default one."""
        shown = tuple(bullets)
        model = resolve_model("agent", self._model, name)
        if model is None:
            found = analyse(read_fields(transaction), shown)
            return Decision(found.decision, found.risk_score, found.reasons, found.fired)
        fence = model.fence("agent", decision_id or transaction.digest())
        form = await model.fill(DecisionForm, agent_messages(transaction.text, shown, fence), wait)
        known = {b.id for b in shown}
        used = tuple(dict.fromkeys(i for i in form.bullets_used if i in known))
        reasons = tuple(map(clean_text, form.reasons))
        return Decision(form.decision, form.risk_score, reasons, used)


def _from_text(number: int, text: str) -> Bullet:
    bullet = Bullet(id=f"b{number}", content=text, node="")
    return replace(bullet, condition=parse_condition(text))
