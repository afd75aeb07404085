"""Tests that execute all cells of the notebooks in examples/, and check that they are stored without outputs."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

NEEDS_QEMU = pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="no Arm compiler or no emulator: see `arenite doctor`",
)


@pytest.fixture(autouse=True)
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's Jupyter and IPython settings, such as start-up files, out of the kernels."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def execute(notebook: Path, folder: Path) -> str:
    """Run ``notebook`` in ``folder`` and return the text that its cells printed. If a cell raises an error, this
    function raises an error too."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    traitlets = pytest.importorskip("traitlets.config")
    document = nbformat.read(notebook, as_version=4)
    # The kernel listens on Unix sockets. Otherwise Jupyter chooses free TCP ports, which another program may take
    # before the kernel has started. The path of such a socket is short, so its folder is not in pytest's folder.
    with tempfile.TemporaryDirectory() as sockets, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", sockets)
        client = nbclient.NotebookClient(
            document,
            timeout=300,
            startup_timeout=300,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            config=traitlets.Config({"KernelManager": {"transport": "ipc", "ip": f"{sockets}/kernel"}}),
        )
        client.execute()
    outputs = [output for cell in document.cells for output in cell.get("outputs", [])]
    return "".join(o["text"] for o in outputs if o["output_type"] == "stream" and o["name"] == "stdout")


@pytest.mark.slow
def test_quantize_and_fit(tmp_path: Path) -> None:
    output = execute(EXAMPLES / "quantize_and_fit.ipynb", tmp_path)
    agreement = re.search(r"agreement with the float model: ([\d.]+)%", output)
    assert agreement is not None and float(agreement[1]) >= 90
    assert re.search(r"^FULLY_CONNECTED .* to ", output, re.MULTILINE)  # a row of the operator table
    assert re.search(r"^nucleo_l4r5zi +yes ", output, re.MULTILINE)
    assert re.search(r"^bluepill_f103c8 +no ", output, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.qemu
@NEEDS_QEMU
def test_bench_and_compare(tmp_path: Path) -> None:
    output = execute(EXAMPLES / "bench_and_compare.ipynb", tmp_path)
    assert output.count("2 of 2 samples bit-exact") == 2
    rows = re.findall(r"^(instructions|RAM) +([\d,]+) +([\d,]+) +\d+%$", output, re.MULTILINE)
    figures = {name: [int(value.replace(",", "")) for value in values] for name, *values in rows}
    # The first build, for speed, executes fewer instructions and needs more RAM than the second, for RAM.
    assert figures["instructions"][0] < figures["instructions"][1]
    assert figures["RAM"][0] > figures["RAM"][1]


def test_camera(tmp_path: Path) -> None:
    output = execute(EXAMPLES / "camera.ipynb", tmp_path)
    assert len(re.findall(r"^frame +\d+: \w+ +\d+% ", output, re.MULTILINE)) == 6
    assert "30 of 30 frames served, 0 dropped" in output
    assert re.search(r"^invoke +[\d.]+ +[\d.]+ +[\d.]+$", output, re.MULTILINE)


def test_an_error_in_a_cell_is_raised(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    document = json.loads((EXAMPLES / "camera.ipynb").read_text("utf-8"))
    document["cells"] = [
        next(cell for cell in document["cells"] if cell["cell_type"] == "code")
        | {"source": ["raise ValueError('this cell fails')"]}
    ]
    broken = tmp_path / "broken.ipynb"
    broken.write_text(json.dumps(document), "utf-8")
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="this cell fails"):
        execute(broken, tmp_path)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(notebook: Path) -> None:
    document = json.loads(notebook.read_text("utf-8"))
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_the_notebooks_page_lists_every_notebook() -> None:
    page = (ROOT / "docs/notebooks.md").read_text("utf-8")
    listed = re.findall(r"\]\(\.\./examples/([\w.]+)\)", page)
    assert sorted(listed) == [path.name for path in NOTEBOOKS] and len(listed) >= 3
