"""Every list of words is there for a reason: a list that guesses what somebody means is none."""

import ast
import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import Final

import pytest
from project_paths import DATA, ROOT

FEWEST: Final = 3
ROOMS: Final = ("state", "nodes", "graph")
REASONS: Final[dict[str, list[str]]] = tomllib.loads(
    (DATA / "word_lists.toml").read_text(encoding="utf-8")
)
NO_DATA: Final = {".py", ".html", ".css", ".js", ".svg", ".typed", ".LICENSE"}


def words_in(part: ast.AST) -> set[str]:
    """The words of all texts in a piece of code."""
    texts = (n.value for n in ast.walk(part) if isinstance(n, ast.Constant))
    return {
        word
        for text in texts
        if isinstance(text, str)
        for word in re.findall(r"[^\W\d_]{2,}", text)
    }


def is_a_list(part: ast.AST) -> bool:
    """Whether a piece of code is a tuple, a set, a mapping, a pattern or a split text of words."""
    match part:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()), attr="split")):
            return len(words_in(part)) >= FEWEST
        case ast.Dict() | ast.Tuple() | ast.Set() | ast.List():
            parts = part.keys if isinstance(part, ast.Dict) else part.elts
            texts = [p for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
            return len(texts) >= FEWEST and len(words_in(part)) >= FEWEST
        case ast.Constant(value=str(text)):
            return len(re.findall(r"[^\W\d_]{2,}[?)]*\|", text)) >= FEWEST - 1
    return False


def lists_in(tree: ast.Module) -> Iterator[str]:
    """The names of constants that hold a list of words, and of functions that ask for one."""
    for part in tree.body:
        if isinstance(part, ast.Assign | ast.AnnAssign) and part.value is not None:
            target = part.targets[0] if isinstance(part, ast.Assign) else part.target
            is_type = ast.unparse(part.value).startswith("Literal[")
            is_found = not is_type and any(map(is_a_list, ast.walk(part.value)))
            name = ast.unparse(target)
        else:
            asked = (one.comparators for one in ast.walk(part) if isinstance(one, ast.Compare))
            is_found = any(is_a_list(words) for some in asked for words in some)
            name = getattr(part, "name", "")
        if is_found and name != "__all__":
            yield name


def is_any_of(name: str, patterns: list[str]) -> bool:
    """Whether a name is listed."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@cache
def lists_of_words() -> list[str]:
    """Every such name in the rooms, with its module."""
    found = []
    for file in sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py")):
        module = str(file.relative_to(ROOT).with_suffix("")).replace("/", ".")
        names = lists_in(ast.parse(file.read_text(encoding="utf-8")))
        found += [f"{module}.{name}" for name in names]
    return found


def test_every_list_of_words_has_its_reason() -> None:
    found = lists_of_words()
    reasons = {name: [one for one in REASONS if is_any_of(name, REASONS[one])] for name in found}
    assert {name: why for name, why in reasons.items() if len(why) != 1} == {}


def test_every_reason_is_that_of_a_list() -> None:
    found = lists_of_words()
    listed = [pattern for patterns in REASONS.values() for pattern in patterns]
    assert [one for one in listed if not any(fnmatchcase(name, one) for name in found)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_file_of_data_stands_in_a_room(room: str) -> None:
    files = (f for f in (ROOT / room).rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    assert [file for file in files if file.suffix not in NO_DATA] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('A = ("memo", "note", "text")', ["A"]),
        ('A = frozenset("memo note text".split())', ["A"]),
        ('A: Final = {"memo": 1, "note": 2, "text": 3}', ["A"]),
        ('A = re.compile(r"memo|note|text")', ["A"]),
        ('def a(name):\n    return name in ("memo", "note", "text")', ["a"]),
        ('A = ("memo", "note")', []),
        ('A = Literal["memo", "note", "text"]', []),
    ],
)
def test_a_list_is_found_in_any_shape(code: str, found: list[str]) -> None:
    assert list(lists_in(ast.parse(code))) == found
