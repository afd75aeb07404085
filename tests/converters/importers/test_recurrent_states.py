"""Recurrent layers of PyTorch and ONNX with their state as inputs and outputs are imported, and become a loop."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from arenite.converters.importers.environments import environment
from arenite.converters.importers.sources import import_source
from arenite.converters.passes.loops.repeated_body import find_repeated_bodies
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.tflite.reader import parse

_TORCH = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = torch.nn.LSTM(4, 5, batch_first=True), torch.nn.Linear(5, 3)

    def forward(self, x, h, c):
        y, (h, c) = self.rnn(x, (h, c))
        return self.out(y[:, -1]), h, c

def make():
    torch.manual_seed(0)
    return Net().eval(), (torch.zeros(1, 8, 4), torch.zeros(1, 1, 5), torch.zeros(1, 1, 5))
"""


def check(source: str, states: int) -> None:
    """Check the import of a source with ``states`` state tensors: 8 equal time steps become one loop."""
    imported = import_source(source)
    assert imported.agreement is not None and imported.agreement.max_abs < 2e-6
    graph = parse(simplify(imported.flatbuffer)[0]).main
    assert len(graph.inputs) == len(graph.outputs) == 1 + states
    assert [body.steps for body in find_repeated_bodies(graph)] == [8]


@pytest.mark.slow
@pytest.mark.frameworks
def test_a_torch_model_with_states_becomes_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "streaming_net.py").write_text(_TORCH)
    monkeypatch.chdir(tmp_path)
    check("streaming_net:make", 2)


@pytest.mark.slow
@pytest.mark.frameworks
def test_an_onnx_model_with_states_becomes_a_loop(tmp_path: Path) -> None:
    maker = Path(__file__).parent / "makers" / "make_states.py"
    subprocess.run([str(environment("onnx").python), str(maker), str(tmp_path)], check=True)
    check(str(tmp_path / "LSTM.onnx"), 2)
    check(str(tmp_path / "GRU.onnx"), 1)
