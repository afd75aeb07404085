"""``firmware`` and ``library`` generate C sources; ``fit_boards`` predicts the memory of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arenite.errors import DoesNotFitError, UsageError
from arenite.firmware.boards.code_in_ram import has_code_in_ram
from arenite.firmware.boards.toolchains import GCC
from arenite.firmware.generator.target import SCALAR, Target
from arenite.firmware.sizes.targets import boards_of
from arenite.host.bench.two_cores import predicted_split
from arenite.host.build.fit import verdicts
from arenite.host.build.fit_verdict import FitVerdict
from arenite.host.build.library import generate_library, identifier
from arenite.host.build.options import DEFAULT_BUILD, BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import Project, generate_project
from arenite.host.build.shrink import ShrinkReport, shrink
from arenite.host.interface.model import Model, prepared_model
from arenite.host.update.agent_cost import AgentCost, agent_cost, has_agent
from arenite.profiles.boards import Board, all_boards, load_board


@dataclass(frozen=True)
class FitReport:
    """Whether one model fits boards. ``verdicts`` has one entry for each board.

    ``shrink`` has suggested changes if they were requested and a board is too small, else it is None. ``agents`` has
    what the agent of a fleet adds, by the name of the board, if it was requested.
    """

    prepared: Prepared
    options: BuildOptions
    verdicts: tuple[FitVerdict, ...]
    shrink: ShrinkReport | None = None
    agents: Mapping[str, AgentCost] = field(default_factory=dict)

    @property
    def fits(self) -> bool:
        """Whether the model fits every board of the report."""
        return all(verdict.fits for verdict in self.verdicts)

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.fit/1``."""
        record = {
            "schema": "arenite.fit/1",
            "model": {"path": str(self.prepared.path), "sha256": self.prepared.sha256},
            "stream_input": self.options.stream_input,
            "boards": [
                {**verdict.to_json(), "agent": self.agents[verdict.board.name].to_json()}
                if verdict.board.name in self.agents
                else verdict.to_json()
                for verdict in self.verdicts
            ],
            "passes": [report.to_json() for report in self.prepared.passes],
        }
        return record if self.shrink is None else {**record, "shrink": self.shrink.to_json()}


def fit_boards(
    model: Model | str | Path,
    boards: str | Sequence[str] | None = None,
    *,
    build: BuildOptions = DEFAULT_BUILD,
    suggest: bool = False,
    agent: bool = False,
) -> FitReport:
    """Predict whether a model that is no language model fits boards. The arguments and errors are those of
    ``arenite.fit``."""
    prepared = prepared_model(model, passes=build.passes)
    toolchain = build.toolchain or GCC
    if suggest and toolchain != GCC:
        raise UsageError(f"The sizes of smaller models are not known for {toolchain}.", "Use gcc.")
    candidates = chosen_boards(boards) if boards is not None else boards_of(toolchain)
    if boards is None and build.code_in_ram:
        candidates = [board for board in candidates if has_code_in_ram(board)]
    board_verdicts = tuple(verdicts(prepared, candidates, build))
    small = [verdict.board for verdict in board_verdicts if not verdict.fits]
    suggestions = shrink(prepared, small) if suggest and small else None
    wanted = [board for board in candidates if agent and (boards is not None or has_agent(board))]
    agents = {board.name: agent_cost(prepared.model, board) for board in wanted}
    return FitReport(prepared, build, board_verdicts, suggestions, agents)


def chosen_boards(names: str | Sequence[str] | None) -> Sequence[Board]:
    """Return the boards with the names ``names``, or all boards if it is None. Raises ``ProfileError`` for an unknown
    name."""
    if names is None:
        return all_boards()
    return [load_board(name) for name in ([names] if isinstance(names, str) else names)]


