"""The bench end to end: PlatformIO builds the firmware, the emulator runs it, and its outputs are compared with those
of LiteRT."""

from __future__ import annotations

import json
import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model, Tensor
from arenite.converters.passes.pass_report import PassReport
from arenite.errors import DoesNotFitError, UsageError
from arenite.firmware.boards.cores import core_named
from arenite.firmware.sizes.measure import compiler_version, digest
from arenite.firmware.sizes.prediction import size_table
from arenite.firmware.sizes.targets import SIZES
from arenite.host.bench.devices.measure import measure
from arenite.host.bench.reference import Reference
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import Samples, load_samples, random_samples
from arenite.host.bench.verification import difference
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import generate_project
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.converters.passes.constant_channel_models import dead_channel_model
from tests.converters.passes.loops.recurrent_models import quantized, stateful_model
from tests.development_models import SHARED, shared_model
from tests.firmware.sizes.mixed_model import mix
from tests.host.small_graphs import classifier, counter, float_edges, save, two_inputs

BOARD = "qemu_mps2_an386"

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(
        not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
        reason="no Arm compiler or no emulator: see `arenite doctor`",
    ),
]


def run(
    prepared: Prepared, samples: Samples, *, board: str = BOARD, **options: Any
) -> tuple[dict[str, Any], list[str]]:
    """Run a bench. Return its result as JSON, and each progress message as text. ``options`` are fields of
    ``BuildOptions`` or ``BenchConfig``."""
    steps: list[str] = []
    build = BuildOptions(**{f.name: options.pop(f.name) for f in fields(BuildOptions) if f.name in options})
    result = bench(
        prepared,
        load_board(board),
        samples,
        BenchConfig(build, **options),
        lambda step, done, total: steps.append(f"{step} {done}/{total}"),
    ).to_json()
    json.dumps(result, allow_nan=False)
    return result, steps


def prepare_model(model: Model, folder: Path) -> tuple[Prepared, list[Tensor]]:
    """Return the planned model and its input tensors."""
    prepared = prepare(save(model, folder / "m.tflite"))
    return prepared, [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]


def assert_exact(result: dict[str, Any], count: int) -> None:
    """Check that a result has ``count`` samples and that all of their outputs equal LiteRT's."""
    samples = result["samples"]
    assert (samples["count"], samples["bit_exact"], samples["max_abs_diff"]) == (count, count, 0)


def assert_sizes_as_predicted(result: dict[str, Any], board: str = BOARD) -> None:
    """Compare measured with predicted sizes. They agree to the byte only with the compiler of the stored sizes."""
    memory, flash = result["memory"], result["flash"]
    # The prediction of the stack is an upper bound that is at most about twice the use.
    assert memory["stack"] <= memory["predicted_stack"] <= 2 * memory["stack"] + 256
    assert memory["ram_total"] == memory["arena"] + memory["stack"] + memory["static"]
    assert flash["total"] == flash["weights"] + flash["code"]
    stored = json.loads((SIZES / f"{board}.json").read_text())["compiler"]
    if stored != compiler_version(load_board(board).core):
        pytest.skip(f"sizes were measured with {stored}")
    built = {
        "arena": memory["arena"],
        "static": memory["static"],
        "weights": flash["weights"],
        "code": flash["code"],
        "all": flash["total"],
    }
    predicted = {k: memory[f"predicted_{k}"] for k in ("arena", "static")}
    predicted |= {k: flash[f"predicted_{k}"] for k in ("weights", "code")} | {"all": flash["predicted_total"]}
    assert built == predicted, "" if size_table(board).digest == digest() else "old sizes: run `make sizes`"


