"""Count the instructions of an inference per class, on an emulated board with the same kernels as the real board.

A real board's kernels depend only on its instruction set. An emulated board with the same or the nearest core
therefore runs the same kernels with the same plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.converters.graph.index_limits import index_limits
from arenite.errors import DoesNotFitError, UsageError
from arenite.host.bench.devices.measure import measure
from arenite.host.bench.samples import Samples, random_samples
from arenite.host.build.fit import choose
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import generate_project
from arenite.host.emulator.layer_code import layer_code, segment_layers
from arenite.host.emulator.profile import Profile, profile
from arenite.host.flash.build import build
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board, load_board

#: Maps a core to the emulated board on which its instructions are counted (its counting board), and the core whose
#: instruction set and timing are used.
COUNTING_BOARDS = {
    "cortex-m0": ("qemu_mps2_m0", "cortex-m0"),
    "cortex-m0plus": ("qemu_mps2_m0", "cortex-m0plus"),
    "cortex-m23": ("qemu_mps2_m0", "cortex-m0"),
    "cortex-m3": ("qemu_mps2_an385", "cortex-m3"),
    "cortex-m4": ("qemu_mps2_an386", "cortex-m4f"),
    "cortex-m4f": ("qemu_mps2_an386", "cortex-m4f"),
    "cortex-m33": ("qemu_mps2_an505", "cortex-m33"),
    "cortex-m7": ("qemu_mps2_an500", "cortex-m7"),
    "cortex-m55": ("qemu_mps3_an547", "cortex-m55"),
    "cortex-m85": ("qemu_mps3_an547", "cortex-m55"),
    "rv32imc": ("qemu_riscv32", "rv32imc"),
    "rv32imac": ("qemu_riscv32", "rv32imc"),
    "rv32imafc": ("qemu_riscv32", "rv32imc"),
    "xtensa-lx106": ("qemu_xtensa_lx106", "xtensa-lx106"),
    "xtensa-lx6": ("qemu_xtensa_lx106", "xtensa-lx106"),
    "xtensa-lx7": ("qemu_xtensa_lx106", "xtensa-lx106"),
}

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class InstructionCounts:
    """The instructions of one inference per class, on the emulated board ``board`` with the kernels of ``core``."""

    profile: Profile
    board: str
    core: str
    optimise: str


def counting_board_of(board: Board) -> Board:
    """Return the emulated board that runs the kernels of ``board``; an emulated board is its own
    counting board. Raises ``UsageError`` if there is none for the core."""
    if board.emulated:
        return board
    if board.core not in COUNTING_BOARDS:
        raise UsageError(
            f"There is no emulated board for the core '{board.core}'.", "Measure the board with --meter."
        )
    name, core = COUNTING_BOARDS[board.core]
    return replace(load_board(name), core=core)


def does_not_fit(prepared: Prepared, verdict: FitVerdict) -> DoesNotFitError:
    """Return the error for a board that is too small. It names the missing memory of ``verdict``."""
    return DoesNotFitError(
        f"{prepared.path.name} does not fit {verdict.board.name}: {'; '.join(verdict.reasons)}.",
        f"`arenite fit {prepared.path} --all` shows the boards that it fits.",
    )


def count_instructions(
    prepared: Prepared,
    board: Board,
    options: BuildOptions = DEFAULT_BUILD,
    *,
    samples: Samples | None = None,
    progress: Progress = lambda *_: None,
) -> InstructionCounts:
    """Build ``prepared`` for the counting board of ``board`` with the optimization that is chosen for ``board`` itself,
    run one inference, and return its instructions.

    Args:
        prepared: the model.
        board: a real or emulated board.
        options: the build options.
        samples: samples of which the first is the input; None for a random input.
        progress: function that is called with a step ("build" or "profile"), the number of finished parts, and the
            number of parts.

    Raises:
        UsageError: the core has no emulated board.
        DoesNotFitError: the model does not fit ``board`` or its counting board.
        ToolError: there is no compiler, emulator, or plugin.
    """
    choice = choose(prepared, board, options)
    if not choice.verdict.fits:
        raise does_not_fit(prepared, choice.verdict)
    counting_board = counting_board_of(board)
    graph = prepared.source.main
    inputs = [graph.tensors[i] for i in graph.inputs]
    first_sample = Samples((samples or random_samples(inputs, 1, index_limits(graph))).inputs[:1], None)
    with temporary_folder("arenite-energy-") as folder:
        project = generate_project(
            prepared, counting_board, Path(folder) / "project", replace(options, optimise=choice.optimise)
        )
        progress("build", 0, 1)
        elf = build(project.directory)
        progress("profile", 0, 1)
        code = layer_code(elf, segment_layers(project.generated))
        counted = profile(
            counting_board,
            elf,
            code,
            lambda line: measure(line, project.generated, first_sample, False, lambda *_: None),
        )
        progress("profile", 1, 1)
    return InstructionCounts(counted, counting_board.name, counting_board.core, choice.optimise)
