"""The notebook of docs/ runs from top to bottom, and is kept without what it shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "notebook.ipynb"


def test_it_is_kept_without_outputs() -> None:
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


def test_it_runs(tmp_path: Path) -> None:
    for package in ("nbformat", "nbclient", "ipykernel"):
        pytest.importorskip(package, reason=f"{package} is missing; next: pip install nbclient ipykernel")
    import nbclient
    import nbformat

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(pictures) == 3
    assert not any(output["output_type"] == "error" for output in outputs)
    assert "5 tasks, 5 of them distinct" in outputs[0]["text"]
