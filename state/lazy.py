"""Lazy imports: the names of a package are imported when they are first used."""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def later(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], Iterable[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    `homes` maps a module to its names, separated by spaces.
    """
    modules = _by_name(homes)

    def find(name: str) -> object:
        if name in modules:
            return getattr(import_module(f"acegraph.{modules[name]}"), name)
        from acegraph.state.run.gone import NAMES

        moved = _by_name(NAMES.get(package.removeprefix("acegraph."), {}))
        if name in moved:  # an ImportError, since Python hides an AttributeError of an import
            raise ImportError(f"{package} does not have {name} any more: {moved[name]} has it")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: import_module(package).__dict__["__all__"]


def _by_name(homes: Mapping[str, str]) -> dict[str, str]:
    return {name: module for module, names in homes.items() for name in names.split()}
