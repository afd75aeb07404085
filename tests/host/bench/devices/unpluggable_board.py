"""A board on a cable: an emulator behind a pseudo-terminal that can be pulled and plugged in again.

The port is a symbolic link, like the links that udev creates: it disappears when the cable is pulled. When the cable is
plugged in again, the link points to another terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from arenite.host.bench.samples import Samples, random_samples
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared
from arenite.host.build.project import generate_project
from arenite.host.emulator.machine import RunningEmulator, start
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests.host.link.faulty_transport import Fault, FaultyLine, clean


class Cable:
    """A serial cable. ``port`` is the symbolic link. ``faults`` has two functions that damage the data to the device
    and the data to the host. ``plugged`` counts how often the cable was plugged in."""

    def __init__(
        self, machine: RunningEmulator, port: Path, faults: tuple[Fault, Fault] = (clean, clean)
    ) -> None:
        self._machine, self.faults = machine, faults
        self.port = port
        self._line: FaultyLine | None = None
        self.plugged = 0

    def plug(self) -> None:
        """Plug the cable in."""
        assert self._line is None
        self._line = FaultyLine(self._machine.transport, to_device=self.faults[0], to_host=self.faults[1])
        self._line.__enter__()
        self.port.symlink_to(self._line.port)
        self.plugged += 1

    def pull(self) -> None:
        """Pull the cable: reads and writes of the open port fail from now on."""
        if self._line is not None:
            self.port.unlink()
            self._line.__exit__(None, None, None)
            self._line = None

    def __enter__(self) -> Self:
        self.plug()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pull()


def built(prepared: Prepared, board: str, folder: Path, protocol: str = "arenite") -> Path:
    """Generate and build the same project as a bench. Return the path of its ELF file."""
    generate_project(prepared, load_board(board), folder, BuildOptions(protocol=protocol))
    return direct_build(folder)


@contextmanager
def on_cables(
    elf: Path, board: str, folder: Path, count: int = 1, faults: tuple[Fault, Fault] = (clean, clean)
) -> Iterator[list[tuple[RunningEmulator, Cable]]]:
    """Start ``count`` boards that run ``elf``, each on a cable that is plugged in."""
    with ExitStack() as stack:
        boards = []
        for k in range(count):
            machine = stack.enter_context(start(load_board(board), elf))
            boards.append((machine, stack.enter_context(Cable(machine, folder / f"ttyBoard{k}", faults))))
        yield boards


def samples_of(prepared: Prepared, count: int) -> Samples:
    """Return ``count`` random samples for the model."""
    return random_samples([prepared.model.main.tensors[i] for i in prepared.model.main.inputs], count)
