"""Build the program of a model that takes updates, and sign the images of its firmware and of its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from arenite.errors import DoesNotFitError, UsageError
from arenite.firmware.update.golden import golden_source
from arenite.firmware.update.layout import UpdateLayout, update_layout
from arenite.firmware.update.program import AgentShape, write_program
from arenite.firmware.update.update_boards import update_boards_hint
from arenite.host.bench.build_facts import compiler_of, read_facts
from arenite.host.build.fit import BuildChoice
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import STACK_MARGIN
from arenite.host.flash.build import direct_build
from arenite.host.flash.elf_image import Program, read_program
from arenite.host.update.agent_shape import agent_shape
from arenite.host.update.calibration_record import CalibrationRecord, record_of
from arenite.host.update.golden_samples import golden_samples
from arenite.host.update.image_pair import MIN_STACK_BYTES, SignOptions, sign_pair, slot_regions
from arenite.host.update.program_choice import choose_code, goals_of, program_model, require_fit
from arenite.processes import temporary_folder
from arenite.profiles.board import Board, MemoryRegion


@dataclass(frozen=True)
class UpdateOptions:
    """How an update is built and signed.

    Attributes:
        key: the PEM file of a private Ed25519 or P-256 key.
        version: the version of both images.
        counter: the security counter of both images.
        golden: the file with the inputs of the self-test. None: random inputs.
        optimise: the goal of the code generator. None: the first goal with which the images fit.
        model_only: sign no firmware.
        allow_test_key: sign with the test key, which everybody has.
        agent: put the agent of a fleet into the firmware.
        record: the calibration record that the image of the model carries.
    """

    key: Path
    version: str
    counter: int = 0
    golden: Path | None = None
    optimise: str | None = None
    model_only: bool = False
    allow_test_key: bool = False
    agent: bool = False
    record: CalibrationRecord | None = None


@dataclass(frozen=True)
class UpdateImages:
    """The signed images. ``abi`` is the hash that binds them together. ``firmware`` is None if only the model was asked
    for. ``optimise`` is the goal, and ``compiler`` the name and version of the compiler, or None if it is unknown."""

    firmware: bytes | None
    model: bytes
    abi: bytes
    optimise: str
    compiler: str | None


@dataclass(frozen=True)
class _Linked:
    """The program, the goal with which it was built, and the name and version of the compiler."""

    program: Program
    optimise: str
    compiler: str | None


def build_update(
    model: Path, board: Board, options: UpdateOptions, on_start: Callable[[str], None] = lambda _: None
) -> UpdateImages:
    """Build the plain program that runs the model or image at ``model`` on ``board``, and sign its images.

    ``on_start`` is called with a sentence about what is going to run.

    Raises:
        UsageError: The board takes no updates, or the key, the version or the file of the self-test is not valid, or
            the calibration record is that of another model.
        DoesNotFitError: A slot or the RAM of the board is too small.
        ToolError: The compiler or imgtool is missing or failed.
    """
    if model.is_dir():
        raise UsageError(
            f"{model} is a folder, expected the file of a model.", "Give a .tflite file or an image."
        )
    if not board.emulated or board.update is None:
        raise UsageError(
            f"{board.name} has no boot loader for updates that `arenite update build` can use.",
            update_boards_hint(),
        )
    layout = update_layout(board)
    signing = SignOptions(options.key, options.version, options.counter, options.allow_test_key)
    slot_regions(board, signing)  # refuses a key or a board before the model is read
    prepared = prepare(model, removes_channels=False)
    signing = replace(signing, record=record_of(prepared, options.record))
    regions = slot_regions(board, signing)
    golden = golden_source(golden_samples(prepared, options.golden))
    goals = goals_of(options.optimise)
    agent = agent_shape(prepared.model) if options.agent else None
    linked = _build_first(prepared, board, layout, goals, golden, regions, agent, on_start)
    pair = sign_pair(linked.program, board, regions, signing)
    return UpdateImages(
        None if options.model_only else pair.firmware,
        pair.model,
        pair.abi,
        linked.optimise,
        linked.compiler,
    )


def _build_first(
    prepared: Prepared,
    board: Board,
    layout: UpdateLayout,
    goals: Sequence[str],
    golden: str,
    regions: tuple[MemoryRegion, MemoryRegion],
    agent: AgentShape | None,
    on_start: Callable[[str], None],
) -> _Linked:
    """Return the linked program with the first goal that fits. ``golden`` is the C source of the self-test. Raises
    the error of the last goal if none fits."""
    for goal in goals:
        choice = choose_code(prepared, board, goal)
        try:
            return _build(choice, board, layout, golden, regions, agent, on_start)
        except DoesNotFitError:
            if goal == goals[-1]:
                raise
    raise AssertionError("there is no goal")


def _build(
    choice: BuildChoice,
    board: Board,
    layout: UpdateLayout,
    golden: str,
    regions: tuple[MemoryRegion, MemoryRegion],
    agent: AgentShape | None,
    on_start: Callable[[str], None],
) -> _Linked:
    """Return the linked program. Raises ``DoesNotFitError`` with the numbers of missing bytes."""
    require_fit(choice, board)
    model = program_model(choice, golden)
    stack_bytes = max(choice.verdict.needs.stack + STACK_MARGIN, MIN_STACK_BYTES)
    with temporary_folder("arenite-update-") as folder:
        write_program(
            *(folder, model, board, regions),
            optimise=choice.optimise,
            stack_bytes=stack_bytes,
            agent=agent,
        )
        on_start(f"Building {choice.prepared.path.name} for {board.name}, --optimise {choice.optimise}")
        try:
            elf = direct_build(folder)
        except DoesNotFitError as error:
            slots = [f"{area[0].size:,}" for area in (layout.firmware, layout.model)]
            raise DoesNotFitError(
                f"{error.problem} The slot of the firmware has {slots[0]} bytes, that of the model {slots[1]}.",
                "Use a smaller model, --optimise flash, or a board with larger slots.",
            ) from error
        return _Linked(read_program(elf), choice.optimise, compiler_of(read_facts(elf), folder))
