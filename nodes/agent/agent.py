"""The agent: APPROVE or DECLINE for one transaction, with a risk score and reasons.

A language model decides where one is configured, else the embedded analyst (analyst.py). The agent
sees the transaction and the bullets passed to it, never the playbook or the label.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from acegraph.nodes.agent.analyst import PLAIN, analyse
from acegraph.nodes.agent.decision import Decision
from acegraph.nodes.agent.observations import observed_fields
from acegraph.nodes.agent.prompt import AGENT, Known, Opinion, agent_messages, prompt_version
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.nodes.models.providers import resolve_model
from acegraph.nodes.rules.scale import RiskScale
from acegraph.nodes.runtime.sync_async import AWAITING, BLOCKING, Wait, finish
from acegraph.nodes.text.reader import fields_to_test
from acegraph.state import DECLINE, Bullet, Transaction, parse_condition
from acegraph.state.run.model_forms import DecisionForm, DecisionOnFieldsForm
from acegraph.state.values.memos import is_free_text
from acegraph.state.values.transaction import Fields, clean_text
from acegraph.state.values.verdict import Verdict

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_SPACES_OF_A_SENTENCE: Final = 4
"""A value with so many spaces is a sentence."""

_LIKELY: Final = 0.5
"""Above this risk a payment is rather fraud than not."""


class SimpleFraudAgent:
    """Decides on transactions with the help of bullets: texts, or `Bullet` objects."""

    def __init__(
        self,
        bullets: Iterable[str | Bullet] = (),
        *,
        model: "BaseChatModel | LanguageModel | str | None" = None,
        prompt: str | None = None,
    ) -> None:
        """`prompt` are the instructions of a language model, if not the usual ones."""
        self.bullets = tuple(
            b if isinstance(b, Bullet) else Bullet(f"b{n}", b, "", condition=parse_condition(b))
            for n, b in enumerate(bullets, start=1)
        )
        self._model, self._prompt = model, prompt or AGENT

    def reader(self, name: str | None = None) -> str:
        """Who reads bullets in prose: a model and the version of its prompt; empty if nobody does.

        `name` is a model other than the default one.
        """
        model = self.language_model(name)
        return f"{model.name} {prompt_version(self._prompt)}" if model else ""

    def language_model(self, name: str | None = None) -> LanguageModel | None:
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
        shown, fields = tuple(bullets), fields_to_test(transaction)
        model = self.language_model(name)
        if model is None:
            return analyse(fields, shown, scale)
        opinion = _opinion(fields, shown, scale)
        has_rules = scale.unshown or scale.has_rules or any(b.condition for b in shown)
        known = Known(fields, opinion if has_rules else None, scale.unshown)
        fence = model.fence("agent", decision_id or transaction.digest())
        messages = agent_messages(transaction.text, shown, fence, known, self._prompt)
        asked = DecisionForm if _has_text(transaction) else DecisionOnFieldsForm
        form = await model.fill(asked, messages, wait, partial(_contradiction, opinion.limit))
        ids = {b.id for b in shown}
        used = tuple(dict.fromkeys(i for i in form.bullets_used if i in ids))
        reasons = tuple(map(clean_text, form.reasons))
        version = prompt_version(self._prompt)
        departure = opinion.departure(form.decision, form.risk_score)
        observed = observed_fields(form.observations, transaction.text, fields)
        return Decision(
            form.decision, form.risk_score, reasons, used, model.name, version, departure, observed
        )


def _has_text(transaction: Transaction) -> bool:
    """Whether somebody wrote sentences, so that more may be read in them than the fields state."""
    return not transaction.fields or any(
        isinstance(value, str) and (is_free_text(name) or value.count(" ") >= _SPACES_OF_A_SENTENCE)
        for name, value in transaction.fields.items()
    )


def _contradiction(limit: float, form: DecisionForm) -> str:
    """What is wrong with an approval of a payment that is said to be fraud; else empty."""
    most = max(limit, _LIKELY)
    if form.decision == DECLINE or form.risk_score <= most:
        return ""
    return f"APPROVE contradicts the risk_score; above {most:.2g} a payment is declined"


def _opinion(fields: Fields, bullets: tuple[Bullet, ...], scale: RiskScale) -> Opinion:
    """What the embedded analyst decides."""
    decided = analyse(fields, bullets, scale)
    assert decided.risk_score is not None
    assert decided.bullets_used is not None
    limit, rules = scale.decline_from(fields), len(decided.bullets_used)
    return Opinion(decided.decision, decided.risk_score, limit, rules)
