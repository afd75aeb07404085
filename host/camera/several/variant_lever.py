"""Let the governor switch between model variants."""

from __future__ import annotations

from arenite.host.camera.several.variant_server import VariantServer


class VariantLever:
    """A lever of the governor whose levels are the variants of a ``VariantServer``. It is called ``resolution`` unless
    the caller sets another ``name``."""

    name = "resolution"

    def __init__(self, server: VariantServer) -> None:
        self._server = server
        self.levels = len(server.variants)

    @property
    def level(self) -> int:
        return self._server.level

    @level.setter
    def level(self, level: int) -> None:
        self.move(level)

    def label(self, level: int) -> str:
        return self._server.variant_labels[level]

    def cost(self, level: int) -> float:
        return self._server.cost(level)

    def move(self, level: int) -> None:
        self._server.move(level)