@dataclass(frozen=True)
class FirmwareProject:
    """A generated firmware project. ``arenite build`` and ``arenite flash`` take its ``directory`` as argument."""

    project: Project

    @property
    def directory(self) -> Path:
        """The folder of the project."""
        return self.project.directory

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.firmware/1``, which has the predicted sizes in bytes."""
        project, predicted = self.project, self.project.prediction
        return {
            "schema": "arenite.firmware/1",
            "directory": str(project.directory),
            "board": project.board.name,
            "optimise": project.optimise,
            "layers": len(project.generated.calls),
            "predicted": {
                "arena": predicted.arena,
                "arena_regions": project.arena_regions(),
                "static": predicted.static,
                "stack": predicted.stack,
                "ram_total": predicted.ram_total,
                "weights": predicted.weights,
                "code": predicted.code,
                "flash_total": predicted.flash_total,
            },
            "two_cores": predicted_split(project),
            "passes": [report.to_json() for report in project.prepared.passes],
        }


def firmware(
    model: Model | str | Path, board: str, output: str | Path, *, build: BuildOptions = DEFAULT_BUILD
) -> FirmwareProject:
    """Generate the C firmware that runs a model on a board, as a project in the folder ``output``.

    Raises:
        DoesNotFitError: the board is too small; nothing is written. The message has the number of missing bytes.
        ProfileError, ModelError, UsageError: the board is unknown, the model is not valid, options exclude each other.
    """
    prepared = prepared_model(model, passes=build.passes)
    return FirmwareProject(generate_project(prepared, load_board(board), Path(output), build))


@dataclass(frozen=True)
class CLibrary:
    """A library of C sources in ``directory``. ``manifest`` describes its models, with sizes in bytes."""

    directory: Path
    manifest: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.library/1``."""
        return {**self.manifest, "directory": str(self.directory)}


def library(
    models: Mapping[str, Model | str | Path],
    output: str | Path,
    *,
    name: str | None = None,
    board: str | None = None,
    core: str | None = None,
    optimise: str = "balanced",
    stream_input: bool = False,
    passes: bool = True,
) -> CLibrary:
    """Write models as plain C sources without any board's code, for your own program.

    Args:
        models: the models by name. Each name becomes the prefix of the model's C functions.
        output: the folder for the library.
        name: the name of the library; None: the name of the folder.
        board: generate kernels for the core of this board, and check that its memory suffices.
        core: generate kernels for this core. Without ``board`` and ``core``, the kernels are plain C for any 32-bit
            core.
        optimise: the optimization goal: ``speed``, ``balanced``, ``ram`` or ``flash``.
        stream_input: the models receive their input row by row.
        passes: apply the graph optimizations.

    Raises:
        DoesNotFitError: arena or weights alone are too large for ``board``; nothing is written.
        UsageError: both ``board`` and ``core`` are given, a name is reserved, or a model cannot be streamed.
    """
    if board and core:
        raise UsageError("board and core exclude each other.", "Give one of them.")
    selected_board = load_board(board) if board else None
    core_name = selected_board.core if selected_board else core
    target = (
        Target.for_core(core_name, optimise, stream_input)
        if core_name
        else Target("", SCALAR, optimise, stream_input)
    )
    directory = Path(output)
    library_name = identifier(name if name is not None else directory.resolve().name)

    def check_memory(manifest: Mapping[str, Any]) -> None:
        weights = sum(entry["weights"] for entry in manifest["models"])
        for memory, needed, available in (
            ("RAM", manifest["arena"], selected_board.ram_bytes if selected_board else None),
            ("flash", weights, selected_board.flash_bytes if selected_board else None),
        ):
            if available is not None and needed > available:
                raise DoesNotFitError(
                    f"The models alone need {needed - available:,} B more {memory} than {board} has.",
                    shortage_hint(memory, optimise, stream_input),
                )

    prepared = {key: prepared_model(model, passes=passes) for key, model in models.items()}
    return CLibrary(directory, generate_library(directory, library_name, prepared, target, check_memory))


def shortage_hint(memory: str, optimise: str, stream_input: bool) -> str:
    """Return a sentence with changes to try if the models need more ``memory`` ("RAM" or "flash") than a board has."""
    steps = []
    if memory == "RAM":
        steps += ["--optimise ram"] if optimise != "ram" else []
        steps += ["--stream-input"] if not stream_input else []
    else:
        # Only the goal "speed" may store weights with more bits than in the model.
        steps += ["--optimise flash"] if optimise == "speed" else []
        steps += ["4-bit weights (arenite convert --recipe w4)"]
    return f"Try {', '.join(steps)}{', ' if steps else ''}fewer models, or a larger board."
