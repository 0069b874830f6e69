"""What is installed, what it imports, and that its examples in docstrings are true."""

import doctest
import importlib
import pkgutil
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from project_paths import ROOT

import acegraph
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
    names = [
        ".".join((name, *init.parent.relative_to(ROOT / folder).parts))
        for name, folder in declared["package-dir"].items()
        for init in (ROOT / folder).rglob("__init__.py")
    ]
    assert sorted(declared["packages"]) == sorted(names)
    for folder in declared["package-dir"].values():
        assert (ROOT / folder / "py.typed").exists()


def test_the_changelog_begins_with_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    first = next(
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")
    )
    assert first.startswith(f"## {version} (")


def test_the_package_gives_its_version_and_its_main_names() -> None:
    assert acegraph.__version__ == metadata.version("acegraph")
    assert acegraph.create_ace_graph is acegraph.graph.create_ace_graph
    for name in acegraph.__all__:
        assert getattr(acegraph, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = acegraph.nonsense
    code = "import sys, acegraph; print(acegraph.graph.__name__, 'sqlalchemy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["acegraph.graph", "False"]


@pytest.mark.slow
def test_the_source_archive_holds_what_its_tests_need_and_the_wheel_the_rooms(
    tmp_path: Path,
) -> None:
    """Built by the build backend itself, in a copy: a build leaves files behind."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "lnk", "build", "*.egg-info"))
    code = "from setuptools import build_meta as b; print(b.build_sdist('..'), b.build_wheel('..'))"
    subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, check=True)
    (sdist,), (wheel,) = tmp_path.glob("*.tar.gz"), tmp_path.glob("*.whl")
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    kept = ("tests", "docs", "benchmarks", "notebooks", "graph", "nodes", "state", "package")
    wanted = [path for folder in kept for path in (copy / folder).rglob("*") if path.is_file()]
    files = {str(path.relative_to(copy)) for path in wanted if "__pycache__" not in path.parts}
    files |= {path.name for path in copy.glob("*.md")} | {"Makefile", "langgraph.json"}
    assert files <= packed, sorted(files - packed)[:10]
    with ZipFile(wheel) as archive_of_rooms:
        names = archive_of_rooms.namelist()
    assert "acegraph/__init__.py" in names
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"acegraph"}
