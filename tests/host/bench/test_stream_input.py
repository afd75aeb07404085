"""Tests of a streamed input over a real serial port: rows arrive in frames, and layers run while the rows arrive."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.tflite.image import to_flatbuffer
from arenite.errors import DeviceError, UsageError
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_source import model_sources
from arenite.firmware.generator.project import write_project
from arenite.firmware.generator.target import Target
from arenite.host.bench.reference import Reference
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.link.client import INFER, OF_INPUTS, OUT_OF_ORDER, WRITE, DeviceClient, InputLostError
from arenite.profiles.boards import load_board
from tests.firmware.engine.random_chains import ChainBuilder, add, depthwise_3x3, global_mean, pointwise
from tests.firmware.engine.streamed_models import lower_streamed

BOARDS = ("qemu_mps2_an386", "qemu_mps3_an547", "qemu_riscv32", "qemu_microbit", "qemu_xtensa_lx106")


@cache
def model() -> Model:
    """Return a model with an addition and a mean. Its input has rows of 27 bytes, so that frames and rows do not end at
    the same byte."""
    b = ChainBuilder(np.random.default_rng(2))
    b.input((1, 24, 9, 3), "int8", b.quant("int8"))
    for kind in (pointwise, depthwise_3x3, add, depthwise_3x3, global_mean):
        kind(b)
    return b.build()


def generated(board: str, stream_input: bool) -> Generated:
    """Return ``model``, generated with layers that run row by row."""
    core = load_board(board).core
    generated_model = lower_streamed(model(), Target.for_core(core, "ram", stream_input), "")
    assert generated_model is not None
    return generated_model


def project(folder: Path, board: str, stream_input: bool) -> Path:
    """Generate and build the project of ``model``. Return the path of the ELF file."""
    generated_model = generated(board, stream_input)
    write_project(
        folder,
        model_sources(generated_model),
        generated_model.engine_sources,
        load_board(board),
        stream_input=stream_input,
    )
    return direct_build(folder)


def samples() -> list[np.ndarray]:
    """Return three random inputs of ``model``."""
    rng = np.random.default_rng(3)
    return [rng.integers(-128, 128, (1, 24, 9, 3)).astype(np.int8) for _ in range(3)]


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("stream_input", [False, True])
def test_a_board_computes_the_outputs_of_litert_from_rows(
    board: str, stream_input: bool, tmp_path: Path
) -> None:
    elf = project(tmp_path / "project", board, stream_input)
    reference = Reference(to_flatbuffer(model()))
    with start(load_board(board), elf) as machine:
        device = DeviceClient(machine.transport)
        info = device.hello()
        assert info.inputs[0].nbytes == 24 * 9 * 3
        for sample in samples():
            device.write_input(0, sample.tobytes())
            ticks = device.infer()
            (expected,) = reference.run([sample])
            assert device.read_output(0, expected.nbytes) == expected.tobytes()
            layers = device.layer_ticks(info.layer_count)
            assert len(layers) == len(model().main.ops) and min(layers) > 0 and sum(layers) == ticks.total
        memory = device.memory()
        assert memory.guards_damaged == 0 and not memory.stack_overflowed


@pytest.fixture
def device(tmp_path: Path) -> Iterator[DeviceClient]:
    """Start an emulated board with a streamed input, and yield a client with an open session."""
    board = load_board("qemu_mps2_an386")
    elf = project(tmp_path / "project", board.name, True)
    with start(board, elf) as machine:
        client = DeviceClient(machine.transport)
        client.hello()
        yield client


@pytest.mark.qemu
def test_parts_out_of_order_are_rejected_and_the_input_is_sent_again(device: DeviceClient) -> None:
    (sample, *_), reference = samples(), Reference(to_flatbuffer(model()))
    data = sample.tobytes()

    def write(offset: int, part: bytes) -> None:
        device._exchange(WRITE, bytes([OF_INPUTS, 0]) + struct.pack("<I", offset) + part)

    write(0, data[:100])
    with pytest.raises(InputLostError, match="complete input"):
        write(200, data[200:300])
    with pytest.raises(InputLostError):
        device.infer()
    write(100, data[100:200])  # continues at the expected offset
    with pytest.raises(InputLostError):
        write(100, data[100:200])
    device.write_input(0, data)  # restarts at the first row
    device.infer()
    (expected,) = reference.run([sample])
    assert device.read_output(0, expected.nbytes) == expected.tobytes()
    with pytest.raises(InputLostError):
        device.infer()  # fails, because the rows of its input were overwritten


@pytest.mark.qemu
def test_a_repeated_part_is_stored_once(device: DeviceClient) -> None:
    sample = samples()[1]
    data = sample.tobytes()
    device.write_input(0, data[:240])
    device._sequence -= 1  # send the same request again, as the client does after a lost reply
    device._exchange(WRITE, bytes([OF_INPUTS, 0]) + struct.pack("<I", 0) + data[:240])
    for offset in range(240, len(data), 240):
        device._exchange(
            WRITE, bytes([OF_INPUTS, 0]) + struct.pack("<I", offset) + data[offset : offset + 240]
        )
    first = device.infer()
    device._sequence -= 1
    assert device._exchange(INFER, bytes([1, 0])) == struct.pack("<QI", first.total, first.init)
    (expected,) = Reference(to_flatbuffer(model())).run([sample])
    assert device.read_output(0, expected.nbytes) == expected.tobytes()


@pytest.mark.qemu
def test_a_streamed_input_cannot_be_read_back(device: DeviceClient) -> None:
    with pytest.raises(DeviceError, match="does not have this tensor"):
        device._read(OF_INPUTS, 0, 10)


def test_the_mlperf_monitor_cannot_stream(tmp_path: Path) -> None:
    generated_model = generated("qemu_mps2_an386", True)
    with pytest.raises(UsageError, match="keeps the complete input"):
        write_project(
            tmp_path / "p",
            model_sources(generated_model),
            generated_model.engine_sources,
            load_board("qemu_mps2_an386"),
            protocol="mlperf",
            input_bytes=1,
            stream_input=True,
        )


def test_the_error_codes_are_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "protocol.md").read_text()
    assert f"{OUT_OF_ORDER} the input is not complete" in text
