"""The notebooks run from a clean start, without a key, and define nothing of their own."""

import ast
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from project_paths import ROOT

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def executed(notebook: NotebookNode) -> list[NotebookNode]:
    """Run it in its own folder; a cell that fails raises."""
    where = {"metadata": {"path": str(FOLDER)}}
    NotebookClient(notebook, kernel_name="python3", timeout=300, resources=where).execute()
    return [output for cell in code_cells(notebook) for output in cell.outputs]


def test_there_are_three_notebooks() -> None:
    assert [path.stem[:2] for path in NOTEBOOKS] == ["01", "02", "03"]


def test_the_kernel_is_this_interpreter() -> None:
    probe = new_notebook(cells=[new_code_cell("import sys; print(sys.prefix)")])
    assert [output.text.strip() for output in executed(probe)] == [sys.prefix]


@every_notebook
def test_a_notebook_runs_and_draws_something(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    notebook = nbformat.read(path, as_version=4)
    outputs = executed(notebook)
    assert not [output for output in outputs if output.output_type == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@every_notebook
def test_a_notebook_defines_no_function_and_no_class(path: Path) -> None:
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for cell in code_cells(nbformat.read(path, as_version=4)):
        assert not [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, definitions)]


@every_notebook
def test_a_notebook_is_committed_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in code_cells(notebook):
        assert not cell.outputs
        assert cell.execution_count is None
