"""The agent: APPROVE or DECLINE for one transaction, with a risk score and reasons.

A language model decides where one is configured, else the embedded analyst (analyst.py). The agent
sees the transaction and the bullets passed to it, never the playbook or the label.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from acegraph.nodes.agent.analyst import PLAIN, analyse
from acegraph.nodes.agent.decision import Decision
from acegraph.nodes.agent.prompt import agent_messages
from acegraph.nodes.evidence.risk_scale import RiskScale
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.nodes.models.providers import resolve_model
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.text.reader import read_fields
from acegraph.state import Bullet, DecisionForm, Transaction, Verdict, clean_text, parse_condition

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class SimpleFraudAgent:
    """Decides on transactions with the help of bullets: texts, or `Bullet` objects."""

    def __init__(
        self,
        bullets: Iterable[str | Bullet] = (),
        *,
        model: "BaseChatModel | LanguageModel | str | None" = None,
    ) -> None:
        self.bullets = tuple(
            b if isinstance(b, Bullet) else Bullet(f"b{n}", b, "", condition=parse_condition(b))
            for n, b in enumerate(bullets, start=1)
        )
        self._model = model

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

        The `scale` of risk is for the embedded analyst.
        """
        shown = tuple(bullets)
        model = resolve_model("agent", self._model, name)
        if model is None:
            return analyse(read_fields(transaction), shown, scale)
        fence = model.fence("agent", decision_id or transaction.digest())
        form = await model.fill(DecisionForm, agent_messages(transaction.text, shown, fence), wait)
        ids = {b.id for b in shown}
        used = tuple(dict.fromkeys(i for i in form.bullets_used if i in ids))
        reasons = tuple(map(clean_text, form.reasons))
        return Decision(form.decision, form.risk_score, reasons, used)
