"""The notebook of the articles' figures runs, and each of its figures is drawn."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "notebooks/articles.ipynb"


def test_the_notebook_repeats_the_articles_figures(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    pictures = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "image/png" in output.get("data", {})
    ]
    figures = sum("plt.show()" in cell.source for cell in notebook.cells)
    assert len(pictures) == figures >= 4
    nbformat.write(notebook, tmp_path / "executed.ipynb")
