"""The documentation: its blocks run, what it names exists, its pictures are true.

`make docs` builds its site and checks it. `make test-pages` runs the blocks of all pages.

Blocks of kind python and bash are run, those with a title are written to a file of that name. Only
`text` (what is printed, trees, formulas) and `mermaid` are neither.
"""

import importlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree

import pytest
from pages import CONTRIBUTING, DOCS, PAGES, README, Block, Page, commands, options_of
from project_paths import ROOMS, ROOT
from typer.testing import CliRunner

from acegraph.graph import create_ace_graph
from acegraph.graph.cli.main import app
from acegraph.state import AceContext

SHOWN_ONLY = {"text", "mermaid"}
OF_THE_WHOLE = {"--playbook", "--json", "--who", "--help"}
BIN = Path(sys.executable).parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
QUICKSTART = {page.name: page for page in DOCS}["docs/quickstart.md"]

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@every_page
def test_every_block_is_of_a_kind_that_is_checked(page: Page) -> None:
    assert page.text.count("```") == 2 * len(page.blocks), "a block that is not understood"
    for block in page.blocks:
        assert block.kind in {"python", "bash", *SHOWN_ONLY} or block.title, block


@pytest.mark.parametrize("page", [p for p in PAGES if p.blocks], ids=lambda page: page.name)
def test_a_page_runs_from_top_to_bottom(page: Page, request: pytest.FixtureRequest) -> None:
    if "ACE_PAGES" not in os.environ:
        pytest.skip("a longer test of the pages: make test-pages")
    fixture = "model_server" if page.name == "docs/language-models.md" else "folder"
    request.getfixturevalue(fixture)
    names: dict[str, Any] = {"__name__": "page"}
    for block in page.blocks:
        if block.kind not in SHOWN_ONLY:
            run_block(block, names, page.name)


def run_block(block: Block, names: dict[str, Any], where: str) -> None:
    if block.title:
        Path(block.title).write_text(block.body)
    elif block.kind == "python":
        exec(compile(block.body, where, "exec"), names)
    else:
        for line in block.body.splitlines():
            run_line(line)


def run_line(line: str) -> None:
    """Run a command, or check it where running it would be this very run or never end."""
    words = shlex.split(line, comments=True)
    settings: dict[str, str | None] = {}
    while "=" in words[0]:
        name, _, settings[name] = words.pop(0).partition("=")
    match words:
        case ["acegraph", *given]:
            done = CliRunner().invoke(app, given, env=settings)
            assert done.exit_code == 0, (line, done.output, done.exception)
        case ["make", *targets]:
            check_program(["make", "--dry-run", *targets])
        case ["langgraph", *given]:  # started for real in test_studio.py
            check_program([str(BIN / "langgraph"), *given, "--help"])
        case ["pip", "install", wanted]:
            extras = re.fullmatch(r"\.\[([\w,]+)\]", wanted)
            assert extras, line
            assert set(extras[1].split(",")) <= PYPROJECT["project"]["optional-dependencies"].keys()
        case [".", script]:
            assert script == ".venv/bin/activate"
        case _:
            pytest.fail(f"nobody knows how to check {line!r}")


def check_program(words: Sequence[str]) -> None:
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)


@every_page
def test_every_link_leads_somewhere(page: Page) -> None:
    by_path = {other.path: other for other in PAGES}
    for target, anchor in page.links:
        path = (page.path.parent / target).resolve() if target else page.path
        assert path.exists(), target
        if anchor:
            assert anchor in by_path[path].anchors, f"{target}#{anchor}"


@every_page
def test_every_path_that_is_named_exists(page: Page) -> None:
    tops = {path.name for path in ROOT.iterdir()} - {"build", "site", "out"}
    for code in page.code:
        is_path = re.fullmatch(r"[\w.-]+(?:/[\w.-]+)*/?", code)
        is_ours = code.split("/")[0] in tops and ("/" in code or "." in code)
        is_source = re.fullmatch(r"[\w./-]+/[\w.-]+\.(?:py|md|toml|yml|ipynb|txt)|[A-Z]+\.md", code)
        if is_path and (is_ours or is_source):
            assert (ROOT / code).exists(), code