@pytest.mark.parametrize("optimise", ["balanced", "flash"])
def test_a_classifier_is_exact_and_of_the_predicted_size(optimise: str, tmp_path: Path) -> None:
    prepared, tensors = prepare_model(classifier(), tmp_path)
    result, steps = run(prepared, random_samples(tensors, 6), optimise=optimise)
    assert_exact(result, 6)
    assert steps[0] == "build 0/1" and "run 6/6" in steps and steps[-1] == "check 6/6"
    assert result["samples"]["accuracy"] is None
    assert 0 < result["init"]["instructions"] <= 1000
    count = result["inference"]["instructions"]
    assert count["min"] <= count["p50"] <= count["p95"] <= count["p99"] == count["max"]
    assert result["inference"]["latency_us"] is None  # an emulator has no latency
    assert result["inference"]["cycles"]["kind"] == "estimated"
    layers = result["layers"]
    assert [layer["op"] for layer in layers] == [op.name for op in prepared.model.main.ops]
    assert sum(layer["macs"] for layer in layers) == result["model"]["macs"] > 0
    assert all((layer["instructions"] > 0) == (layer["kernel"] is not None) for layer in layers)
    assert next(layer for layer in layers if layer["op"] == "RESHAPE")["instructions"] == 0
    total = sum(layer["instructions"] for layer in layers)
    # The sum of the layers' medians differs from the median of the sum.
    assert abs(total - count["p50"]) <= 0.01 * total
    assert result["memory"]["stack_kind"] == "measured"
    assert_sizes_as_predicted(result)


@pytest.mark.slow
def test_the_labels_give_the_accuracy_of_the_device(tmp_path: Path) -> None:
    """For three of four samples, the label is the class that LiteRT predicts, so the accuracy is 0.75."""
    prepared, tensors = prepare_model(classifier(), tmp_path)
    inputs = random_samples(tensors, 8).inputs
    reference = Reference(prepared.image)
    hits = np.array([int(np.argmax(reference.run(sample)[0])) for sample in inputs])
    labels = np.where(np.arange(8) % 4 == 3, (hits + 1) % 5, hits)
    np.savez(tmp_path / "s.npz", x=np.stack([sample[0] for sample in inputs]), y=labels)
    result, _ = run(prepared, load_samples(tmp_path / "s.npz", tensors))
    assert_exact(result, 8)
    assert result["samples"]["accuracy"] == 0.75


@pytest.mark.slow
@pytest.mark.parametrize("stateful", [False, True])
def test_state_is_fresh_for_each_sample_unless_it_is_kept(stateful: bool, tmp_path: Path) -> None:
    """The input is the same five times. With fresh state all outputs are equal; with kept state they are a running
    sum."""
    prepared, tensors = prepare_model(counter(), tmp_path)
    sample = random_samples(tensors, 1).inputs[0]
    result, _ = run(prepared, Samples([sample] * 5, None), stateful=stateful)
    assert_exact(result, 5)
    reference = Reference(prepared.image)
    outputs = {reference.run(sample, reset=k == 0 or not stateful)[0].tobytes() for k in range(5)}
    assert (len(outputs) > 1) == stateful  # the outputs show that the model carries state
    assert result["init"]["instructions"] <= 1000
    assert_sizes_as_predicted(result)


@pytest.mark.slow
def test_a_recurrent_layer_keeps_its_state_from_one_sample_to_the_next(tmp_path: Path) -> None:
    """The input is the same three times, and the state that the layer keeps makes the outputs differ."""
    prepared, tensors = prepare_model(quantized(stateful_model("lstm", 6, units=6)), tmp_path)
    sample = random_samples(tensors, 1).inputs[0]
    result, _ = run(prepared, Samples([sample] * 3, None), stateful=True)
    assert_exact(result, 3)
    reference = Reference(prepared.image)
    assert len({reference.run(sample, reset=k == 0)[0].tobytes() for k in range(3)}) > 1
    assert_sizes_as_predicted(result)


@pytest.mark.slow
def test_a_model_with_two_inputs_and_two_outputs_is_exact(tmp_path: Path) -> None:
    prepared, tensors = prepare_model(two_inputs(), tmp_path)
    columns = random_samples(tensors, 4).inputs
    arrays = {f"x{k}": np.stack([sample[k] for sample in columns]) for k in range(2)}
    np.savez(tmp_path / "s.npz", **arrays)  # type: ignore[arg-type]
    result, _ = run(prepared, load_samples(tmp_path / "s.npz", tensors))
    assert_exact(result, 4)
    assert_sizes_as_predicted(result)


