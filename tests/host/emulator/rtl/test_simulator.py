"""A missing tool, a wrong wheel and unsupported options are reported before anything is simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ProfileError, ToolError, UsageError
from arenite.host.bench.run import BenchConfig, choose_tools
from arenite.host.build.options import BuildOptions
from arenite.host.emulator.emulator_choice import choose_emulator
from arenite.host.emulator.machine import command_line
from arenite.host.emulator.rtl.cores import rtl_core
from arenite.host.emulator.rtl.machine import WaitStates
from arenite.host.emulator.rtl.simulator import simulator
from arenite.profiles.boards import all_boards, load_board
from tests.host.emulator.rtl.verilator import needs_verilator

RTL_BOARDS = [board for board in all_boards() if board.rtl is not None]


def test_each_board_names_a_core_and_has_the_memories_of_its_firmware() -> None:
    assert [board.name for board in RTL_BOARDS] == ["rtl_cv32e40p", "rtl_ibex", "rtl_ibex_small"]
    for board in RTL_BOARDS:
        assert board.rtl is not None and rtl_core(board.rtl.core)
        emulated = load_board(board.rtl.firmware)
        assert (board.core, board.flash, board.ram, board.emulator) == (
            emulated.core,
            emulated.flash,
            emulated.ram,
            emulated.emulator,
        )
    with pytest.raises(ProfileError, match="no core 'z80'"):
        rtl_core("z80")


def test_without_verilator_the_error_names_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="Verilator is not installed") as caught:
        choose_emulator(load_board("rtl_ibex"), None)
    assert "apt install verilator" in caught.value.hint


@needs_verilator
def test_a_file_that_is_not_the_pinned_wheel_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    wheel = tmp_path / "ibex.whl"
    wheel.write_bytes(b"another file")
    monkeypatch.setenv("ARENITE_IBEX", str(wheel))
    with pytest.raises(UsageError, match=r"has the SHA-256 .* the wheel of pythondata-cpu-ibex"):
        simulator(rtl_core("ibex"))
    wheel.unlink()
    with pytest.raises(UsageError, match=f"Cannot read {wheel}"):
        simulator(rtl_core("ibex_small"))
    assert not (tmp_path / "cache" / "rtl").exists()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (BenchConfig(BuildOptions(protocol="mlperf")), "does not support --protocol mlperf"),
        (BenchConfig(BuildOptions(health=True)), "does not support --health"),
        (BenchConfig(BuildOptions(stream_input=True)), "does not support --stream-input"),
        (BenchConfig(emulator="qemu"), "does not support --emulator"),
        (BenchConfig(port="/dev/ttyUSB0"), "does not support --port"),
        (BenchConfig(cycles=True), "--cycles has nothing to estimate"),
    ],
)
def test_unsupported_options_are_refused(config: BenchConfig, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        choose_tools(load_board("rtl_cv32e40p"), config)
    assert "qemu_riscv32" in caught.value.hint


def test_other_commands_do_not_run_a_simulated_board_in_qemu() -> None:
    with pytest.raises(UsageError, match="only `arenite bench` simulates its core") as caught:
        command_line(load_board("rtl_ibex"), None)
    assert "qemu_riscv32" in caught.value.hint


def test_wait_states_are_for_simulated_boards_and_limited() -> None:
    with pytest.raises(UsageError, match="qemu_riscv32 has no wait states"):
        choose_tools(load_board("qemu_riscv32"), BenchConfig(waits=WaitStates(flash=1)))
    with pytest.raises(UsageError, match="flash has 4 wait states"):
        WaitStates(flash=4)
