"""One BLAS thread for small matrices: several stall each other for longer than the work takes."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function with one BLAS thread, and leave the setting as it was."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> T:
        with _controller().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    import scipy.linalg  # noqa: F401 - scipy brings a BLAS of its own, to be limited as well
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
