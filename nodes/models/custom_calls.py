"""Call a custom agent, judge or reflector: a runnable or a function, synchronous or asynchronous.

What the answer must hold is decided by custom.py in the folder of each node.
"""

from collections.abc import Callable
from decimal import Decimal
from numbers import Real

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import BaseModel

from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import InvalidSettings
from acegraph.state.errors import ModelAnswerInvalid, quoted

Custom = Runnable[dict[str, object], object] | Callable[[dict[str, object]], object]
"""A runnable, or a function with one mapping as its argument."""


class CustomCall:
    """Calls a runnable or a function, blocking or awaiting as the caller needs."""

    def __init__(self, target: Custom, role: str) -> None:
        if not isinstance(target, Runnable) and not callable(target):
            raise InvalidSettings(
                f"the {role} must be a chat model, a runnable or a function; "
                f"found {type(target).__name__}"
            )
        self._target = target if isinstance(target, Runnable) else RunnableLambda(target)

    async def __call__(self, value: dict[str, object], wait: Wait) -> object:
        """The answer to `value`; a message must be whole, another pydantic model is a mapping."""
        from acegraph.nodes.models.language_model import as_model_errors, check_that_it_answers

        target, name = self._target, self._target.get_name()
        with as_model_errors(name, all_of_them=False):
            answer = await wait.either(lambda: target.invoke(value), lambda: target.ainvoke(value))
        if isinstance(answer, BaseMessage):
            check_that_it_answers(answer, name)
        elif isinstance(answer, BaseModel):
            return answer.model_dump()
        return answer


def as_share(number: object, name: str) -> float:
    """The number as a float if it is between 0 and 1; otherwise an error that says its name."""
    if (
        isinstance(number, Real | Decimal)
        and not isinstance(number, bool)
        and not number < 0
        and number <= 1
    ):
        return float(number)
    raise ModelAnswerInvalid(f"{name} is a number between 0 and 1, not {quoted(number)}")
