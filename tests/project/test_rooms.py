"""The rooms stay small enough to find one's way in, and each says what belongs there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from project_paths import ROOMS, ROOT

ENTRIES_OF_A_ROOM = 11
ENTRIES_OF_A_FOLDER = 11
LINES_OF_A_FUNCTION = 60
PARAMETERS = 10
ANY_PER_THOUSAND_LINES = 6

MODULES = [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]
FOLDERS = [
    path
    for room in ROOMS
    for path in sorted((ROOT / room).iterdir())
    if path.is_dir() and path.name != "__pycache__"
]


def entries(folder: Path) -> list[str]:
    """What `ls` shows, without what every package has."""
    always = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}
    return sorted(path.name for path in folder.iterdir() if path.name not in always)


def functions(module: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_shows_few_entries(room: str) -> None:
    assert len(entries(ROOT / room)) <= ENTRIES_OF_A_ROOM


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_folder_shows_few_entries_and_says_what_belongs_there(folder: Path) -> None:
    assert len(entries(folder)) <= ENTRIES_OF_A_FOLDER
    opening = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert opening, f"{folder} does not say what belongs there"
    assert re.match(r"[A-Z`].*[.:]", opening)


@pytest.mark.parametrize("node", ["selector", "agent", "judge", "reflector", "curator"])
def test_each_of_the_five_nodes_is_at_home(node: str) -> None:
    assert (ROOT / "nodes" / node / "node.py").exists()


def test_no_function_is_long_and_none_has_many_parameters() -> None:
    for module in MODULES:
        for function in functions(module):
            given = function.args
            length = (function.end_lineno or 0) - function.lineno + 1
            parameters = len(given.posonlyargs + given.args + given.kwonlyargs)
            place = f"{module.relative_to(ROOT)}: {function.name}"
            assert length <= LINES_OF_A_FUNCTION, f"{place} has {length} lines"
            assert parameters <= PARAMETERS, f"{place} has {parameters} parameters"


def test_any_is_rare() -> None:
    source = "".join(module.read_text() for module in MODULES)
    uses, lines = len(re.findall(r"\bAny\b", source)), source.count("\n")
    assert uses <= ANY_PER_THOUSAND_LINES * lines / 1000
