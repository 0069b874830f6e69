"""A custom agent: a runnable or a function, in the form that the node calls."""

from collections.abc import Iterable, Mapping

from langchain_core.messages import BaseMessage

from acegraph.nodes.agent.node import Decision, Question, unless_untested
from acegraph.nodes.models.custom_calls import Custom, CustomCall, as_share
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state.errors import InvalidInput, ModelAnswerInvalid, quoted
from acegraph.state.values import Verdict, clean_text, parse_decision


class CustomAgent:
    """Asks a runnable or a function."""

    def __init__(self, target: Custom) -> None:
        self._call = CustomCall(target, "agent")

    async def decide_on(self, asked: Question, wait: Wait, name: str | None = None) -> Decision:
        """Decide on a case."""
        task, transaction = asked.ruleset.task, asked.transaction
        answer = await self._call(
            {
                "transaction": transaction.text,
                "fields": dict(transaction.fields),
                "bullets": [{"id": b.id, "content": b.content} for b in asked.shown],
            },
            wait,
        )
        if not isinstance(answer, Mapping):
            answer = {"decision": answer.text if isinstance(answer, BaseMessage) else answer}
        risk, used = answer.get("risk_score"), answer.get("bullets_used")
        decided = Decision(
            decision=_verdict(task.stored(answer.get("decision"))),
            risk_score=None if risk is None else as_share(risk, "risk_score"),
            reasons=_texts(answer.get("reasons") or ()),
            bullets_used=None if used is None else _texts(used),
        )
        return unless_untested(decided, asked)


def _texts(given: object) -> tuple[str, ...]:
    texts = given if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    return tuple(clean_text(str(text)) for text in texts)


def _verdict(answer: object) -> Verdict:
    try:
        return parse_decision(answer)
    except InvalidInput:
        raise ModelAnswerInvalid(f"APPROVE or DECLINE wanted, found {quoted(answer)}") from None
