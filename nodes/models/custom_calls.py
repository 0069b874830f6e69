"""Call a custom agent, judge or reflector: a runnable or a function, synchronous or not."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from langchain_core.runnables import Runnable
from pydantic import BaseModel

from acegraph.nodes.models.language_model import as_client_errors
from acegraph.nodes.runtime.sync_async import Wait
from acegraph.state import (
    InvalidSettings,
    ModelAnswerInvalid,
)

Custom = Runnable[Any, Any] | Callable[[dict[str, Any]], Any]
"""A runnable or a function of one mapping."""


class CustomCall:
    """A runnable or a function, called in the way that fits the caller."""

    def __init__(self, target: Custom, role: str) -> None:
        if not isinstance(target, Runnable) and not callable(target):
            raise InvalidSettings(
                f"the {role} must be a chat model, a runnable or a function; "
                f"found {type(target).__name__}"
            )
        self._target = target
        self.role = role
        call = getattr(target, "__call__", None)  # noqa: B004
        self._is_async = inspect.iscoroutinefunction(target) or inspect.iscoroutinefunction(call)

    async def __call__(self, value: dict[str, Any], wait: Wait) -> Any:
        """What it answers; a pydantic model as a mapping."""
        with as_client_errors(self.role):
            answer = await self._answer(value, wait)
        return answer.model_dump() if isinstance(answer, BaseModel) else answer

    async def _answer(self, value: dict[str, Any], wait: Wait) -> Any:
        target = self._target
        if isinstance(target, Runnable):
            return await wait.either(lambda: target.invoke(value), lambda: target.ainvoke(value))
        if self._is_async:
            return await wait.either(self._refuse, lambda: target(value))
        return await wait.either(lambda: target(value), lambda: asyncio.to_thread(target, value))

    def _refuse(self) -> Any:
        raise TypeError(f"the {self.role} is asynchronous: use ainvoke, abatch or astream")


def as_share(number: object, name: str) -> float:
    """A number between 0 and 1; anything else is refused by its name."""
    if isinstance(number, int | float | np.floating) and 0 <= number <= 1:
        return float(number)
    raise ModelAnswerInvalid(f"{name} is between 0 and 1, not {number!r}")
