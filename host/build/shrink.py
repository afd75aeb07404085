"""Suggest changes for a model that does not fit: other recipes, and smaller sizes of architectures in Arenite's zoo.

Every figure is predicted as `arenite fit` predicts it, and nothing is built. The prediction for a smaller network uses
an untrained network of this size. If training results in dead channels, the trained network takes less memory.
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

#: The widths and resolutions that are tried, as fractions of the model's width and resolution. Even smaller networks
#: would learn little.
WIDTHS = (0.75, 0.5, 0.35, 0.25, 0.2, 0.15, 0.1)
RESOLUTIONS = (0.85, 0.75, 0.67, 0.5, 0.42, 0.33, 0.25)

#: Recipes that need less memory than int8. The recipe that costs less accuracy comes first.
SMALLER_RECIPES = ("w4_mixed", "w4")

#: The fraction of the board's flash that a suggested size must leave free. The choice of kernels also depends on the
#: trained weights: the flash of trained and untrained networks differed by up to 2.5 %; their RAM did not differ.
FLASH_MARGIN = 0.03

#: The search stops after this time, in seconds.
MAX_SEARCH_S = 60.0


@dataclass(frozen=True)
class Suggestion:
    """A change after which the model fits ``board``, with the predicted bytes.

    ``kind`` is "build", "recipe", "width", "resolution" or "width and resolution". ``change`` describes the change.
    ``commands`` has the commands that carry it out, in order. ``cost`` is a sentence on its disadvantage, such as lower
    accuracy.
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
    """The suggestions for each board. Suggestions with the lowest cost come first.

    ``architecture`` is the architecture and size of the model if the architecture is in Arenite's zoo, else None.
    ``complete`` is False if the time limit was reached before every change was tried.
    """

    architecture: NetworkSize | None
    suggestions: tuple[Suggestion, ...]
    without: tuple[str, ...] = ()  # boards for which there is no suggestion
    complete: bool = True
    seconds: float = field(default=0.0, compare=False)

    def to_json(self) -> dict[str, Any]:
        size = self.architecture
        architecture = None
        if size is not None:
            architecture = {"name": size.architecture, "width": size.width, "input_shape": list(size.shape)}
        return {
            "schema": "arenite.shrink/1",
            "architecture": architecture,
            "suggestions": [s.to_json() for s in self.suggestions],
            "without": list(self.without),
            "complete": self.complete,
        }

    def sentences(self) -> list[str]:
        """Return one sentence for each suggestion."""
        sentences = []
        for s in self.suggestions:
            p = s.prediction
            sentences.append(
                f"{s.board}: {s.change} would fit: {p.ram:,} B of {p.ram_available:,} B RAM, "
                f"{p.flash:,} B of {p.flash_available:,} B flash (predicted). {s.cost} "
                f"Try: {' && '.join(s.commands)}"
            )
        sentences += [f"{board}: none of the changes that were tried fits." for board in self.without]
        if not self.complete:
            sentences.append(f"The search stopped after {MAX_SEARCH_S:.0f} s, before every change was tried.")
        return sentences


def shrink(
    prepared: Prepared,
    boards: Sequence[Board],
    *,
    flatbuffer: bytes | None = None,
    observations: Observations | None = None,
    recipe: str = "int8",
    source: str = "",
    image: str = "",
    seconds: float = MAX_SEARCH_S,
) -> ShrinkReport:
    """Search for changes that make ``prepared``, a quantized model, fit each of ``boards``.

    Args:
        prepared: the quantized model.
        boards: the boards that are too small for the model.
        flatbuffer: the float32 model that was quantized to ``prepared``. Recipes are tried on it. None: there is no
            float model, so a recipe can change only the weights.
        observations: the calibration of ``flatbuffer``. None: use random inputs. They change the predicted sizes only
            for channels whose values never change.
        recipe: the name of the recipe with which ``prepared`` was quantized.
        source: the file that the suggested commands convert. "": the path of ``prepared``.
        image: the file that the suggested commands build. "": the same file as ``source``.
        seconds: the number of seconds after which the search stops.
    """
    source = source or str(prepared.path)
    search = _Search(prepared, flatbuffer, observations, recipe, source, image or source, seconds)
    return search.run(boards)


