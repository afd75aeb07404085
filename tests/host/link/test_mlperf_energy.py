"""Tests of the MLPerf monitor on emulated boards: the energy mode, and float inputs and scores of anomaly detection."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import UsageError
from arenite.firmware.generator.features import Features
from arenite.firmware.generator.project import write_project
from arenite.host.emulator import mark_pin
from arenite.host.emulator.machine import RunningEmulator, start
from arenite.host.flash.build import direct_build
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.profiles.boards import load_board
from tests import toy_model

pytestmark = pytest.mark.qemu
SAMPLE = bytes([250, 1, 2, 3, 4, 5, 6, 127])
SPIN = "for (volatile int i = 0; i < 5000; i++) {\n    }"


def ask(machine: RunningEmulator, command: str) -> list[str]:
    """Send ``command``; return the lines of the answer without the final ``m-ready``."""
    machine.transport.write(command.encode() + b"%")
    actual = b""
    while not actual.endswith(b"m-ready\r\n"):
        data = machine.transport.read(5.0)
        assert data, f"silence after {actual!r}"
        actual += data
    return actual.decode("ascii").split("\r\n")[:-2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["qemu_mps2_an386", "qemu_mps3_an547", "qemu_microbit", "qemu_netduinoplus2"]
)
def test_each_timestamp_is_a_falling_edge_of_the_pin(name: str, tmp_path: Path) -> None:
    board, log = load_board(name), tmp_path / "log"
    sources = toy_model.sources(SPIN)
    project = write_project(tmp_path / "p", sources, [], board, protocol="mlperf-energy", input_bytes=8)
    manifest = json.loads((project / "arenite.json").read_text())
    assert (manifest["baud"], manifest["protocol"]) == (9600, "mlperf-energy")
    with start(board, direct_build(project), extra=mark_pin.arguments(board, log)) as machine:
        MonitorClient(machine.transport).connect()
        assert ask(machine, "name") == [f"m-name-dut-[{name}]"]
        assert ask(machine, "timestamp") == []
        assert ask(machine, "db load 8") == ["m-[Expecting 8 bytes]"]
        assert ask(machine, "db " + SAMPLE.hex()) == ["m-load-done"]
        edges_before = list(mark_pin.read_marks(board, log))
        answer = ask(machine, "infer 4 1")
        results = ",".join(f"{b - 256 if b > 127 else b}.000" for b in toy_model.expected([SAMPLE])[0])
        assert answer == [
            "m-warmup-start-1",
            "m-warmup-done",
            "m-infer-start-4",
            "m-infer-done",
            f"m-results-[{results}]",
        ]
    edges = list(mark_pin.read_marks(board, log))
    # The pin is high at first. Each timestamp makes it low and high; the five inferences do not change it.
    assert [e.on for e in edges_before] == [True, False, True]
    assert [e.on for e in edges] == [True] + [False, True] * 3
    times = [e.virtual_s for e in edges]
    if None in times or name == "qemu_netduinoplus2":
        return
    low_times_s = [times[k + 1] - times[k] for k in (1, 3, 5)]  # type: ignore[operator]
    assert low_times_s == pytest.approx([0.002] * 3, rel=0.1)
    # Between these two edges, the board runs four inferences, and the pin is low for 2 ms. An iteration of SPIN takes
    # at least three cycles, and the fastest clock of these boards has 32 MHz.
    assert times[5] - times[3] > 0.002 + 4 * 5000 * 3 / 32e6  # type: ignore[operator]


def test_a_board_without_pins_has_no_energy_mode(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no pin for the mark"):
        write_project(
            tmp_path / "p",
            toy_model.sources(),
            [],
            load_board("qemu_riscv32"),
            protocol="mlperf-energy",
            input_bytes=8,
        )


def test_a_real_board_needs_a_pin(tmp_path: Path) -> None:
    board = load_board("nucleo_l4r5zi")
    with pytest.raises(UsageError, match="has no default pin for the mark"):
        write_project(tmp_path / "p", toy_model.sources(), [], board, protocol="mlperf-energy", input_bytes=8)
    write_project(
        tmp_path / "p",
        toy_model.sources(),
        [],
        board,
        protocol="mlperf-energy",
        input_bytes=8,
        features=Features(mark="D7"),
    )
    text = (tmp_path / "p/lib/agent/firmware_features.h").read_text()
    assert "#define PORT_BAUD 9600u" in text and "#define ARENITE_MARK_PIN D7" in text


@pytest.mark.parametrize("name", ["qemu_mps2_an386", "qemu_microbit", "qemu_riscv32", "qemu_xtensa_lx106"])
@pytest.mark.slow
def test_the_monitor_accepts_float_inputs_and_returns_an_anomaly_score(name: str, tmp_path: Path) -> None:
    """For anomaly detection, inputs are floats and the result is the mean squared error. Bytes are accepted too."""
    board = load_board(name)
    sources = toy_model.sources()
    scales = (
        "#define MODEL_INPUT_0_SCALE 0.25f\n#define MODEL_INPUT_0_ZERO_POINT 3\n"
        "#define MODEL_OUTPUT_0_SCALE 0.5f\n#define MODEL_OUTPUT_0_ZERO_POINT -7\n"
    )
    sources["model.h"] = sources["model.h"].replace(
        "#define MODEL_LAYERS 3\n", "#define MODEL_LAYERS 3\n" + scales
    )
    project = write_project(
        tmp_path / "p", sources, [], board, protocol="mlperf", input_bytes=32, float_inputs=8
    )
    inputs = np.array([0.0, -1.3, 5.126, 31.0, -40.0, 0.124, 0.1251, 7.7], np.float32)
    stored = np.clip(np.floor(inputs.astype(np.float64) / 0.25 + 0.5) + 3, -128, 127).astype(np.int8)
    out = np.frombuffer(toy_model.expected([stored.tobytes()])[0], np.int8)
    score = np.mean(((out.astype(np.float64) + 7) * 0.5 - inputs) ** 2)
    with start(board, direct_build(project)) as machine:
        MonitorClient(machine.transport).connect()
        assert ask(machine, "db load 32") == ["m-[Expecting 32 bytes]"]
        assert ask(machine, "db " + inputs[:4].tobytes().hex()) == []
        assert ask(machine, "db " + inputs[4:].tobytes().hex()) == ["m-load-done"]
        (line,) = (text for text in ask(machine, "infer 1 0") if text.startswith("m-results"))
        assert float(line.removeprefix("m-results-[").removesuffix("]")) == pytest.approx(score, abs=0.00051)
        assert ask(machine, "raw") == [f"m-raw-[{out.tobytes().hex()}]"]
        lines = [inputs.tobytes()[k : k + 8].hex("-") for k in range(0, 32, 8)]
        assert ask(machine, "db print") == [f"m-buffer-{text}" for text in lines]

        assert ask(machine, "db load 8") == ["m-[Expecting 8 bytes]"]
        assert ask(machine, "db " + stored.tobytes().hex()) == ["m-load-done"]
        assert ask(machine, "infer 1 0")[-1].count(",") == 7
        assert ask(machine, "raw") == [f"m-raw-[{out.tobytes().hex()}]"]
        assert ask(machine, "db load 31") == ["e-[the inputs are not that large]"]
        assert ask(machine, "db load 33") == ["e-[the inputs are not that large]"]
        assert ask(machine, "db load 0") == ["e-[nothing to load]"]
        assert ask(machine, "infer 0 1") == ["e-[infer at least once]"]