@pytest.mark.slow
def test_a_model_with_float_inputs_and_outputs_is_exact(tmp_path: Path) -> None:
    prepared, tensors = prepare_model(float_edges(), tmp_path)
    result, _ = run(prepared, random_samples(tensors, 4))
    assert_exact(result, 4)
    assert_sizes_as_predicted(result)


@pytest.mark.slow
def test_the_mlperf_monitor_gives_the_same_outputs(tmp_path: Path) -> None:
    """The monitor's protocol does not report layers, init and stack. Their figures are null, or marked as estimated."""
    prepared, tensors = prepare_model(two_inputs(), tmp_path)
    result, _ = run(prepared, random_samples(tensors, 3), protocol="mlperf")
    assert_exact(result, 3)
    assert result["init"]["instructions"] is None
    assert {layer["instructions"] for layer in result["layers"]} == {None}
    assert result["memory"]["stack_kind"] == "estimated"
    assert result["memory"]["stack"] == result["memory"]["predicted_stack"]
    assert result["inference"]["instructions"]["p50"] > 0
    assert_sizes_as_predicted(result)


def test_the_mlperf_monitor_cannot_keep_state(tmp_path: Path) -> None:
    prepared, tensors = prepare_model(counter(), tmp_path)
    with pytest.raises(UsageError, match="starts every inference with fresh state"):
        run(prepared, random_samples(tensors, 1), protocol="mlperf", stateful=True)


def test_a_board_that_is_too_small_is_rejected_before_the_build(tmp_path: Path) -> None:
    prepared, tensors = prepare_model(classifier(100, 40), tmp_path)
    with pytest.raises(DoesNotFitError, match=r"needs [\d,]+ B more SRAM") as caught:
        run(prepared, random_samples(tensors, 1), board="qemu_microbit", keep=tmp_path / "p")
    assert caught.value.exit_code == 1
    assert not (tmp_path / "p").exists()


def test_a_real_board_needs_a_port(tmp_path: Path) -> None:
    prepared, tensors = prepare_model(classifier(), tmp_path)
    with pytest.raises(UsageError, match="nucleo_l4r5zi is a real board") as caught:
        run(prepared, random_samples(tensors, 1), board="nucleo_l4r5zi", keep=tmp_path / "p")
    assert "--port" in caught.value.hint
    assert not (tmp_path / "p").exists()  # the error precedes PlatformIO's download of a framework


