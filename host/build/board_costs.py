"""Predict RAM, flash and instructions of a quantized model on a board, for every optimization goal of the build."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from arenite.converters.quantize.remedies.tried_recipe import ImageCost
from arenite.converters.quantize.search.outcome import BuildCost
from arenite.errors import UsageError
from arenite.firmware.sizes.prediction import size_table
from arenite.firmware.sizes.targets import target_of
from arenite.firmware.sizes.timing import PATH as TIMING
from arenite.host.build.fit import AUTOMATIC_GOALS, needs, target_for
from arenite.host.build.prepare import Prepared, prepare
from arenite.processes import temporary_folder
from arenite.profiles.boards import Board


@dataclass(frozen=True)
class BoardCosts:
    """A callable that takes a quantized flatbuffer and returns the costs of its builds, one build per goal in
    ``modes``.

    If ``stream_input`` is true, builds that receive their input row by row follow, if the model supports that. With
    them, the program that calls the model has to send the rows. Objects of this class can be pickled.
    """

    board: Board
    modes: tuple[str, ...] = AUTOMATIC_GOALS
    stream_input: bool = False

    @property
    def identity(self) -> str:
        """A digest of the board's profile and of the stored sizes and timing of the kernels.

        If the digest is the same, the same image gets the same figures.
        """
        kernels = size_table(target_of(self.board).name).digest
        parameters = repr((self.board, self.modes, self.stream_input, kernels))
        return hashlib.sha256(parameters.encode() + TIMING.read_bytes()).hexdigest()

    def __call__(self, flatbuffer: bytes) -> tuple[BuildCost, ...]:
        prepared = _prepared(flatbuffer)
        builds = []
        for streamed in (False, True) if self.stream_input else (False,):
            for mode in self.modes:
                try:
                    planned = prepared.retarget(target_for(self.board, mode, streamed))
                except UsageError:
                    if not streamed:
                        raise
                    continue
                required = needs(planned.generated, self.board, mode)
                options = f"--optimise {mode}" + (" --stream-input" if streamed else "")
                builds.append(BuildCost(options, required.ram, required.flash, round(required.instructions)))
        return tuple(builds)


@dataclass(frozen=True)
class SpeedBuildCost:
    """A callable that takes a quantized flatbuffer and returns the costs of its fastest build on ``board``."""

    board: Board

    def __call__(self, flatbuffer: bytes) -> ImageCost:
        planned = _prepared(flatbuffer).retarget(target_for(self.board, "speed", False))
        required = needs(planned.generated, self.board, "speed")
        return ImageCost(required.arena, required.ram, required.flash, round(required.instructions))


def _prepared(flatbuffer: bytes) -> Prepared:
    """Return the model ``flatbuffer``, ready for code generation."""
    with temporary_folder("arenite-costs-") as folder:
        path = Path(folder) / "model.tflite"
        path.write_bytes(flatbuffer)
        return prepare(path)
