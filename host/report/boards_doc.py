"""Write the tables of ``docs/boards.md`` from the board profiles: ``python -m arenite.host.report.boards_doc``."""

from __future__ import annotations

import sys

from arenite.host.report.generated_tables import DOCS, markdown_table, run
from arenite.profiles.board import Board, MemoryRegion
from arenite.profiles.boards import all_boards

PAGE = DOCS / "boards.md"


def sections() -> dict[str, str]:
    """Return the generated Markdown parts of the page, by the name in their marker lines."""
    boards = all_boards()
    real = [board for board in boards if not board.emulated]
    return {
        "count": f"Boards with a profile: {len(real)} real, {len(boards) - len(real)} emulated.",
        "emulated boards": _table([board for board in boards if board.emulated], platformio=False),
        "real boards": _table(real, platformio=True),
        "power figures": markdown_table(
            ("board", "mA", "V", "source"),
            [
                (
                    f"`{board.name}`",
                    f"{board.power.active_ma:g}",
                    f"{board.power.supply_v:g}",
                    board.power.source,
                )
                for board in real
                if board.power
            ],
            right=(1, 2),
        ),
    }


def _table(boards: list[Board], platformio: bool) -> str:
    head = ["board", "what it is", "MCU", "core", "MHz", "flash", "RAM for data", "more RAM"]
    rows = []
    for board in boards:
        row = [
            f"`{board.name}`",
            board.title,
            board.mcu,
            board.core + _features(board),
            f"{board.clock_hz / 1e6:g}",
            _size(board.flash[0].size),
            _size(board.ram[0].size),
            ", ".join(_region(region) for region in board.ram[1:]) or "–",
        ]
        if platformio:
            row.append("yes" if board.platformio else "no")
        rows.append(row)
    return markdown_table([*head, "PlatformIO"] if platformio else head, rows, right=(4, 5, 6))


def _features(board: Board) -> str:
    return f" ({', '.join(sorted(board.features))})" if board.features else ""


def _region(region: MemoryRegion) -> str:
    return f"{region.name} {_size(region.size)}"


def _size(size: int) -> str:
    """Return a size as whole MiB or KiB when that is exact, otherwise as bytes."""
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size:,} B"


if __name__ == "__main__":
    sys.exit(run(PAGE, sections()))
