"""The NumPy reference of signal operators gives the bytes of TensorFlow Lite Micro; damaged operators are refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers

from arenite.converters.graph.model import Model, Op
from arenite.converters.graph.signal.operators import SIGNAL_OPERATORS, signal_operator, signal_states
from arenite.converters.tflite.image import to_flatbuffer
from arenite.converters.tflite.litert.interpreter import LiteRtModel
from arenite.converters.tflite.reader import parse
from arenite.errors import UnsupportedModelError
from arenite.firmware.generator.operator_needs import check_supported
from arenite.host.bench.reference import Reference
from arenite.host.bench.tflm.runner import available as tflm_is_installed
from tests.audio_preprocessor import audio_preprocessor, noise_windows, speech_windows
from tests.converters.graph.tflm_runs import tflm_outputs
from tests.fuzz.cases.signal import signal
from tests.fuzz.graph_builder import GraphBuilder

needs_tflm = pytest.mark.skipif(not tflm_is_installed(), reason="needs tflite-micro")


def random_chain(seed: int) -> Model:
    """Return a model of all signal operators with random sizes, tables and options."""
    b = GraphBuilder(np.random.default_rng(seed))
    signal(b)
    return b.build()


def inputs_of(model: Model, runs: int, seed: int) -> list[np.ndarray]:
    """Return ``runs`` random inputs of the model, each with another loudness."""
    rng = np.random.default_rng(seed)
    shape = model.main.tensors[model.main.inputs[0]].shape
    limits = 2 ** rng.integers(0, 16, runs)
    return [rng.integers(-limit, limit, shape).astype(np.int16) for limit in limits]


def reference_outputs(flatbuffer: bytes, inputs: Sequence[np.ndarray] | np.ndarray) -> list[np.ndarray]:
    """Return the first output of each call. The state is reset only before the first call."""
    reference = Reference(flatbuffer)
    return [reference.run([values], reset=k == 0)[0] for k, values in enumerate(inputs)]


@needs_tflm
def test_random_chains_give_the_bytes_of_tflm_over_many_calls(tmp_path: Path) -> None:
    models = [random_chain(seed) for seed in range(40)]
    flatbuffers = [to_flatbuffer(model) for model in models]
    inputs = [inputs_of(model, 12, seed) for seed, model in enumerate(models)]
    expected = tflm_outputs(flatbuffers, inputs, tmp_path)
    for seed, (flatbuffer, calls, outputs) in enumerate(zip(flatbuffers, inputs, expected, strict=True)):
        np.testing.assert_array_equal(reference_outputs(flatbuffer, calls), outputs, str(seed))
    assert sum(len(np.unique(outputs)) > 20 for outputs in expected) > 20  # most chains have many results


@needs_tflm
def test_noise_gives_the_features_of_the_audio_preprocessor_in_tflm(tmp_path: Path) -> None:
    windows = noise_windows(300)
    (expected,) = tflm_outputs([audio_preprocessor()], [windows], tmp_path)
    np.testing.assert_array_equal(reference_outputs(audio_preprocessor(), windows), expected)
    assert len(np.unique(expected)) > 100


@pytest.mark.slow
@needs_tflm
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
def test_speech_gives_the_features_of_the_audio_preprocessor_in_tflm(tmp_path: Path) -> None:
    windows = speech_windows(1236)
    (expected,) = tflm_outputs([audio_preprocessor()], [windows], tmp_path)
    np.testing.assert_array_equal(reference_outputs(audio_preprocessor(), windows), expected)
    assert len(np.unique(expected)) > 100


def test_a_reset_restores_the_first_state() -> None:
    windows = noise_windows(6, seed=1)
    model = LiteRtModel(audio_preprocessor(), exact=True)
    results = []
    for k in range(12):
        model.run([windows[k % 6]], fresh=k % 6 == 0)
        results.append(model.results()[0])
    np.testing.assert_array_equal(results[:6], results[6:])
    model.run([windows[0]], fresh=False)
    assert (model.results()[0] != results[0]).any()


def test_the_state_is_the_estimate_of_the_noise() -> None:
    graph = parse(audio_preprocessor()).main
    assert signal_states(graph) == {"state of operator 11 SignalFilterBankSpectralSubtraction": 160}
    assert {op.kind for op in graph.ops if op.name == "CUSTOM"} == set(SIGNAL_OPERATORS)


def changed(name: str, change: Callable[[Op], Op]) -> Model:
    """Return the audio preprocessor with a change of its operator ``name``."""
    model = parse(audio_preprocessor())
    ops = tuple(change(op) if op.kind == name else op for op in model.main.ops)
    return model.with_main(replace(model.main, ops=ops))


def options(**values: int | str) -> Callable[[Op], Op]:
    """Return a change that sets some options."""

    def change(op: Op) -> Op:
        old = flexbuffers.GetRoot(bytearray(op.custom_options)).AsMap.Value
        return replace(op, custom_options=bytes(flexbuffers.Dumps(old | values)))

    return change


@pytest.mark.parametrize(
    ("name", "change", "problem"),
    [
        ("SignalWindow", options(shift=32), "its option 'shift' is 32, expected a whole number from 0 to 31"),
        ("SignalWindow", options(shift="12"), "its option 'shift' is None"),
        ("SignalWindow", lambda op: replace(op, custom_options=b""), "its option 'shift' is None"),
        ("SignalWindow", lambda op: replace(op, custom_options=b"\xff" * 9), "its option 'shift' is None"),
        ("SignalWindow", lambda op: replace(op, inputs=op.inputs[:1]), "has 1 inputs, expected 2"),
        ("SignalWindow", lambda op: replace(op, inputs=(0, -1)), "an input is absent"),
        ("SignalRfft", options(T=1), "it has numbers of type 1, expected int16"),
        ("SignalRfft", options(fft_length=500), "its length is 500, expected a power of two"),
        ("SignalRfft", options(fft_length=256), r"its input \[480\] is longer than the FFT"),
        ("SignalRfft", options(fft_length=1024), r"its output has the shape \[514\], expected \[1026\]"),
        ("SignalEnergy", options(end_index=258), "'end_index' is 258, expected a whole number from 5 to 257"),
        ("SignalFilterBank", options(num_channels=39), "its output has 40 channels, expected 39"),
        ("SignalFilterBankSpectralSubtraction", options(smoothing=-1), "'smoothing' is -1"),
        ("SignalPCAN", options(snr_shift=64), "'snr_shift' is 64"),
        ("SignalFilterBankLog", options(input_correction_bits=-1), "'input_correction_bits' is -1"),
    ],
)
def test_damaged_operators_are_refused(name: str, change: Callable[[Op], Op], problem: str) -> None:
    with pytest.raises(UnsupportedModelError, match=problem) as caught:
        check_supported(changed(name, change))
    assert name in caught.value.problem and "export it again" in caught.value.hint


def test_a_part_outside_of_the_energies_is_refused() -> None:
    model = parse(audio_preprocessor())
    op = next(op for op in model.main.ops if op.kind == "SignalFilterBank")
    tensors = list(model.main.tensors)
    starts = tensors[op.inputs[3]]
    assert starts.data is not None
    tensors[starts.index] = replace(starts, data=starts.data + np.int16(40))
    with pytest.raises(UnsupportedModelError, match="a part is outside of the energies or of the weights"):
        signal_operator(replace(model.main, tensors=tuple(tensors)), op)


def test_other_signal_operators_are_not_supported() -> None:
    model = changed("SignalWindow", lambda op: replace(op, custom_code="SignalFramer"))
    with pytest.raises(UnsupportedModelError, match="SignalFramer: this operator is not supported"):
        check_supported(model)