@pytest.mark.slow
def test_an_output_that_differs_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference runs the same network with one parameter changed."""
    prepared, _ = prepare_model(two_inputs(), tmp_path)
    changed_model = two_inputs()
    tensor = changed_model.main.tensors[2]
    assert tensor.quant is not None
    object.__setattr__(tensor.quant, "zero_point", (2,))  # instead of 1, so every first output differs by one
    (tmp_path / "other.tflite").write_bytes(save(changed_model, tmp_path / "other.tflite").read_bytes())
    image = prepare(tmp_path / "other.tflite").image
    monkeypatch.setattr("arenite.host.bench.run.Reference", lambda _: Reference(image))
    result, _ = run(prepared, Samples([[np.full((1, 6), 10, np.int8), np.full((1, 6), 3, np.int8)]], None))
    assert (result["samples"]["bit_exact"], result["samples"]["max_abs_diff"]) == (0, 1)


@pytest.mark.slow
def test_a_pruned_model_is_compared_with_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bench detects a wrong pass, because the reference runs the model without passes."""
    model = dead_channel_model([44, 5])
    prepared, tensors = prepare_model(model, tmp_path)
    result, _ = run(prepared, random_samples(tensors, 4))
    assert_exact(result, 4)
    assert (
        result["model"]["macs"]
        == prepared.source_macs
        > result["model"]["macs_after_passes"]
        == prepared.macs
    )
    assert [r["pass"] for r in result["passes"]] == ["constant channels"]

    def wrong(model: Model, removes_channels: bool = True) -> tuple[Model, tuple[PassReport, ...]]:
        """Return the model with a wrong bias in the last layer, which changes each output by a step or more."""
        tensors = list(model.main.tensors)
        op = model.main.ops[-1]
        bias, out = tensors[op.inputs[2]], tensors[op.outputs[0]]
        assert bias.data is not None and bias.quant is not None
        step = np.int32(np.ceil(2 * out.scale / min(bias.quant.scale)))
        tensors[bias.index] = replace(bias, data=bias.data + step)
        main = replace(model.main, tensors=tuple(tensors))
        return model.with_main(main), (PassReport("wrong", ()),)

    monkeypatch.setattr("arenite.host.build.prepare.run_passes", wrong)
    prepared, _ = prepare_model(model, tmp_path)
    result, _ = run(prepared, random_samples(tensors, 4))
    assert result["samples"]["bit_exact"] < 4


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qemu_microbit", "qemu_mps3_an547", "qemu_riscv32", "qemu_xtensa_lx106"])
@pytest.mark.parametrize("optimise", ["balanced", "flash"])
def test_no_core_uses_more_stack_than_predicted(name: str, optimise: str, tmp_path: Path) -> None:
    """Recurrent layers, variables and softmax have the deepest calls. The prediction is below 1.5 times the use."""
    board = load_board(name)
    assert board.emulator is not None
    tools = (f"{core_named(board.core).prefix}gcc", f"qemu-system-{board.emulator.system}")
    if not all(map(shutil.which, tools)):
        pytest.skip(f"no compiler or no emulator for {board.core}: see `arenite doctor`")
    prepared, tensors = prepare_model(mix("state"), tmp_path)
    project = generate_project(prepared, board, tmp_path / "p", BuildOptions(optimise))
    with start(board, direct_build(tmp_path / "p")) as machine:
        samples = random_samples(tensors, 2)
        measured = measure(machine.transport, project.generated, samples, False, lambda *_: None)
    assert measured.memory is not None
    used, bound = measured.memory.stack_used, project.prediction.stack
    assert used < bound < 1.5 * used
    assert max(measured.init_ticks) > 0
    reference = Reference(prepared.image)
    for inputs, outputs in zip(samples.inputs, measured.outputs, strict=True):
        for expected, actual in zip(reference.run(inputs), outputs, strict=True):
            assert expected.tobytes() == actual.tobytes()


@pytest.mark.parametrize(
    ("reference", "output", "expected"),
    [
        (np.array([-128, 3], np.int8), np.array([127, 3], np.int8), 255),
        (np.array([True, False]), np.array([True, True]), 1),
        (np.array([1.5, np.nan], np.float32), np.array([1.0, np.nan], np.float32), 0.5),
        (np.array([np.inf, np.nan], np.float32), np.array([np.inf, np.nan], np.float32), 0),
        (np.array([np.inf], np.float32), np.array([1.0], np.float32), None),
        (np.array([np.nan], np.float32), np.array([1.0], np.float32), None),
        (np.array([2**62], np.int64), np.array([2**62 - 1], np.int64), 1),
        (np.zeros((0, 3), np.int8), np.zeros((0, 3), np.int8), 0),
    ],
)
def test_the_largest_difference(reference: np.ndarray, output: np.ndarray, expected: float | None) -> None:
    """Two NaNs or two equal infinities differ by 0. None: the difference is not a finite number."""
    assert difference(reference, output) == expected


@pytest.mark.slow
def test_fifty_recorded_words_are_exact_on_the_emulated_board() -> None:
    """With a trained keyword network and real recordings, the device has the same accuracy as LiteRT."""
    prepared = prepare(shared_model("kws01_int8"))
    data = SHARED / "data" / "kws01.npz"
    if not data.exists():
        pytest.skip(f"{data} is not there")
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    samples = load_samples(data, tensors, 50)
    result, _ = run(prepared, samples)
    assert_exact(result, 50)
    reference = Reference(prepared.image)
    assert samples.labels is not None
    hits = [
        int(np.argmax(reference.run(x)[0])) == y for x, y in zip(samples.inputs, samples.labels, strict=True)
    ]
    assert result["samples"]["accuracy"] == np.mean(hits) > 0.5
    assert_sizes_as_predicted(result)
