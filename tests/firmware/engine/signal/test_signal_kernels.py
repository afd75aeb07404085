"""The kernels of signal operators give the bytes of the NumPy reference, on this computer and on emulated boards."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import arenite
from arenite.converters.graph.signal.filters import FilterBank
from arenite.converters.tflite.reader import parse
from arenite.firmware.generator.lower.signal.filters import compact_parts
from arenite.host.bench.native_model import build
from arenite.host.bench.reference import Reference
from tests.audio_preprocessor import audio_preprocessor, noise_windows, speech_windows
from tests.fuzz.comparison import CACHE, HOST_TARGETS, lower
from tests.fuzz.fixed_graphs import assert_bit_exact

needs_arm = pytest.mark.skipif(
    not (shutil.which("arm-none-eabi-gcc") and shutil.which("qemu-system-arm")),
    reason="no Arm compiler or no emulator: see `arenite doctor`",
)


def test_windows_of_noise_are_exact_on_this_computer() -> None:
    model = parse(audio_preprocessor())
    natives = build([lower(model, f"m{t}_", target) for t, target in enumerate(HOST_TARGETS)], CACHE)
    for native in natives:
        reference = Reference(audio_preprocessor())
        native.fill_arena(0xA5)
        for k, window in enumerate(noise_windows(60)):
            reset = k % 50 == 0
            expected = reference.run([window], reset=reset)[0]
            np.testing.assert_array_equal(native.run([window], reset=reset)[0], expected)


@pytest.mark.slow
def test_random_chains_are_exact() -> None:
    assert_bit_exact("CUSTOM signal operators", graphs=40)


def bench(board: str, windows: np.ndarray, folder: Path) -> arenite.BenchResult:
    """Return the result of a bench in which the state goes on from window to window."""
    (folder / "model.tflite").write_bytes(audio_preprocessor())
    np.savez(folder / "windows.npz", x=windows)
    return arenite.bench(folder / "model.tflite", board, data=folder / "windows.npz", stateful=True)


def assert_exact_and_as_predicted(result: arenite.BenchResult, count: int) -> None:
    """Check that all outputs are exact, and that flash and RAM have the predicted sizes."""
    record = result.to_json()
    assert (record["samples"]["count"], record["samples"]["bit_exact"]) == (count, count)
    flash, memory = record["flash"], record["memory"]
    assert (flash["weights"], flash["code"]) == (flash["predicted_weights"], flash["predicted_code"])
    assert memory["static"] == memory["predicted_static"]
    assert memory["stack"] <= memory["predicted_stack"]


@pytest.mark.qemu
@needs_arm
def test_windows_of_noise_are_exact_on_an_emulated_board(tmp_path: Path) -> None:
    assert_exact_and_as_predicted(bench("qemu_mps2_an386", noise_windows(10), tmp_path), 10)


@pytest.mark.slow
@pytest.mark.qemu
@needs_arm
@pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
@pytest.mark.parametrize("board", ["qemu_mps2_an386", "qemu_microbit", "qemu_riscv32"])
def test_speech_is_exact_on_emulated_boards(board: str, tmp_path: Path) -> None:
    if board == "qemu_riscv32" and not shutil.which("qemu-system-riscv32"):
        pytest.skip("no emulator for RISC-V")
    assert_exact_and_as_predicted(bench(board, speech_windows(200), tmp_path), 200)


def test_a_filter_bank_is_stored_without_unused_energies() -> None:
    graph = parse(audio_preprocessor()).main
    op = next(op for op in graph.ops if op.kind == "SignalFilterBank")
    bank = FilterBank(graph, op)
    parts = compact_parts(bank)
    assert len(bank.weights) == 316 and sum(parts.counts) == 236
    assert parts.starts[0] == 5 and parts.starts[-1] + parts.counts[-1] == 241
