"""The tables of the documentation: complete, and with the defaults and keys that the code has."""

import importlib.util
import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pages import DOCS, commands, keys_in, table
from project_paths import ROOT
from typer.testing import CliRunner

from acegraph.graph.cli.main import app
from acegraph.nodes import Curator
from acegraph.nodes.evidence.proof_levels import GATES
from acegraph.nodes.selector.stages import RELAXATION
from acegraph.state import AceContext
from acegraph.state.task.card_payments import CARD_PAYMENTS
from acegraph.state.values.draw import ALL_COUNT

BY_NAME = {page.name: page for page in DOCS}
CLI = BY_NAME["docs/cli.md"]
JSON = BY_NAME["docs/json.md"]
LEARNING = BY_NAME["docs/learning.md"]
QUICKSTART = BY_NAME["docs/quickstart.md"]


def test_the_page_of_the_command_line_is_what_the_program_says() -> None:
    found = importlib.util.spec_from_file_location("cli_page", ROOT / "docs" / "cli.py")
    assert found
    assert found.loader
    writer = importlib.util.module_from_spec(found)
    found.loader.exec_module(writer)
    assert CLI.text == writer.page(), "python docs/cli.py writes it anew"


@pytest.mark.parametrize("name", commands())
def test_the_help_of_a_command_has_an_example(name: str) -> None:
    examples = re.findall(r"Example: `acegraph ([^`]+)`", CLI.sections("acegraph ")[name])
    assert any(example.startswith(name) for example in examples)


PAYMENT = (
    '{"amount": 2500, "hour": 3, "account_age_days": 2, "vpn": true, "new_device": true, '
    '"merchant_rating": 2}'
)
SECTIONS = {
    "playbook list b1 --json": "playbook list ID",
    "playbook history 0 --json": "playbook history A B",
}
"""Of lines whose section is not called as the command."""


@pytest.mark.slow
def test_the_json_objects_have_the_keys_that_are_listed(folder: Path) -> None:
    sections = JSON.sections("acegraph ")
    for line in (
        "train cards.csv --label is_fraud --json",
        f"decide '{PAYMENT}' --id order-1 --json",
        "feedback order-1 DECLINE --json",
        "review --json",
        "compare cards.csv --against 1 --label is_fraud --json",
        "read cards.csv --label is_fraud --json",
        "doctor --json",
        "monitor --json",
        "policy --json",
        "verify --json",
        "replay order-1 --json",
        "playbook list --json",
        "users --json",
        "playbook list b1 --json",
        "playbook history --json",
        "playbook history 0 --json",
        "erase --decision order-1 --json",
        "playbook purge --source feedback --json",
        "playbook rollback 0 --json",
    ):
        words = shlex.split(line)
        name = " ".join(words[:2]) if words[0] == "playbook" else words[0]
        assert keys_in(sections[SECTIONS.get(line, name)]) == set(printed_object(words)), line
    words = shlex.split(
        "compare cards.csv --label is_fraud --baselines none --as hour=protected --json"
    )
    compared = printed_object(words)
    assert keys_in(sections["compare"]) == set(compared)
    assert keys_in(sections["compare"], "figure") >= set(compared["modes"]["vanilla"])
    groups = compared["groups"]["vanilla"]["hour"]
    assert keys_in(sections["compare"], "key of a group") == set(groups[0])
    labels = printed_object(["feedback", "--file", "chargebacks.csv", "--json"])
    assert keys_in(sections["feedback"], "key of a file") == set(labels)


def printed_object(words: Sequence[str]) -> Mapping[str, Any]:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, (words, done.output, done.exception)
    printed = json.loads(done.stdout)
    return printed[0] if isinstance(printed, list) else printed


def test_every_setting_is_listed_with_its_default() -> None:
    rows = table(LEARNING.text, "setting")
    listed = {
        name: said
        for cells in rows
        for name, said in zip(
            re.findall(r"`(\w+)`", cells[0]),
            re.findall(r"`([^`]+)`", cells[-1]) or [""] * 9,
            strict=False,
        )
    }
    assert listed.keys() == AceContext.model_fields.keys()
    settings = AceContext().model_dump()
    for name, said in listed.items():
        assert said == ("" if isinstance(settings[name], dict | list) else text_of(settings[name]))


def text_of(value: object) -> str:
    return "" if value is None else str(value)


def test_every_extra_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert keys_in(QUICKSTART.text, "extra") == set(project["optional-dependencies"])


def test_the_levels_of_proof_are_those_of_the_code() -> None:
    rows = table(LEARNING.text, "level")
    assert [row[0].strip("`") for row in rows] == list(GATES)
    for name, *figures in rows:
        gate = GATES[name.strip("`")]
        wanted = list(vars(gate).values())[:6] if gate else []
        assert [float(figure) for figure in figures if figure] == wanted


def test_the_figures_in_sentences_are_those_of_the_code() -> None:
    words = " ".join(LEARNING.text.split())
    for sentence in (
        f"While a label has fewer than {ALL_COUNT:,} cases, all of them are evidence",
        f"It has {sum(rule.test is not None for rule in CARD_PAYMENTS.prior)} lines",
        f"A playbook holds {Curator().capacity} active bullets",
        f"more than {Curator().similarity_threshold} alike",
        f">= {RELAXATION} of it",
    ):
        assert sentence in words
