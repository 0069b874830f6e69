"""Call a custom agent, judge or reflector: a runnable or a function, synchronous or asynchronous.

What the answer must hold is decided by custom.py in the folder of each node.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from decimal import Decimal
from numbers import Real
from typing import Any, NoReturn

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from acegraph.nodes.models.language_model import as_client_errors, check_that_it_answers
from acegraph.nodes.runtime.sync_async import Wait, for_a_future
from acegraph.state import InvalidSettings
from acegraph.state.errors import ModelAnswerInvalid, quoted

Custom = Runnable[Any, Any] | Callable[[dict[str, Any]], Any]
"""A runnable, or a function with one mapping as its argument."""


class CustomCall:
    """Calls a runnable or a function, blocking or awaiting as the caller needs."""

    def __init__(self, target: Custom, role: str) -> None:
        if not isinstance(target, Runnable) and not callable(target):
            raise InvalidSettings(
                f"the {role} must be a chat model, a runnable or a function; "
                f"found {type(target).__name__}"
            )
        self._target = target
        self.role = role
        self._name = _name_of(target)
        call = getattr(target, "__call__", None)  # noqa: B004
        self._is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(call)

    async def __call__(self, value: dict[str, object], wait: Wait) -> Any:
        """The answer to `value`; a message must be whole, another pydantic model is a mapping."""
        with as_client_errors(self._name):
            answer = await self._answer(value, wait)
        if isinstance(answer, BaseMessage):
            check_that_it_answers(answer, self._name)
        elif isinstance(answer, BaseModel):
            return answer.model_dump()
        return answer

    async def _answer(self, value: dict[str, object], wait: Wait) -> object:
        target = self._target
        if isinstance(target, Runnable):
            answer = await wait.either(lambda: target.invoke(value), lambda: target.ainvoke(value))
        elif self._is_async:
            answer = await wait.either(self._refuse, lambda: target(value))
        else:
            answer = await wait.either(
                lambda: target(value), lambda: asyncio.to_thread(for_a_future, target, value)
            )
        if not inspect.isawaitable(answer):
            return answer
        return await wait.either(lambda: self._refuse(answer), lambda: answer)

    def _refuse(self, unawaited: Awaitable[object] | None = None) -> NoReturn:
        if inspect.iscoroutine(unawaited):
            unawaited.close()  # else Python warns that nobody awaited it
        raise TypeError(f"the {self.role} is asynchronous: use ainvoke, abatch or astream")


def _name_of(target: Custom) -> str:
    """What errors call it; the node says its role before."""
    if isinstance(target, Runnable):
        return target.get_name()
    return str(getattr(target, "__name__", type(target).__name__))


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
