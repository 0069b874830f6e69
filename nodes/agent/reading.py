"""A language model decides on one transaction; it is told what the embedded analyst would decide.

Imported only where a model is named.
"""

from functools import partial
from typing import Final

from acegraph.nodes.agent.node import Decision, Question, unless_untested
from acegraph.nodes.agent.prompt import AGENT, Known, Opinion, agent_messages, prompt_version
from acegraph.nodes.models.answers import in_answers
from acegraph.nodes.models.language_model import LanguageModel
from acegraph.nodes.rules.ruleset import Ruleset, Ruling
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state.run.model_forms import DecisionForm
from acegraph.state.task.task import Task
from acegraph.state.values import DECLINE, Fields, clean_text, parse_verdict

_LIKELY: Final = 0.5
"""Above this risk a payment is rather fraud than not."""


async def decide_by_reading(
    model: LanguageModel, asked: Question, wait: Wait, prompt: str | None
) -> Decision:
    """The decision of a model; `prompt` are its instructions, if not the usual ones."""
    instructions, transaction, ruleset = prompt or AGENT, asked.transaction, asked.ruleset
    fields = asked.fields
    ruling = ruleset.weigh(fields)
    opinion = _opinion(ruleset, ruling, fields)
    has_rules = ruleset.rules or any(b.condition for b in asked.shown)
    fired = {bullet.id: bullet for bullet in (*ruling.fired, *ruling.graded)}
    unshown = [bullet for bullet in fired.values() if bullet not in asked.shown]
    known = Known(fields, opinion if has_rules else None, unshown)
    fence = model.fence("agent", asked.decision_id or transaction.digest())
    task = ruleset.task
    messages = agent_messages(transaction.text, asked.shown, fence, known, instructions, task)
    contradiction = partial(_contradiction, opinion.limit, task)
    form = await model.fill(in_answers(DecisionForm, task.answers), messages, wait, contradiction)
    ids = {b.id for b in asked.shown}
    used = tuple(dict.fromkeys(i for i in form.bullets_used if i in ids))
    reasons = tuple(map(clean_text, form.reasons))
    version = prompt_version(instructions)
    departure = opinion.departure(form.decision, form.risk_score)
    decided = Decision(
        form.decision, form.risk_score, reasons, used, model.name, version, departure
    )
    return unless_untested(decided, asked)


def _contradiction(limit: float, task: Task, form: DecisionForm) -> str:
    """What is wrong with an approval of a case that is said to be risky; else empty."""
    most = max(limit, _LIKELY)
    if form.decision == DECLINE or form.risk_score <= most:
        return ""
    return task.shown(f"APPROVE contradicts the risk_score; above {most:.2g} the answer is DECLINE")


def _opinion(ruleset: Ruleset, ruling: Ruling, fields: Fields) -> Opinion:
    """What the embedded analyst would decide."""
    assert ruling.risk is not None
    verdict, limit = parse_verdict(ruling.decision), ruleset.scale.decline_from(fields)
    return Opinion(verdict, ruling.risk, limit, len(ruling.fired))
