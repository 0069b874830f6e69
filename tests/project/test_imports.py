"""What an import costs: a host that composes the graph must not wait for what it does not use."""

import subprocess
import sys
from importlib import import_module

import pytest

HEAVY = (
    "sqlalchemy",
    "scipy",
    "sklearn",
    "matplotlib",
    "langchain_openai",
    "openai",
    "pandas",
    "rapidfuzz",
)


def loaded(statement: str, *modules: str) -> str:
    """Which of some modules a statement loads in a process of its own."""
    code = f"import sys; {statement}; print([m for m in {modules} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


MOST_LINES = 12_000
"""Of our own code, loaded by a run that needs no model; only ever lowered."""
COUNT = """
from acegraph.graph import create_ace_graph
create_ace_graph().compile().invoke({"transaction": {"amount": 20}})
files = [m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] == "acegraph"]
print(sum(len(open(file, encoding="utf-8").readlines()) for file in files if file))
"""


@pytest.mark.slow
def test_a_run_without_a_model_loads_few_lines_of_ours() -> None:
    command = [sys.executable, "-c", f"import sys{COUNT}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(done.stdout) <= MOST_LINES


@pytest.mark.slow
def test_importing_the_graph_loads_nothing_heavy() -> None:
    assert loaded("from acegraph.graph import create_ace_graph", "typer", *HEAVY) == "[]"


@pytest.mark.slow
def test_the_command_line_is_there_before_langgraph_is() -> None:
    assert loaded("import acegraph.graph.cli.main", "langgraph", "langchain_core", *HEAVY) == "[]"


@pytest.mark.parametrize("room", ["state", "nodes", "graph"])
def test_every_public_name_can_be_had_and_no_other(room: str) -> None:
    module = import_module(f"acegraph.{room}")
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = module.nonsense
