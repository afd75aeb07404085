"""List the cores whose code sizes are stored, and choose the stored table for a board."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import arenite.profiles.boards as boards
from arenite.errors import ProfileError, UsageError
from arenite.firmware.boards.families import family_named
from arenite.firmware.boards.toolchains import GCC, TOOLCHAINS, ZIG
from arenite.firmware.generator.features import DEFAULT_PIN, ENERGY, NO_FEATURES, Features
from arenite.profiles.boards import Board

SIZES = Path(boards.__file__).parent / "sizes"


def size_file(name: str, toolchain: str) -> Path:
    """Return the path of the table of the target ``name``, measured with ``toolchain``."""
    return SIZES / (f"{name}.json" if toolchain == GCC else f"{toolchain}/{name}.json")


def support_key(protocol: str, stream_input: bool, features: Features) -> str:
    """Return the key of the support code (start-up, port and protocol) that ``write_project`` adds with these
    arguments."""
    if protocol == ENERGY:  # this protocol always has a mark pin
        return protocol
    return protocol + ("-stream" if stream_input else "") + features.key


#: Bytes of the second core's stack in the measured support code.
SECOND_STACK = 512


@dataclass(frozen=True)
class SizeTarget:
    """The core ``core``, compiled with the support code of the emulated board ``board``."""

    name: str
    board: str
    core: str

    @property
    def has_pins(self) -> bool:
        """Whether the board's support code can drive a mark pin, which is high while an inference computes."""
        emulator = boards.load_board(self.board).emulator
        return emulator is not None and bool(family_named(emulator.family).mark_pins)

    @property
    def has_second_core(self) -> bool:
        """Whether the board's support code can run halves of layers on a second core."""
        return boards.load_board(self.board).second_core is not None

    def supports(self) -> dict[str, tuple[str, bool, Features]]:
        """Return the key of every variant of the target's support code, with the arguments (protocol, stream_input,
        features) for which ``support_key`` returns it."""
        marks = (None, DEFAULT_PIN) if self.has_pins else (None,)
        combinations = [
            ("arenite", stream, Features(mark, health))
            for stream in (False, True)
            for health in (False, True)
            for mark in marks
        ]
        combinations += [("mlperf", False, Features(mark)) for mark in marks]
        combinations += [(ENERGY, False, NO_FEATURES)] if self.has_pins else []
        if self.has_second_core:
            combinations += [
                (p, s, replace(f, cores=2, second_core_stack=SECOND_STACK)) for p, s, f in combinations
            ]
        return {support_key(*arguments): arguments for arguments in combinations}


def _emulated(board: str, core: str) -> SizeTarget:
    """Return the target of an emulated board, which has the board's name."""
    return SizeTarget(board, board, core)


#: All targets by name: one for each emulated board, and one for each other core that the compilers support, with the
#: support code of an emulated board.
SIZE_TARGETS = {
    t.name: t
    for t in (
        _emulated("qemu_microbit", "cortex-m0"),
        _emulated("qemu_mps2_m0", "cortex-m0"),
        _emulated("qemu_mps2_an385", "cortex-m3"),
        _emulated("qemu_mps2_an386", "cortex-m4f"),
        _emulated("qemu_netduinoplus2", "cortex-m4f"),
        _emulated("qemu_mps2_an505", "cortex-m33"),
        _emulated("qemu_mps2_an500", "cortex-m7"),
        _emulated("qemu_mps3_an547", "cortex-m55"),
        _emulated("qemu_riscv32", "rv32imc"),
        _emulated("qemu_riscv32_smp2", "rv32imc"),
        _emulated("qemu_xtensa_lx106", "xtensa-lx106"),
        SizeTarget("cortex-m0plus", "qemu_microbit", "cortex-m0plus"),
        SizeTarget("cortex-m23", "qemu_microbit", "cortex-m23"),
        SizeTarget("cortex-m4", "qemu_mps2_an386", "cortex-m4"),
        SizeTarget("rv32imac", "qemu_riscv32", "rv32imac"),
        SizeTarget("rv32imafc", "qemu_riscv32", "rv32imafc"),
    )
}

#: The targets whose sizes are measured with zig: the emulated boards that Unicorn can run.
ZIG_TARGETS = (
    "qemu_microbit",
    "qemu_mps2_m0",
    "qemu_mps2_an385",
    "qemu_mps2_an386",
    "qemu_netduinoplus2",
    "qemu_mps2_an505",
    "qemu_mps2_an500",
    "qemu_riscv32",
)

#: For each core that Debian's compilers do not support: the table of the nearest core.
_NEAREST = {
    "xtensa-lx6": "qemu_xtensa_lx106",
    "xtensa-lx7": "qemu_xtensa_lx106",
    "cortex-m85": "qemu_mps3_an547",
}


def require_toolchain(board: Board, toolchain: str) -> None:
    """Raise ``UsageError`` if ``toolchain`` does not exist, or if no sizes were measured with it for ``board``.
    Firmware is built only with toolchains for which there are sizes."""
    if toolchain not in TOOLCHAINS:
        raise UsageError(f"'{toolchain}' is not a toolchain.", f"Choose one of {', '.join(TOOLCHAINS)}.")
    if toolchain == GCC or board.name in ZIG_TARGETS:
        return
    reason = (
        "no sizes were measured with it" if board.emulated else "PlatformIO builds it with another compiler"
    )
    raise UsageError(
        f"--toolchain zig does not build firmware for {board.name}: {reason}.",
        f"Leave out --toolchain, or choose one of {', '.join(ZIG_TARGETS)}.",
    )


def boards_of(toolchain: str) -> list[Board]:
    """Return the boards whose sizes are known for ``toolchain``."""
    return [board for board in boards.all_boards() if toolchain != ZIG or board.name in ZIG_TARGETS]


def target_of(board: Board) -> SizeTarget:
    """Return the target whose size table is used for ``board``: its own for an emulated board, otherwise the target of
    its core, or of the nearest core.

    Raises ``ProfileError`` if there is none.
    """
    if board.name in SIZE_TARGETS:
        return SIZE_TARGETS[board.name]
    if board.core in SIZE_TARGETS:
        return SIZE_TARGETS[board.core]
    name = _NEAREST.get(board.core) or next(
        (t.name for t in SIZE_TARGETS.values() if t.core == board.core), None
    )
    if name is None:
        raise ProfileError(
            f"No code sizes are stored for the core '{board.core}' of {board.name}.",
            f"Choose a board with one of the cores {', '.join(sorted({t.core for t in SIZE_TARGETS.values()}))}.",
        )
    return SIZE_TARGETS[name]
