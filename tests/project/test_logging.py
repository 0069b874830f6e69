"""Loggers: silent by default, and heard by a host that listens."""

import subprocess
import sys

CODE = """
import logging, sys
{listen}
from acegraph.graph import create_ace_graph
from acegraph.state import ModelUnavailable, clean_text
def failing(_):
    raise ModelUnavailable("the model server is down")
graph = create_ace_graph(agent=failing).compile()
print(graph.invoke({{"transaction": {{"amount": 4711.5, "memo": "canary"}}}})["decision"])
"""


def run(listen: str) -> subprocess.CompletedProcess[str]:
    code = CODE.format(listen=listen)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_nothing_is_logged_unless_somebody_listens() -> None:
    done = run("")
    assert done.stdout.strip() == "UNDECIDED"
    assert done.stderr == ""


def test_a_host_hears_of_a_failed_model_and_of_no_transaction() -> None:
    done = run("logging.basicConfig(level=logging.DEBUG)")
    assert "acegraph.nodes.agent.node" in done.stderr
    assert "ModelUnavailable" in done.stderr
    ours = [line for line in done.stderr.splitlines() if "acegraph" in line]
    assert not [line for line in ours if "canary" in line or "4711" in line]