@every_page
def test_every_command_and_target_that_is_named_exists(page: Page) -> None:
    for code in page.code:
        words = code.split()
        if words[0] == "acegraph" and len(words) > 1:
            check_command(words[1:])
        if words[0] == "make" and len(words) == 2:
            assert words[1] in TARGETS, code


@every_page
def test_every_module_and_setting_that_is_named_exists(page: Page) -> None:
    for code in page.code:
        if re.fullmatch(r"acegraph(?:\.\w+)+", code):
            importlib.import_module(code)
        for setting in re.findall(r"AceContext(?:\(|\.)(\w+)", code):
            assert setting in AceContext.model_fields, code
    for call in re.findall(r"AceContext\(([^)]*)\)", page.prose):
        assert set(re.findall(r"(\w+)=", call)) <= AceContext.model_fields.keys(), call


def check_command(words: Sequence[str]) -> None:
    if words[0].startswith("--") or words[0].isupper():
        return  # of the program itself; or any command
    groups = {name.split()[0] for name in commands() if " " in name}
    name = " ".join(words[:2]) if words[0] in groups else words[0]
    if name not in groups:
        given = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert given <= {*options_of(commands()[name]), *OF_THE_WHOLE}, words


def test_the_readme_is_short_and_in_short_sentences() -> None:
    assert len(README.text.splitlines()) <= 160
    for page in PAGES:
        assert median(len(s.split()) for s in page.sentences or ["x"]) <= 14, page.name


def test_the_tree_shows_every_entry_of_the_rooms_and_no_other() -> None:
    (tree,) = [b.body for b in README.blocks if b.kind == "text" and b.body.startswith("state/")]
    assert len(tree.splitlines()) <= 34
    shown: dict[str, set[str]] = {}
    for line in tree.splitlines():
        found = re.fullmatch(r"( *)([\w.]+/?) +\S.*", line)
        assert found, f"{line!r} names nothing, or does not say what it is"
        indent, name = found.groups()
        if not indent:
            room = name.rstrip("/")
        shown.setdefault(room, set()).update([name] if indent else [])
    assert shown == {room: entries(ROOT / room) for room in ROOMS}


def entries(room: Path) -> set[str]:
    folders = {f"{path.parent.name}/" for path in room.glob("*/__init__.py")}
    return folders | {path.name for path in room.glob("*.py") if path.stem != "__init__"}


def test_the_demo_table_is_the_same_in_both_places() -> None:
    tables = [next(b for b in p.blocks if "vanilla" in b.body) for p in (README, QUICKSTART)]
    short, long = ([line.rstrip() for line in t.body.splitlines()] for t in tables)
    for line in short:
        assert any(other.startswith(line) for other in long), line


def graph_edges() -> set[tuple[str, str]]:
    drawn = create_ace_graph().compile().get_graph()
    return {(edge.source, edge.target) for edge in drawn.edges}


def test_the_mermaid_picture_is_the_graph() -> None:
    (body,) = [b.body for b in README.blocks if b.kind == "mermaid"]
    edges = set()
    for line in body.splitlines()[1:]:
        plain = re.sub(r"\(\[\w+\]\)|\s|;", "", re.sub(r"-\. .+? \.->", "-->", line))
        names = [{"START": "__start__", "END": "__end__"}.get(n, n) for n in plain.split("-->")]
        edges |= set(pairwise(names))
    assert edges == graph_edges()


def test_the_drawn_picture_is_the_graph() -> None:
    drawn = {found.get("id", "") for found in ElementTree.parse(ROOT / "docs/graph.svg").iter()}
    edges = graph_edges()
    nodes = {name for edge in edges for name in edge}
    assert drawn - {"", "title", "tip"} == nodes | {"--".join(edge) for edge in edges}


def test_every_page_is_in_the_navigation() -> None:
    shown = (ROOT / "mkdocs.yml").read_text()
    for page in (*DOCS, CONTRIBUTING):
        assert f": {page.name.removeprefix('docs/')}\n" in shown, page.name
