"""Lazy imports: the names of a package are imported when they are first used."""

from collections.abc import Callable, Mapping
from importlib import import_module


def later(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package; `homes` maps a module to its names, separated by spaces."""
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"acegraph.{modules[name]}"), name)

    return find
