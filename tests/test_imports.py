"""Importing the graph stays cheap: what is heavy comes when it is needed."""

import subprocess
import sys

HEAVY = "scipy sklearn matplotlib pandas langchain_openai openai typer rapidfuzz".split()


def test_importing_the_graph_loads_nothing_heavy() -> None:
    code = f"import sys, acegraph.graph; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_of_the_graph_can_be_had() -> None:
    import acegraph.graph as graph

    assert all(getattr(graph, name) is not None for name in graph.__all__)
