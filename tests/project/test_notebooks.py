"""The notebooks run from a clean start, without a key, and show what is stored with them.

`make test-pages` runs them.
"""

import ast
import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from run_notebooks import NOTEBOOKS, execute

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(notebook: NotebookNode) -> list[list[list[str]]]:
    """What each cell shows: the kinds of its outputs; figures and pictures may differ."""
    return [
        [sorted(o.get("data", [o.output_type])) for o in c.outputs] for c in code_cells(notebook)
    ]


def test_there_are_three_notebooks() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03"]


def test_the_kernel_is_this_interpreter() -> None:
    probe = execute(new_notebook(cells=[new_code_cell("import sys; print(sys.prefix)")]))
    assert [output.text.strip() for output in probe.cells[0].outputs] == [sys.prefix]


@pytest.mark.skipif(
    "ACE_PAGES" not in os.environ, reason="a longer test of the pages: make test-pages"
)
@every_notebook
def test_a_notebook_runs_and_shows_what_is_stored_with_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    stored, again = (nbformat.read(path, as_version=4) for _ in range(2))
    assert shown(execute(again)) == shown(stored), "`make notebooks` stores what they show now"
    assert ["image/png", "text/plain"] in [output for cell in shown(stored) for output in cell]


@every_notebook
def test_a_notebook_defines_no_function_and_no_class(path: Path) -> None:
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for cell in code_cells(nbformat.read(path, as_version=4)):
        assert not [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, definitions)]


@every_notebook
def test_a_notebook_is_stored_as_it_was_run_from_top_to_bottom(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata.kernelspec.name == "python3"
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    assert str(Path.home()) not in path.read_text()
