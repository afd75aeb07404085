"""A ladder of models as a lever of the governor."""

from __future__ import annotations

from arenite.host.camera.several.variant_server import VariantServer


class VariantLever:
    """A ladder as the governor's lever ``resolution``."""

    name = "resolution"

    def __init__(self, ladder: VariantServer) -> None:
        self._ladder = ladder
        self.levels = len(ladder.variants)

    @property
    def level(self) -> int:
        return self._ladder.level

    @level.setter
    def level(self, level: int) -> None:
        self.move(level)

    def label(self, level: int) -> str:
        return self._ladder.variant_labels[level]

    def cost(self, level: int) -> float:
        return self._ladder.cost(level)

    def move(self, level: int) -> None:
        self._ladder.move(level)