class _Search:
    """The search of ``shrink``, with its options and its time limit."""

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
        suggestions: list[Suggestion] = []
        without = []
        for board in boards:
            fitting = [s for s in self._candidates(board) if s.prediction.fits]
            suggestions += fitting
            if not fitting:
                without.append(board.name)
        elapsed = monotonic() - self._started
        return ShrinkReport(self._size, tuple(suggestions), tuple(without), self._complete, elapsed)

    def _candidates(self, board: Board) -> Iterator[Suggestion]:
        yield from self._builds(board)
        yield from self._recipes(board)
        if self._size is not None:
            yield from self._sizes(self._size, board)

    def _builds(self, board: Board) -> Iterator[Suggestion]:
        """Yield the build that receives its input row by row, if it is possible."""
        prediction = self._try(lambda: self._predictor.predict_streamed(board))
        if prediction is not None:
            command = f"arenite firmware {self._image} --board {board.name} --optimise ram --stream-input"
            yield Suggestion(
                board.name,
                "build",
                "taking the input row by row",
                (command,),
                prediction,
                "The outputs stay the same; the sender has to keep pace.",
            )

    def _recipes(self, board: Board) -> Iterator[Suggestion]:
        """Yield the recipes that need less memory, up to the first one that fits."""
        has_float = self._predictor.has_float
        for name in self._other_recipes():
            prediction = self._try(partial(self._by_recipe, name, board))
            if prediction is not None:
                yield Suggestion(
                    board.name,
                    "recipe",
                    f"the recipe {name} in place of {self._recipe}",
                    (self._convert(self._source if has_float else "FLOAT_MODEL", board, name),),
                    prediction,
                    "Accuracy may fall a little; the conversion measures it."
                    + ("" if has_float else " The conversion starts from the float model."),
                )
                if prediction.fits:
                    return

    def _by_recipe(self, name: str, board: Board) -> Prediction:
        return self._predictor.predict_recipe(load_recipe(name), board)

    def _other_recipes(self) -> tuple[str, ...]:
        """Return recipes that need less memory than the recipe of the model. Without a float model, only recipes that
        change the weights are returned."""
        try:
            current: Recipe | None = load_recipe(self._recipe)
        except AreniteError:
            current = None
        smaller = tuple(r for r in SMALLER_RECIPES if r != self._recipe)
        if self._predictor.has_float and current is not None and current.settings.activations != "int8":
            return ("int8", *smaller)
        return smaller if current is None or current.settings.weights != "int4" else ()

    def _sizes(self, size: NetworkSize, board: Board) -> Iterator[Suggestion]:
        """Yield the largest width that fits and the largest resolution that fits. If there is neither, yield a smaller
        width together with a smaller resolution."""
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
        """Return the largest of ``sizes`` that fits, with its prediction, or None. ``sizes`` is sorted from large to
        small. Since a smaller network needs less memory, the search bisects."""
        best = None
        low, high = 0, len(sizes)
        while low < high:
            middle = (low + high) // 2
            size = sizes[middle]
            p = self._try(partial(self._predictor.predict_untrained, size, board))
            if p is not None and p.fits and p.flash <= (1 - FLASH_MARGIN) * p.flash_available:
                best, high = (size, p), middle
            else:
                low = middle + 1
        return best

    def _trained(
        self, size: NetworkSize, prediction: Prediction, before: NetworkSize, board: Board, kind: str
    ) -> Suggestion:
        """Return the suggestion to train a network of ``size`` in place of ``before``, with the commands for it."""
        changes = []
        if size.width != before.width:
            changes.append(f"width {size.width:g} in place of {before.width:g}")
        if size.shape != before.shape:
            changes.append(
                f"{size.shape[1]}x{size.shape[0]} pixels in place of {before.shape[1]}x{before.shape[0]}"
            )
        name = f"{size.network().name}.keras"
        data, resolution = data_for(size)
        resize = f" --resolution {size.shape[0]}" if size.shape != before.shape or resolution else ""
        train = (
            f"arenite train {size.architecture} --data {data} --width {size.width:g}{resize} "
            f"-o {name} --save-data {size.network().name}_data"
        )
        folder = f"{size.network().name}_data"
        files = f"{folder}/calibration.npz --test {folder}/test.npz"
        convert = self._convert(name, board, "int8", files)
        return Suggestion(
            board.name,
            kind,
            f"{size.architecture} with {' and '.join(changes)}",
            (train, convert),
            prediction,
            "The network has to be trained again and loses accuracy; the training measures it.",
        )

    def _convert(self, source: str, board: Board, recipe: str, calibration: str = "DATA.npz") -> str:
        return f"arenite convert {source} --calibration {calibration} --recipe {recipe} --board {board.name}"

    def _try(self, predict: Callable[[], Prediction | None]) -> Prediction | None:
        """Return the result of ``predict``, or None if the change is not possible or the time limit is reached."""
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
    """Return the smaller sides in pixels that are tried for a square picture, from large to small. They are multiples
    of 8 and at least 16."""
    if not size.is_square:
        return []
    sides = {int(size.shape[0] * share) // 8 * 8 for share in RESOLUTIONS}
    return sorted((s for s in sides if 16 <= s < size.shape[0]), reverse=True)


def data_for(size: NetworkSize) -> tuple[str, bool]:
    """Return the name of Arenite's data set that trains a network of ``size``, and whether its pictures must be
    resized.

    If there is no such data set, the name is a placeholder for the user's own file.
    """
    if size.architecture == "detector" and size.classes == 10 and size.shape[2] == 1:
        return "scenes", size.shape[0] != 64
    if size.architecture == "autoencoder":
        return ("motion_anomalies", False) if prod(size.shape) == 96 else ("TRAIN.npz", False)
    known = {((50, 1, 6), 4): "motions", ((49, 10, 1), 12): "keywords", ((8, 8, 1), 10): "digits"}
    if (size.shape, size.classes) in known:
        return known[size.shape, size.classes], False  # type: ignore[index]
    if size.is_square and size.shape[2] == 1 and size.classes == 10:
        return "mnist", size.shape[0] != 28
    return "TRAIN.npz", False
