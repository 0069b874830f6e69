"""The state is typed: a key that it does not have is an error of the type checker."""

import ast
import subprocess
import sys
from inspect import getsource
from pathlib import Path

import pytest
from project_paths import ROOMS, ROOT

from acegraph.state import AceContext

NODE = """
from acegraph.state.run.schema import AceState, Update

def node(state: AceState) -> Update:
    return UPDATE
"""
UPDATES = {
    "right": '{"decision": "APPROVE", "risk_score": 0.1}',
    "misspelt": '{"decison": "APPROVE"}',
    "mistyped": '{"risk_score": "high"}',
    "misread": '{"warnings": [state["case"]["txet"]]}',
}
# Other people's packages have no say in whether our keys exist, and take half a minute to read.
CONFIG = """
[mypy]
strict = true
[mypy-langgraph.*,langchain_core.*,pydantic.*,numpy.*,sqlalchemy.*]
follow_imports = skip
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What mypy says of a node that returns each of the updates."""
    folder: Path = tmp_path_factory.mktemp("types")
    package = folder / "path" / "acegraph"
    package.mkdir(parents=True)
    for room in ROOMS:
        (package / room).symlink_to(ROOT / room)
    (folder / "mypy.ini").write_text(CONFIG)
    for name, update in UPDATES.items():
        (folder / f"{name}.py").write_text(NODE.replace("UPDATE", update))
    files = [f"{name}.py" for name in UPDATES]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", *files],
        cwd=folder,
        env={"MYPYPATH": str(folder / "path"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr, done.stderr
    return {
        name: "\n".join(line for line in done.stdout.splitlines() if line.startswith(f"{name}.py"))
        for name in UPDATES
    }


@pytest.mark.slow
def test_a_key_of_the_state_passes(complaints: dict[str, str]) -> None:
    assert complaints["right"] == ""


@pytest.mark.slow
def test_a_misspelt_key_is_a_type_error(complaints: dict[str, str]) -> None:
    assert 'Extra key "decison" for TypedDict "AceState"' in complaints["misspelt"]


@pytest.mark.slow
def test_a_value_of_another_type_is_a_type_error(complaints: dict[str, str]) -> None:
    assert "Incompatible types" in complaints["mistyped"]


@pytest.mark.slow
def test_a_misspelt_key_inside_the_state_is_a_type_error(complaints: dict[str, str]) -> None:
    assert 'TypedDict "CaseData" has no key "txet"' in complaints["misread"]


def test_type_checkers_without_a_plugin_see_the_default_of_every_setting() -> None:
    parts = ast.walk(ast.parse(getsource(AceContext)))
    settings = [part for part in parts if isinstance(part, ast.AnnAssign)]
    assert len(settings) == len(AceContext.model_fields)
    for setting in settings:
        assert setting.value is not None
        if isinstance(setting.value, ast.Call) and ast.unparse(setting.value.func) == "Field":
            assert not setting.value.args  # only `default=` is a default to them
            assert setting.value.keywords[0].arg == "default"


def test_every_setting_says_in_the_schema_what_it_is() -> None:
    properties = AceContext.model_json_schema()["properties"]
    assert all(properties[name].get("description") for name in AceContext.model_fields)
