"""Run notebooks from a clean start; `make notebooks` stores what they show."""

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from project_paths import ROOT

FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def execute(notebook: NotebookNode) -> NotebookNode:
    """Run it in its own folder, and keep its outputs; a cell that fails raises."""
    NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=300,
        record_timing=False,
        coalesce_streams=True,
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute()
    notebook.metadata.language_info = {"name": "python"}  # not which version it was
    return notebook


if __name__ == "__main__":
    for path in NOTEBOOKS:
        nbformat.write(execute(nbformat.read(path, as_version=4)), path)
