"""A `with` block that ends, whatever an exception out of a signal handler interrupts."""

from collections.abc import Generator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TypeVar

T_co = TypeVar("T_co", covariant=True)


class Scope(AbstractContextManager[T_co, None]):
    """Runs a generator that yields once, as `contextlib.contextmanager` does.

    After an exception at a bad moment contextlib leaves the generator where it is, with its locks
    and its open database transaction. A scope closes it.
    """

    def __init__(self, steps: Generator[T_co, None, None]) -> None:
        self._steps = steps

    def __enter__(self) -> T_co:
        try:
            return next(self._steps)
        except BaseException:
            self._steps.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                next(self._steps, None)
            else:
                self._steps.throw(error)
        except BaseException as raised:
            if raised is not error:
                raise
            error.__traceback__ = trace
        finally:
            self._steps.close()
