"""What a person can type, set or import is held by name: whatever is added must be added there."""

import re
import tomllib
from collections.abc import Iterator
from importlib import import_module
from typing import Final

import pytest
import typer
from project_paths import ROOT

from acegraph.graph.cli.main import app
from acegraph.state import AceContext
from acegraph.state.gone import NAMES

SURFACE: Final = tomllib.loads((ROOT / "tests/data/surface.toml").read_text(encoding="utf-8"))
SURFACE_OF_0_2: Final[dict[str, str]] = SURFACE.pop("dropped")
ROOMS: Final = ("state", "nodes", "graph")


def commands(group: object, *words: str) -> Iterator[tuple[str, list[str]]]:
    """Each command with its options; those of `acegraph` itself stand under its own name."""
    inner = getattr(group, "commands", None)
    if not words or inner is None:
        options = [p.opts[0] for p in group.params if p.param_type_name == "option"]  # type: ignore[attr-defined]
        yield " ".join(words), [option for option in options if option != "--help"]
    for name, command in (inner or {}).items():
        yield from commands(command, *words, name)


def found() -> dict[str, list[str]]:
    by_command = dict(commands(typer.main.get_command(app)))
    of_the_whole = {
        "--playbook",
        "--json",
        "--version",
        "--install-completion",
        "--show-completion",
    }
    source = "".join(
        file.read_text(encoding="utf-8")
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if file.name != "gone.py"
    )
    return {
        "commands": [name for name in by_command if name],
        "options": [
            f"{name} {option}".strip()
            for name, options in by_command.items()
            for option in options
            if option not in of_the_whole
        ],
        "settings": list(AceContext.model_fields),
        "variables": sorted(set(re.findall(r"\b(?:ACE|OPENAI)_[A-Z_]*[A-Z]\b", source))),
        "public_names": [
            f"{room}.{name}" for room in ROOMS for name in import_module(f"acegraph.{room}").__all__
        ],
    }


@pytest.mark.parametrize("what", SURFACE)
def test_nothing_is_added_to_the_surface_in_passing(what: str) -> None:
    names = found()[what]
    assert set(names) == set(SURFACE[what]["names"])
    assert len(names) <= SURFACE[what]["wanted"]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_lists_its_lazy_names(room: str) -> None:
    module = import_module(f"acegraph.{room}")
    assert sorted(dir(module)) == sorted(module.__all__)


@pytest.mark.parametrize("room", SURFACE_OF_0_2)
def test_a_dropped_public_name_says_where_it_went(room: str) -> None:
    module = import_module(f"acegraph.{room}")
    for name in SURFACE_OF_0_2[room].split():
        with pytest.raises(ImportError, match=f"^acegraph.{room} does not have {name} ") as error:
            getattr(module, name)
        home = str(error.value).split(": ")[1].removesuffix(" has it")
        assert home == NAMES.get(name, home)
        if name not in NAMES:
            assert getattr(import_module(home), name) is not None


def test_a_module_of_a_room_is_no_dropped_name() -> None:
    assert import_module("acegraph.graph").operations.__name__ == "acegraph.graph.operations"
    with pytest.raises(AttributeError):
        import_module("acegraph.graph").nonsense  # noqa: B018


def test_a_name_that_is_no_more_says_what_does_it_now() -> None:
    with pytest.raises(ImportError, match=r"decide_many in acegraph\.graph\.operations\.decide"):
        import_module("acegraph").Decider  # noqa: B018
