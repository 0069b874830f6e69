"""Names of a package that are imported when they are first asked for."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def later(package: str, home: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package; `home` says which module has which names."""
    modules = {name: module for module, names in home.items() for name in names}

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return find
