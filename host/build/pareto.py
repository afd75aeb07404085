"""Find the builds of a model for a board and their Pareto front over RAM, flash and instructions.

A build is dominated if another build takes no more RAM, flash and instructions, and less of at least one of them. A
build that receives its input row by row (a streamed input) requires more of the program that calls it, so it dominates
only other builds with a streamed input.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arenite.errors import UsageError
from arenite.firmware.boards.toolchains import GCC
from arenite.host.build.fit import AUTOMATIC_GOALS, needs, target_for
from arenite.host.build.prepare import Prepared, prepare
from arenite.profiles.boards import Board

#: A function that is called before each build with the build's label, the number of finished builds, and the number of
#: all builds.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Build:
    """One way to build a model.

    ``ram`` and ``flash`` are in bytes, ``instructions`` per inference. ``kind`` is "estimated" or "measured", for all
    three figures. If it is "estimated", the bytes are the prediction of ``fit``. ``bit_exact`` is None if the build was
    not run.
    """

    optimise: str
    passes: bool
    stream_input: bool
    ram: int
    flash: int
    instructions: int
    fits: bool
    kind: str = "estimated"
    bit_exact: bool | None = None
    dominated_by: str | None = (
        None  # label of the first build that dominates this build or has the same figures
    )

    @property
    def label(self) -> str:
        """The command-line options of the build as text, without --optimise and without the dashes."""
        parts = [self.optimise, *(["no-passes"] * (not self.passes)), *(["stream-input"] * self.stream_input)]
        return " ".join(parts)

    @property
    def options(self) -> list[str]:
        """The arguments with which ``arenite firmware`` and ``arenite bench`` make this build."""
        first, *more = self.label.split()
        return ["--optimise", first, *(f"--{name}" for name in more)]

    @property
    def figures(self) -> tuple[int, int, int]:
        return self.ram, self.flash, self.instructions

    def to_json(self) -> dict[str, Any]:
        """Return the build's entry of ``arenite.pareto/1``."""
        return {
            "label": self.label,
            "options": self.options,
            "optimise": self.optimise,
            "passes": self.passes,
            "stream_input": self.stream_input,
            "ram": self.ram,
            "flash": self.flash,
            "instructions": self.instructions,
            "kind": self.kind,
            "fits": self.fits,
            "bit_exact": self.bit_exact,
            "dominated_by": self.dominated_by,
        }


def builds(
    path: Path,
    board: Board,
    *,
    measure: Callable[[Prepared, Board, Build], Build] | None = None,
    progress: Progress = lambda *_: None,
    toolchain: str = GCC,
) -> list[Build]:
    """Return every build of the model at ``path`` for ``board``.

    The builds combine each optimization goal with and without graph passes, and with a complete or a streamed input. A
    build that the model does not support is left out. ``measure`` is a function that returns a build with measured
    figures in place of the estimated figures. It is called for the builds that fit, on an emulated board. If it is
    None, all figures are estimates. ``toolchain`` compiles the builds.

    Raises ``UsageError`` if ``measure`` is given for a real board, and the errors of
    ``prepare`` and ``measure``.
    """
    if measure is not None and not board.emulated:
        raise UsageError(
            f"{board.name} is a real board; builds are measured on emulated boards only.",
            "Leave out --measure, or choose a qemu_* board.",
        )
    with_passes, without_passes = prepare(path), prepare(path, passes=False)
    versions = [(with_passes, True), *([(without_passes, False)] if with_passes.passes else [])]
    combinations = [
        (prepared, passes, mode, streamed)
        for streamed in (False, True)
        for prepared, passes in versions
        for mode in AUTOMATIC_GOALS
    ]
    all_builds = []
    for done, (prepared, passes, mode, streamed) in enumerate(combinations):
        candidate = _estimate(prepared, board, mode, passes, streamed, toolchain)
        if candidate is None:
            continue
        progress(candidate.label, done, len(combinations))
        if measure is not None and candidate.fits:
            candidate = measure(prepared, board, candidate)
        all_builds.append(candidate)
    progress("", len(combinations), len(combinations))
    return mark_dominated(all_builds)


def _estimate(
    prepared: Prepared, board: Board, mode: str, passes: bool, streamed: bool, toolchain: str
) -> Build | None:
    """Return a build with the figures that ``fit`` predicts, or None if the model cannot receive its input row by row
    but ``streamed`` is true."""
    try:
        planned = prepared.retarget(target_for(board, mode, streamed))
    except UsageError:
        return None
    required = needs(planned.generated, board, mode, toolchain=toolchain)
    fits = required.ram <= board.ram_bytes and required.flash <= board.flash_bytes
    return Build(mode, passes, streamed, required.ram, required.flash, round(required.instructions), fits)


def mark_dominated(all_builds: Sequence[Build]) -> list[Build]:
    """Return the builds with ``dominated_by`` filled in. Among builds with equal figures, the first build dominates the
    builds after it."""

    indices = range(len(all_builds))

    def is_dominated(index: int, by: int) -> bool:
        build, rival = all_builds[index], all_builds[by]
        if index == by or (rival.stream_input and not build.stream_input):
            return False
        no_more = all(r <= b for b, r in zip(build.figures, rival.figures, strict=True))
        return no_more and (rival.figures != build.figures or by < index)

    marked = []
    for index, build in enumerate(all_builds):
        rivals = [rival for rival in indices if is_dominated(index, rival)]
        # ``dominated_by`` names a build that is not dominated itself.
        best = next((rival for rival in rivals if not any(is_dominated(rival, i) for i in indices)), None)
        marked.append(replace(build, dominated_by=None if best is None else all_builds[best].label))
    return marked


def describe(image: Path, board: Board, all_builds: Sequence[Build]) -> dict[str, Any]:
    """Return the ``arenite.pareto/1`` object."""
    return {
        "schema": "arenite.pareto/1",
        "model": {"path": str(image), "sha256": hashlib.sha256(image.read_bytes()).hexdigest()},
        "board": {"name": board.name, "core": board.core},
        "limits": {"ram": board.ram_bytes, "flash": board.flash_bytes},
        "builds": [b.to_json() for b in all_builds],
    }
