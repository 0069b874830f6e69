"""Stop a run until a person has answered; until then it has approved nothing.

The forms of the answers are in state/run/review_answers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from langgraph.config import get_config
from langgraph.types import interrupt

from acegraph.state.errors import InvalidAnswer
from acegraph.state.run.schema import RunSettings, Update
from acegraph.state.values import UNDECIDED, Verdict

if TYPE_CHECKING:
    from acegraph.state.run.review_answers import AnyAnswer


def held_for_review(decision: Verdict | None, risk: float | None, settings: RunSettings) -> Update:
    """What else is written where a person is asked about a decision."""
    if settings.get("let_through") or decision is None:
        return {}
    # It loads the database library.
    from acegraph.state.maintenance.people.review_queue import reason_to_ask

    if not (why := reason_to_ask(decision, risk, settings)):
        return {}
    return {"decision": UNDECIDED, "held": decision, "undecided": f"waits for a person: {why}"}


def ask(
    form: type[AnyAnswer],
    question: Mapping[str, object],
    check: Callable[[AnyAnswer], object] = lambda answer: None,
    stored: Callable[[object], object] = lambda said: said,
) -> AnyAnswer:
    """Stop the run until there is an answer of this form; after a wrong one, ask again."""
    from acegraph.state.run.review_answers import ApprovalAnswer, read_answer

    def check_all(answer: AnyAnswer) -> None:
        # A server with users states who resumes the run; graph/server/auth.py sets the owner.
        config = get_config()
        user = config.get("configurable", {}).get("langgraph_auth_user_id")
        if user and answer.who != user:
            raise InvalidAnswer(f"signed in as {user}, the answer is signed {answer.who}")
        is_own = user and config.get("metadata", {}).get("owner") == user
        if is_own and isinstance(answer, ApprovalAnswer) and answer.approve:
            raise InvalidAnswer(
                f"the thread is {user}'s own: what it taught is for somebody else to approve, "
                "with acegraph review"
            )
        check(answer)

    question = {**question, "response_schema": form.model_json_schema()}
    answer = interrupt(question)
    while True:
        try:
            return read_answer(form, answer, check_all, stored)
        except InvalidAnswer as error:
            answer = interrupt({**question, "error": str(error)})
