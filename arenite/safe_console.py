"""A console that writes text from outside without its control characters."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from arenite.printable import printable_lines


class SafeConsole(Console):
    """A console on which only Rich itself can write control sequences: those in printed text are escaped."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """See ``Console``."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))
