"""A console that escapes the control characters in text from devices, files, models and networks."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from arenite.printable import printable_lines


class SafeConsole(Console):
    """A console on which only Rich itself can write control sequences. Control characters in printed text are
    escaped."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of ``Console.render``, with the control characters in their text escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))
