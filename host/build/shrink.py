"""What would fit, when a model fits no board: other recipes, and smaller sizes of the project's own architectures.

Every figure is predicted as `arenite fit` predicts it, and nothing is built. A smaller network is predicted from an
untrained one of that size; training may leave channels dead, and then it takes less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from time import monotonic
from typing import Any

from arenite.converters.quantize.calibration.observations import Observations
from arenite.converters.quantize.recipes.recipe import Recipe, load_recipe
from arenite.errors import AreniteError
from arenite.host.build.predict import Prediction, Predictor
from arenite.host.build.prepare import Prepared
from arenite.models.architectures.recognize import NetworkSize, recognize_architecture
from arenite.profiles.boards import Board

#: Widths and shares of the resolution that are tried, as shares of the model's own. Below these little is learnt.
WIDTHS = (0.75, 0.5, 0.35, 0.25, 0.2, 0.15, 0.1)
RESOLUTIONS = (0.85, 0.75, 0.67, 0.5, 0.42, 0.33, 0.25)

#: Recipes that need less than int8, the one that costs less accuracy first.
SMALLER_RECIPES = ("w4_mixed", "w4")

#: Share of the flash that a suggested size leaves free: which kernels are used depends on the trained weights as well,
#: and has changed the flash of trained networks by up to 2.5 % of the untrained ones'. RAM was the same.
MARGIN = 0.03

#: After so many seconds nothing more is tried.
SECONDS = 60.0


@dataclass(frozen=True)
class Suggestion:
    """A change after which the model fits ``board``, with what it will then take in bytes (predicted).

    ``kind`` is "build", "recipe", "width", "resolution" or "width and resolution". ``commands`` make it, in order.
    ``cost`` says what it may cost.
    """

    board: str
    kind: str
    change: str
    commands: tuple[str, ...]
    prediction: Prediction
    cost: str

    def to_json(self) -> dict[str, Any]:
        return {
            "board": self.board,
            "kind": self.kind,
            "change": self.change,
            "commands": list(self.commands),
            "cost": self.cost,
            **self.prediction.to_json(),
        }


@dataclass(frozen=True)
class ShrinkReport:
    """Suggestions for each board, those that cost least first. ``architecture`` is the project's own one that the model
    is, None for others. ``complete`` is False when the time was up before everything was tried."""

    architecture: NetworkSize | None
    suggestions: tuple[Suggestion, ...]
    without: tuple[str, ...] = ()  # boards for which nothing was found
    complete: bool = True
    seconds: float = field(default=0.0, compare=False)

    def to_json(self) -> dict[str, Any]:
        size = self.architecture
        known = None
        if size is not None:
            known = {"name": size.architecture, "width": size.width, "input_shape": list(size.shape)}
        return {
            "schema": "arenite.shrink/1",
            "architecture": known,
            "suggestions": [s.to_json() for s in self.suggestions],
            "without": list(self.without),
            "complete": self.complete,
        }

    def sentences(self) -> list[str]:
        """One for each suggestion, for people."""
        made = []
        for s in self.suggestions:
            p = s.prediction
            made.append(
                f"{s.board}: {s.change} would fit: {p.ram:,} B of {p.ram_available:,} B RAM, "
                f"{p.flash:,} B of {p.flash_available:,} B flash (predicted). {s.cost} "
                f"Try: {' && '.join(s.commands)}"
            )
        made += [f"{board}: nothing that was tried fits." for board in self.without]
        if not self.complete:
            made.append(f"Not everything was tried within {SECONDS:.0f} s.")
        return made


def shrink(
    prepared: Prepared,
    boards: Sequence[Board],
    *,
    flatbuffer: bytes | None = None,
    observations: Observations | None = None,
    recipe: str = "int8",
    source: str = "",
    image: str = "",
    seconds: float = SECONDS,
) -> ShrinkReport:
    """What would make ``prepared``, a quantised model, fit each of ``boards``.

    Args:
        flatbuffer: the float32 model that it was made of, when there is one; recipes are tried on it.
        observations: of ``flatbuffer``, when it was calibrated; otherwise random inputs stand for them, which decide no
            sizes but those of channels that never change.
        recipe: the name of the recipe that it was made by.
        source: what the user converts, for the commands; by default the path of ``prepared``.
        image: what a build is made of, where that is another file.
        seconds: after how long nothing more is tried.
    """
    source = source or str(prepared.path)
    search = _Search(prepared, flatbuffer, observations, recipe, source, image or source, seconds)
    return search.run(boards)


class _Search:
    def __init__(
        self,
        prepared: Prepared,
        flatbuffer: bytes | None,
        observations: Observations | None,
        recipe: str,
        source: str,
        image: str,
        seconds: float,
    ) -> None:
        self._prepared, self._source, self._image, self._recipe = prepared, source, image, recipe
        self._size = recognize_architecture(prepared.source)
        self._predictor = Predictor(prepared, flatbuffer, observations)
        self._started, self._seconds, self._complete = monotonic(), seconds, True

    def run(self, boards: Sequence[Board]) -> ShrinkReport:
        found: list[Suggestion] = []
        without = []
        for board in boards:
            mine = [s for s in self._of(board) if s.prediction.fits]
            found += mine
            if not mine:
                without.append(board.name)
        took = monotonic() - self._started
        return ShrinkReport(self._size, tuple(found), tuple(without), self._complete, took)

    def _of(self, board: Board) -> Iterator[Suggestion]:
        yield from self._builds(board)
        yield from self._recipes(board)
        if self._size is not None:
            yield from self._sizes(self._size, board)

    def _builds(self, board: Board) -> Iterator[Suggestion]:
        made = self._try(lambda: self._predictor.streamed(board))
        if made is not None:
            command = f"arenite firmware {self._image} --board {board.name} --optimise ram --stream-input"
            yield Suggestion(
                board.name,
                "build",
                "taking the input row by row",
                (command,),
                made,
                "The same outputs; the sender has to keep pace.",
            )

    def _recipes(self, board: Board) -> Iterator[Suggestion]:
        has_float = self._predictor.has_float
        for name in self._other_recipes():
            made = self._try(partial(self._by_recipe, name, board))
            if made is not None:
                yield Suggestion(
                    board.name,
                    "recipe",
                    f"the recipe {name} in place of {self._recipe}",
                    (self._convert(self._source if has_float else "FLOAT_MODEL", board, name),),
                    made,
                    "Accuracy may fall a little, which the conversion measures."
                    + ("" if has_float else " It is made of the float model."),
                )
                if made.fits:
                    return

    def _by_recipe(self, name: str, board: Board) -> Prediction:
        return self._predictor.by_recipe(load_recipe(name), board)

    def _other_recipes(self) -> tuple[str, ...]:
        """Recipes that need less memory than the model's own; of a quantised model only the weights can shrink more."""
        try:
            mine: Recipe | None = load_recipe(self._recipe)
        except AreniteError:
            mine = None
        smaller = tuple(r for r in SMALLER_RECIPES if r != self._recipe)
        if self._predictor.has_float and mine is not None and mine.settings.activations != "int8":
            return ("int8", *smaller)
        return smaller if mine is None or mine.settings.weights != "int4" else ()

    def _sizes(self, size: NetworkSize, board: Board) -> Iterator[Suggestion]:
        """The largest width, and the largest resolution, that fits; both together where neither alone does."""
        widths = [round(size.width * share, 3) for share in WIDTHS]
        width = self._largest([_sized(size, width=w) for w in widths], board)
        if width is not None:
            yield self._trained(*width, size, board, "width")
        sides = _sides(size)
        side = self._largest([_sized(size, side=s) for s in sides], board)
        if side is not None:
            yield self._trained(*side, size, board, "resolution")
        if width is None and side is None and sides:
            middle = sides[len(sides) // 2]
            both = self._largest([_sized(size, width=w, side=middle) for w in widths], board)
            if both is not None:
                yield self._trained(*both, size, board, "width and resolution")

    def _largest(self, sizes: Sequence[NetworkSize], board: Board) -> tuple[NetworkSize, Prediction] | None:
        """The first of ``sizes``, which fall, that fits; found by halving, since what a smaller one needs is less."""
        best = None
        low, high = 0, len(sizes)
        while low < high:
            middle = (low + high) // 2
            size = sizes[middle]
            made = self._try(partial(self._predictor.untrained, size, board))
            if made is not None and made.fits and made.flash <= (1 - MARGIN) * made.flash_available:
                best, high = (size, made), middle
            else:
                low = middle + 1
        return best

    def _trained(
        self, size: NetworkSize, made: Prediction, before: NetworkSize, board: Board, kind: str
    ) -> Suggestion:
        changes = []
        if size.width != before.width:
            changes.append(f"width {size.width:g} in place of {before.width:g}")
        if size.shape != before.shape:
            changes.append(
                f"{size.shape[1]}x{size.shape[0]} pixels in place of {before.shape[1]}x{before.shape[0]}"
            )
        name = f"{size.network().name}.keras"
        data, resolution = data_for(size)
        wanted = f" --resolution {size.shape[0]}" if size.shape != before.shape or resolution else ""
        train = (
            f"arenite train {size.architecture} --data {data} --width {size.width:g}{wanted} "
            f"-o {name} --save-data {size.network().name}_data"
        )
        folder = f"{size.network().name}_data"
        given = f"{folder}/calibration.npz --test {folder}/test.npz"
        convert = self._convert(name, board, "int8", given)
        return Suggestion(
            board.name,
            kind,
            f"{size.architecture} with {' and '.join(changes)}",
            (train, convert),
            made,
            "It has to be trained again, and accuracy falls; the training measures it.",
        )

    def _convert(self, source: str, board: Board, recipe: str, calibration: str = "DATA.npz") -> str:
        return f"arenite convert {source} --calibration {calibration} --recipe {recipe} --board {board.name}"

    def _try(self, predict: Callable[[], Prediction | None]) -> Prediction | None:
        """A prediction, None where there is none: the change is not possible, or the time is up."""
        if monotonic() - self._started > self._seconds:
            self._complete = False
            return None
        try:
            return predict()
        except AreniteError:
            return None


def _sized(size: NetworkSize, *, width: float | None = None, side: int | None = None) -> NetworkSize:
    shape = size.shape if side is None else (side, side, size.shape[2])
    return NetworkSize(size.architecture, size.width if width is None else width, shape, size.classes)


def _sides(size: NetworkSize) -> list[int]:
    """Smaller sides of a square picture, falling: multiples of 8, at least 16."""
    if not size.square:
        return []
    sides = {int(size.shape[0] * share) // 8 * 8 for share in RESOLUTIONS}
    return sorted((s for s in sides if 16 <= s < size.shape[0]), reverse=True)


def data_for(size: NetworkSize) -> tuple[str, bool]:
    """The shipped data with which such a network can be trained, and whether they must be resized for it.

    Other networks have the user's own data, for which a file name stands.
    """
    if size.architecture == "detector" and size.classes == 10 and size.shape[2] == 1:
        return "scenes", size.shape[0] != 64
    if size.architecture == "autoencoder":
        return ("motion_anomalies", False) if prod(size.shape) == 96 else ("TRAIN.npz", False)
    known = {((50, 1, 6), 4): "motions", ((49, 10, 1), 12): "keywords", ((8, 8, 1), 10): "digits"}
    if (size.shape, size.classes) in known:
        return known[size.shape, size.classes], False  # type: ignore[index]
    if size.square and size.shape[2] == 1 and size.classes == 10:
        return "mnist", size.shape[0] != 28
    return "TRAIN.npz", False
