"""Tests that damaged files raise an error before LiteRT reads them, and so never crash it."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import pytest

from arenite.errors import ModelError
from arenite.host.camera.runtimes.litert import CompiledModel
from arenite.host.camera.runtimes.tflite_check import check_tflite_file
from tests.converters.small_models import Net, conv_net, elementwise, with_state
from tests.host.camera.runtimes.child_process import RAN, REJECTED, run_in_a_child
from tests.host.camera.runtimes.small_models import picture_net, saved


def test_intact_files_pass(tmp_path: Path) -> None:
    for make in (conv_net, elementwise, with_state, picture_net):
        check_tflite_file(saved(make(), tmp_path))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files_raise_an_error(share: float, tmp_path: Path) -> None:
    path = saved(conv_net(), tmp_path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ModelError, match=str(path)):
        check_tflite_file(path)


def test_a_missing_file_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Cannot read"):
        check_tflite_file(tmp_path / "none.tflite")


def _load_and_run(path: Path) -> None:
    """Check a model file, and run the model if it passes."""
    check_tflite_file(path)
    CompiledModel(path, "litert-cpu", 1, 1, {}).invoke()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_damage_never_crashes(seed: int, tmp_path: Path) -> None:
    """Files with cut or changed bytes run or raise an error, also where LiteRT alone would crash."""
    rng = random.Random(seed)
    content = saved((conv_net, elementwise, picture_net)[seed](), tmp_path).read_bytes()
    statuses = []
    for turn in range(40):
        data = bytearray(content[: rng.randrange(len(content))] if turn % 4 == 0 else content)
        for _ in range(rng.randrange(1, 6)):
            if data:
                data[rng.randrange(len(data))] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        path = tmp_path / "damaged.tflite"
        path.write_bytes(data)
        statuses.append(run_in_a_child(partial(_load_and_run, path)))
    assert set(statuses) <= {RAN, REJECTED}, statuses
    assert statuses.count(REJECTED) >= 10


def _calls(name: str, options: str, **fields: int) -> Net:
    """Return a graph with one operator that calls other subgraphs."""
    net = Net(3)
    condition, x = net.input((), "bool"), net.input((1, 4), "float32")
    inputs = [x] if name == "WHILE" else [condition, x]
    net.op(name, inputs, (1, 4), "float32", options=options, **fields)  # type: ignore[arg-type]
    return net


@pytest.mark.parametrize(
    ("name", "options", "fields", "text"),
    [
        (
            "IF",
            "IfOptions",
            {"then_subgraph_index": 0, "else_subgraph_index": 0},
            "called from within itself",
        ),
        ("WHILE", "WhileOptions", {"cond_subgraph_index": 1, "body_subgraph_index": 0}, "from within itself"),
        (
            "IF",
            "IfOptions",
            {"then_subgraph_index": 1, "else_subgraph_index": 7},
            "is 7, but the model has 2",
        ),
        ("WHILE", "WhileOptions", {"cond_subgraph_index": -1, "body_subgraph_index": 1}, "is -1, but"),
    ],
)
def test_calls_without_an_end_raise_an_error(
    name: str, options: str, fields: dict[str, int], text: str, tmp_path: Path
) -> None:
    net = _calls(name, options, **fields)
    other = Net(4)
    other.input((1, 4), "float32")
    model = net.model([net.ops[0].outputs[0]], other.graph([0], "other"))
    with pytest.raises(ModelError, match=text):
        check_tflite_file(saved(model, tmp_path))


@pytest.mark.parametrize(
    ("name", "options", "field"),
    [("SPLIT", "SplitOptions", "num_splits"), ("UNPACK", "UnpackOptions", "num")],
)
@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_wrong_number_of_outputs_raises_an_error(
    name: str, options: str, field: str, count: int, tmp_path: Path
) -> None:
    net = Net(5)
    x = net.input((2, 4), "float32")
    parts = [net.tensor((1, 4), "float32"), net.tensor((1, 4), "float32")]
    inputs = [net.tensor((), "int32", data=0), x] if name == "SPLIT" else [x]
    net.add(name, inputs, parts, options, **{field: count})
    with pytest.raises(ModelError, match=f"{name}.*{field}"):
        check_tflite_file(saved(net.model(parts), tmp_path))


def test_an_operator_that_reads_its_own_output_raises_an_error(tmp_path: Path) -> None:
    net = Net(1)
    net.input((1, 8, 8, 3), "uint8")
    tiled = net.tensor((2, 16, 8, 3), "uint8", quant=None)
    net.add("TILE", [tiled, net.ints([2, 2, 1, 1])], [tiled])
    with pytest.raises(ModelError, match="operator 0 TILE: no earlier operator computes input tensor 1"):
        check_tflite_file(saved(net.model([tiled]), tmp_path))


def test_an_operator_that_overwrites_a_tensor_raises_an_error(tmp_path: Path) -> None:
    net = Net(1)
    x = net.input((1, 4), "float32")
    net.add("ABS", [x], [x])
    with pytest.raises(ModelError, match="operator 0 ABS: its output, tensor 0, has a value already"):
        check_tflite_file(saved(net.model([x]), tmp_path))
