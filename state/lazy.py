"""Lazy imports: the names of a package are imported when they are first used."""

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Final

_IMPORT: Final = re.compile(r"^    from (\S+) import (.+)$", re.MULTILINE)


def later(package: str) -> tuple[Callable[[str], object], Callable[[], Iterable[str]]]:
    """The `__getattr__` and `__dir__` of a package: its source says, for type checkers, which name
    is imported from where.
    """
    source = Path(str(import_module(package).__file__)).read_text(encoding="utf-8")
    modules = {n: module for module, names in _IMPORT.findall(source) for n in names.split(", ")}

    def find(name: str) -> object:
        if name in modules:
            return getattr(import_module(modules[name]), name)
        if moved := _home_of(name, import_module(package)):
            # An ImportError, since Python hides an AttributeError of an import.
            raise ImportError(f"{package} does not have {name} any more: {moved} has it")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: import_module(package).__dict__.get("__all__", modules)


def _home_of(name: str, package: object) -> str:
    """The module that defines a name which its room does not export; empty if none does."""
    from acegraph.state.gone import NAMES

    room = Path(*getattr(package, "__path__", ("",)))
    if name.startswith("_") or any((room / part).exists() for part in (name, f"{name}.py")):
        return ""
    defined = re.compile(rf"(?:(?:async )?def|class) {name}\b|{name}\b[^=\n]* = ")
    rooms = sorted(room.parent.glob("[gns]*"), key=lambda one: one != room)  # its own one first
    for file in (file for one in rooms for file in sorted(one.rglob("*.py"))):
        if any(map(defined.match, file.read_text(encoding="utf-8").splitlines())):
            return ".".join(("acegraph", *file.relative_to(room.parent).with_suffix("").parts))
    return NAMES.get(name, "")
