"""What is installed, what it imports, and that its examples in docstrings are true."""

import doctest
import importlib
import pkgutil
import tomllib

import pytest
from project_paths import ROOT

import acegraph.graph
import acegraph.nodes
import acegraph.state

ROOMS = (acegraph.state, acegraph.nodes, acegraph.graph)
MODULES = [
    found.name
    for room in ROOMS
    for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    if not found.name.endswith("__main__")
]


@pytest.mark.parametrize("name", [n for n in MODULES if not n.endswith("studio")])
def test_the_examples_in_docstrings_are_true(name: str) -> None:
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
    assert module.__doc__, f"{name} does not say what it is"


def test_every_public_name_exists() -> None:
    for room in ROOMS:
        assert sorted(room.__all__) == sorted(set(room.__all__))
        for name in room.__all__:
            assert getattr(room, name) is not None


def test_every_module_is_in_a_declared_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = [
        init.parent.relative_to(ROOT)
        for room in declared["package-dir"].values()
        for init in (ROOT / room).rglob("__init__.py")
    ]
    assert sorted(declared["packages"]) == sorted("acegraph." + ".".join(f.parts) for f in folders)
    for folder in declared["package-dir"].values():
        assert (ROOT / folder / "py.typed").exists()
