"""Predict the memory and time that a prepared model needs on a board, from stored kernel sizes and timing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from arenite.errors import UsageError
from arenite.firmware.boards.cores import cpi_of
from arenite.firmware.boards.toolchains import GCC
from arenite.firmware.generator.features import NO_FEATURES, Features
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes.prediction import predict
from arenite.firmware.sizes.targets import target_of
from arenite.firmware.sizes.timing import estimate_instructions
from arenite.host.build.fit_verdict import FirmwareRequirements, FitVerdict, fit
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.split_arena import SplitModel, split_over
from arenite.profiles.board import Board, MemoryRegion


def needs(
    generated: Generated,
    board: Board,
    optimise: str,
    protocol: str = "arenite",
    features: Features = NO_FEATURES,
    split: SplitModel | None = None,
    toolchain: str = GCC,
) -> FirmwareRequirements:
    """Return the memory and the estimated instructions of the firmware that runs the model ``generated`` and receives
    its inputs over the serial protocol ``protocol``.

    If the arena is split over two memories, ``split`` is the model that was lowered to ``generated``, else None.
    """
    prediction = predict(generated, board, optimise, protocol, features, toolchain)
    return FirmwareRequirements(
        optimise=optimise,
        arena=prediction.arena,
        static=prediction.static,
        stack=prediction.stack,
        weights=prediction.weights,
        code=prediction.code,
        exact=prediction.exact,
        instructions=estimate_instructions(generated, target_of(board).core, optimise),
        cycles_per_instruction=cpi_of(board.core),
        second=split.second if split is not None else None,
        arena_slow=prediction.arena_slow,
        slow_ram=prediction.slow_ram,
        slow_cycles=split.extra_cycles(board) if split is not None else 0.0,
        toolchain=toolchain,
        code_in_ram=prediction.code_in_ram,
    )


#: The optimization goals, in the order in which they are tried if the user names no goal: the goal with the fastest
#: builds comes first, then the goals that save memory at the cost of speed.
AUTOMATIC_GOALS = ("speed", "balanced", "ram", "flash")


@dataclass(frozen=True)
class BuildChoice:
    """A way to build a model for a board: the optimization goal, and the verdict whether this build fits."""

    optimise: str
    prepared: Prepared
    verdict: FitVerdict

    @property
    def generated(self) -> Generated:
        return self.prepared.generated

    @property
    def second(self) -> MemoryRegion | None:
        """The second memory if it holds a part of the arena, else None."""
        return self.verdict.needs.second if self.verdict.needs.slow_ram else None


def choose(prepared: Prepared, board: Board, options: BuildOptions = DEFAULT_BUILD) -> BuildChoice:
    """Return the build with the goal ``options.optimise``.

    If this goal is None, return the build with the first goal of ``AUTOMATIC_GOALS`` that fits the board, or if no
    build fits, the build that lacks the fewest bytes. If the arena does not fit the board's first memory, an arena over
    two memories is tried. If nothing fits, the verdict has the number of missing bytes and the options that would help.

    Raises ``UsageError`` if ``options.stream_input`` is true and the model cannot receive its input row by row.
    """
    protocol, stream_input, features = options.protocol, options.stream_input, options.features
    fast_ram, toolchain = options.fast_ram, options.toolchain or GCC
    tried: dict[str, BuildChoice] = {}

    def build(mode: str) -> BuildChoice:
        if mode not in tried:
            tried[mode] = _build(prepared, board, mode, protocol, stream_input, features, fast_ram, toolchain)
        return tried[mode]

    modes = AUTOMATIC_GOALS if options.optimise is None else (options.optimise,)
    for mode in modes:
        if build(mode).verdict.fits:
            return build(mode)
    if not stream_input:
        for mode in modes:
            split_choice = _split(build(mode), board, protocol, features, fast_ram, toolchain)
            if split_choice is not None:
                return split_choice
    chosen = min(tried.values(), key=lambda choice: choice.verdict.missing)
    others = [
        (f"--optimise {mode}", build(mode).verdict.needs)
        for mode in AUTOMATIC_GOALS
        if mode != chosen.optimise
    ]
    if features.code_in_ram:
        in_flash = replace(features, code_in_ram=False)
        requirements = needs(chosen.generated, board, chosen.optimise, protocol, in_flash, None, toolchain)
        others.append(("without --code-in-ram", requirements))
    if not stream_input:
        others += _streamed(prepared, board, protocol, features, toolchain)
    verdict = fit(chosen.verdict.needs, board, others, fast_ram=fast_ram)
    if board.second_rams and not stream_input and verdict.needs.flash <= board.flash_bytes:
        verdict = replace(verdict, reasons=(*verdict.reasons, _why_no_split(chosen, board, fast_ram)))
    return replace(chosen, verdict=verdict)


def _why_no_split(unsplit: BuildChoice, board: Board, fast_ram: int | None) -> str:
    """Return the reason why the arena of ``unsplit`` cannot be split over two memories, as a part of a sentence."""
    scratch = max((need.scratch for need in unsplit.prepared.needs), default=0)
    if scratch > _room(unsplit.verdict.needs, board, fast_ram):
        return f"the kernels' scratch alone takes {scratch:,} B of {board.ram[0].name}, and scratch cannot be split"
    where = " or ".join(region.name for region in board.second_rams)
    return f"there is no plan with the rest of the arena in {where}"


def _room(needs: FirmwareRequirements, board: Board, fast_ram: int | None) -> int:
    """Return the number of bytes that the arena may take of the first memory. ``fast_ram`` is the user's limit or
    None."""
    room = board.ram_bytes - needs.static - needs.stack
    return room if fast_ram is None else min(room, fast_ram)


def _split(
    unsplit: BuildChoice,
    board: Board,
    protocol: str,
    features: Features,
    fast_ram: int | None,
    toolchain: str,
) -> BuildChoice | None:
    """Return the build ``unsplit`` with its arena split over two memories, or None if it does not fit with any second
    memory.

    Second memories are tried from the fastest to the slowest.
    """
    requirements = unsplit.verdict.needs
    if requirements.flash > board.flash_bytes:
        return None
    for second in board.second_rams:
        split = split_over(unsplit.prepared, board, second, _room(requirements, board, fast_ram))
        if split is None:
            continue
        planned = split.prepared
        if unsplit.generated.segments or (unsplit.generated.parallel and board.emulated):
            generated = planned.generated  # the split may change which functions are generated
        else:
            # The split changes no code, so the model need not be lowered again.
            generated = replace(unsplit.generated, plan=planned.plan)
        split_needs = needs(generated, board, unsplit.optimise, protocol, features, split, toolchain)
        verdict = fit(split_needs, board, fast_ram=fast_ram)
        if verdict.fits:
            return BuildChoice(unsplit.optimise, planned, verdict)
    return None


def _streamed(
    prepared: Prepared, board: Board, protocol: str, features: Features, toolchain: str
) -> list[tuple[str, FirmwareRequirements]]:
    """Return (options, requirements) of the build with the goal "ram" that receives its input row by row. The list is
    empty if model or protocol do not support such a build."""
    if protocol != "arenite":
        return []
    try:
        built = _build(prepared, board, "ram", protocol, True, features, None, toolchain)
        return [("--optimise ram --stream-input", built.verdict.needs)]
    except UsageError:
        return []


def _build(
    prepared: Prepared,
    board: Board,
    optimise: str,
    protocol: str,
    stream_input: bool,
    features: Features,
    fast_ram: int | None,
    toolchain: str,
) -> BuildChoice:
    """Return the build with the goal ``optimise``, with its arena in the first memory only."""
    planned = prepared.retarget(target_for(board, optimise, stream_input, features))
    requirements = needs(planned.generated, board, optimise, protocol, features, None, toolchain)
    return BuildChoice(optimise, planned, fit(requirements, board, fast_ram=fast_ram))


def target_for(
    board: Board, optimise: str, stream_input: bool = False, features: Features = NO_FEATURES
) -> Target:
    """Return the code generator's target for ``board``. Raises ``UsageError`` if ``features`` requests more cores than
    the board has."""
    second = board.second_core if features.core_count(board) == 2 else None
    if second is None:
        return Target.for_core(board.core, optimise, stream_input)
    return Target.for_core(board.core, optimise, stream_input, 2, second.barrier_cycles)


def verdicts(
    prepared: Prepared, boards: Sequence[Board], options: BuildOptions = DEFAULT_BUILD
) -> list[FitVerdict]:
    """Return one verdict per board. The model is lowered only once per kind of core."""
    return [choose(prepared, board, options).verdict for board in boards]
