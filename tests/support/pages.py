"""The pages of the documentation taken apart: blocks, code, links, headings, sentences, tables."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import typer
from project_paths import ROOT

from acegraph.graph.cli.main import app

_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[[^\]]*\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)")
_SENTENCE = re.compile(r"[^.:!?]+[.:!?](?=\s|$)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    title: str
    """The file that its content is, where it is one."""
    body: str


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def blocks(self) -> list[Block]:
        return [Block(*found) for found in _BLOCK.findall(self.text)]

    @cached_property
    def prose(self) -> str:
        """Everything but the blocks."""
        return _BLOCK.sub("", self.text)

    @property
    def code(self) -> list[str]:
        """What stands in backticks within sentences and tables."""
        return re.findall(r"`([^`\n]+)`", self.prose)

    @property
    def links(self) -> list[tuple[str, str]]:
        """The relative links: a file, which may be empty, and an anchor, which may be too."""
        return _LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """What its headings are called in a link."""
        headings = re.findall(r"^#+ (.+)$", self.prose, re.MULTILINE)
        return {re.sub(r"[^\w\s-]", "", h).strip().lower().replace(" ", "-") for h in headings}

    @property
    def sentences(self) -> list[str]:
        """The sentences of its paragraphs and lists; tables and headings are no sentences."""
        parts = re.split(r"\n\s*\n|\n(?=[-\d])", self.prose)
        plain = [p for p in parts if p.strip() and not p.lstrip().startswith(("|", "#", ":::"))]
        return [s for p in plain for s in _SENTENCE.findall(re.sub(r"`[^`]+`|\]\([^)]*\)", "x", p))]

    def sections(self, opening: str) -> dict[str, str]:
        """The sections of level 2 whose heading begins so, by the rest of the heading."""
        parts = re.split(r"^## ", self.text, flags=re.MULTILINE)[1:]
        titled = [part.split("\n", 1) for part in parts]
        return {t.removeprefix(opening): body for t, body in titled if t.startswith(opening)}


def table(text: str, first_heading: str) -> list[list[str]]:
    """The rows of the table whose first column is called so, each as its cells."""
    rows = re.search(rf"^\| {re.escape(first_heading)} \|.*\n\|[-|]+\n((?:\|.*\n?)+)", text, re.M)
    if rows is None:
        return []
    between = re.compile(r"(?<!\\)\|")
    return [[c.strip() for c in between.split(row)[1:-1]] for row in rows[1].splitlines()]


def keys_in(section: str, heading: str = "key") -> set[str]:
    return set(re.findall(r"`(\w+)`", " ".join(row[0] for row in table(section, heading))))


README = Page(ROOT / "README.md")
CONTRIBUTING = Page(ROOT / "CONTRIBUTING.md")
DOCS = [Page(path) for path in sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [README, CONTRIBUTING, *DOCS]


def commands() -> dict[str, Any]:
    """Every command of the command line, by its words."""

    def below(group: Any, words: str) -> Iterator[tuple[str, Any]]:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from below(command, f"{words}{name} ")
            else:
                yield words + name, command

    return dict(below(typer.main.get_command(app), ""))


def options_of(command: Any) -> dict[str, Any]:
    """The options of a command, under each of their names."""
    params = [p for p in command.params if p.param_type_name == "option"]
    return {name: p for p in params for name in (*p.opts, *p.secondary_opts)}
