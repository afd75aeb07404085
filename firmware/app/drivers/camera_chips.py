"""Choose what a camera's chip must send, so that the application gets the frames that a model's preprocessing expects.

A chip sends frames of the sizes and the pixels that it has. The application takes the middle of them, and changes the
bytes of a row where the chip has no such pixels (``camera_rows.c``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arenite.errors import UsageError

GREY, YUYV, UYVY, RGB565 = "GREY", "YUYV", "UYVY", "RGB565"
#: Bytes of a pixel that a chip sends.
_SENT_BYTES = {GREY: 1, YUYV: 2, UYVY: 2, RGB565: 2}
#: The macros of app_settings.h for the kinds of pixels, and for the changes of their bytes.
_KINDS = tuple(_SENT_BYTES)
_CHANGES = ("COPY", "TO_GREY", "SWAP", "TO_RGB", "TO_BGR")
#: For each format of preprocessing, the pixels that the chips with colors send, and the change of their bytes.
_COLORS = {
    "yuyv": (YUYV, "COPY"),
    "uyvy": (UYVY, "COPY"),
    "rgb565be": (RGB565, "COPY"),
    "rgb565": (RGB565, "SWAP"),
    "rgb": (RGB565, "TO_RGB"),
    "bgr": (RGB565, "TO_BGR"),
}


@dataclass(frozen=True)
class _Size:
    """A size of a chip's frames.

    Attributes:
        width, height: pixels.
        lines: lines of the sensor in a row.
        periods: the least and the most periods of the chip's clock in a line.
        frame_lines: the least lines of a frame.
        max_frame_lines: the most lines of a frame.
    """

    width: int
    height: int
    lines: float
    periods: tuple[int, int]
    frame_lines: int
    max_frame_lines: int = 65535


@dataclass(frozen=True)
class CameraChip:
    """The chip of a camera.

    Attributes:
        name: the name of its C file, without ``.c``.
        address: its address on the bus, of 7 bits.
        formats: the pixels and the change of their bytes for each format of preprocessing.
        sizes: the sizes of its frames, the smallest first; a single one is the largest, to any size below which the
            chip scales.
        multiple: what the sides of a scaled frame are multiples of; 0 if the chip does not scale.
    """

    name: str
    address: int
    formats: dict[str, tuple[str, str]]
    sizes: tuple[_Size, ...]
    multiple: int = 0

    def size_for(self, width: int, height: int) -> _Size:
        """Return the smallest size of a frame that has ``width`` x ``height`` pixels. Raises ``UsageError`` if there is
        none."""
        found = next((s for s in self.sizes if s.width >= width and s.height >= height), None)
        if found is None:
            largest = self.sizes[-1]
            raise UsageError(
                f"The model wants frames of {width}x{height} pixels, but {self.name.upper()} has at most "
                f"{largest.width}x{largest.height}.",
                "Set a smaller width and height in [preprocessing.source].",
            )
        if not self.multiple:
            return found
        sides = [-(-side // self.multiple) * self.multiple for side in (width, height)]
        # The largest part of the sensor with this shape is scaled.
        part = min(found.height, sides[1] * found.width // sides[0] // 4 * 4)
        return _Size(sides[0], sides[1], part / sides[1], found.periods, found.frame_lines)


_ALL = {"grey": (GREY, "COPY"), **_COLORS}
#: The periods are of the clock at the chip: the shortest line, and the longest one with the largest divider.
CHIPS = {
    chip.name: chip
    for chip in (
        CameraChip(
            "hm01b0",
            0x24,
            {"grey": (GREY, "COPY")},
            (
                _Size(162, 122, 1, (376, 8 * 65535), 130),
                _Size(324, 244, 1, (376, 8 * 65535), 260),
                _Size(324, 324, 1, (376, 8 * 65535), 344),
            ),
        ),
        CameraChip(
            "ov7670",
            0x21,
            {"grey": (YUYV, "TO_GREY"), **_COLORS},
            tuple(
                _Size(640 >> k, 480 >> k, 1 << k, (2 * 784, 2 * 64 * (784 + 4095)), 510) for k in (2, 1, 0)
            ),
        ),
        CameraChip("ov2640", 0x30, _ALL, (_Size(800, 600, 1, (1190, 64 * (1190 + 4095)), 672),), 4),
        CameraChip("ov5640", 0x3C, _ALL, (_Size(1280, 960, 1, (1896, 8 * 8191), 984),), 4),
        # A line has 50 periods, the columns and 256 to 4095 more. Five of its periods are two of the clock at the chip,
        # or four with the larger divider.
        CameraChip(
            "gc2145",
            0x3C,
            {"grey": (YUYV, "TO_GREY"), **_COLORS},
            tuple(
                _Size(
                    width,
                    height,
                    ratio,
                    ((50 + ratio * width + 256) * 2 // 5 + 1, (50 + ratio * width + 4095) * 4 // 5),
                    ratio * height + 24,
                    ratio * height + 8 + 8191,
                )
                for width, height, ratio in ((160, 120, 5), (320, 240, 5), (640, 480, 2))
            ),
        ),
    )
}

#: The sizes of esp32-camera's frames: their names, widths and heights.
ANY_CHIP_SIZES = (
    ("96X96", 96, 96),
    ("128X128", 128, 128),
    ("QQVGA", 160, 120),
    ("QCIF", 176, 144),
    ("HQVGA", 240, 176),
    ("240X240", 240, 240),
    ("QVGA", 320, 240),
    ("CIF", 400, 296),
    ("HVGA", 480, 320),
    ("VGA", 640, 480),
    ("SVGA", 800, 600),
)
#: A chip that esp32-camera sets up. Rows wait in its frame, so they can arrive at any time.
ANY_CHIP = CameraChip(
    "esp32-camera",
    0,
    {name: how for name, how in _ALL.items() if name != "uyvy"},
    tuple(_Size(width, height, 1, (1, 1 << 40), 1) for _, width, height in ANY_CHIP_SIZES),
)


@dataclass(frozen=True)
class CameraFrame:
    """What a chip sends, and which part of it the application takes.

    Attributes:
        width, height: pixels of the chip's frame.
        left, top: the first column and row that the application takes.
        sends: the kind of pixels.
        change: how their bytes are changed.
        row_us: the least and the most microseconds from row to row.
        frame_rows: the least time of a frame, in times from row to row.
        max_frame_rows: the longest time of a frame, in the same unit.
    """

    width: int
    height: int
    left: int
    top: int
    sends: str
    change: str
    row_us: tuple[int, int]
    frame_rows: int
    max_frame_rows: int

    def row_us_for(self, frame_us: int) -> tuple[int, int]:
        """Return the least and the most microseconds from row to row for a frame each ``frame_us``."""
        return max(self.row_us[0], frame_us // self.max_frame_rows + 1), self.row_us[1]

    @property
    def bytes(self) -> int:
        """The size of a frame that the chip sends."""
        return self.width * self.height * _SENT_BYTES[self.sends]

    def macros(self, row_us: int) -> str:
        """Return the lines of ``app_settings.h``. ``row_us`` are the microseconds from row to row."""
        kinds = "".join(f"#define CAMERA_SENDS_{kind} {k}\n" for k, kind in enumerate(_KINDS))
        changes = "".join(f"#define CAMERA_{change} {k}\n" for k, change in enumerate(_CHANGES))
        return f"""\

/* What the camera's chip sends. */
{kinds}#define CAMERA_CHIP_SENDS CAMERA_SENDS_{self.sends}
#define CAMERA_CHIP_PIXEL {_SENT_BYTES[self.sends]}u /* bytes of a pixel */
#define CAMERA_CHIP_WIDTH {self.width}u
#define CAMERA_CHIP_HEIGHT {self.height}u
#define CAMERA_CHIP_ROW_US {row_us}u /* from row to row */
/* The first column and row that the application takes, and what it makes of the bytes. */
#define CAMERA_LEFT {self.left}u
#define CAMERA_TOP {self.top}u
{changes}#define CAMERA_CHANGE CAMERA_{self.change}
"""


def camera_frame(chip: CameraChip, clock_hz: int, width: int, height: int, format: str) -> CameraFrame:
    """Return what ``chip`` sends for frames of ``width`` x ``height`` pixels of ``format``. Its clock has ``clock_hz``.

    Raises ``UsageError`` if it has no such frames.
    """
    if format not in chip.formats:
        raise UsageError(
            f"{chip.name.upper()} has no pixels of the format {format}.",
            f"Set format in [preprocessing.source] to one of {', '.join(chip.formats)}, or choose another --chip.",
        )
    size = chip.size_for(width, height)
    sends, change = chip.formats[format]
    even = -2 if sends in (YUYV, UYVY) else -1  # pixels in pairs
    least, most = (size.lines * periods * 1e6 / clock_hz for periods in size.periods)
    return CameraFrame(
        size.width,
        size.height,
        (size.width - width) // 2 & even,
        (size.height - height) // 2,
        sends,
        change,
        (int(least) + 2, int(most) - 1),
        int(size.frame_lines / size.lines) + 2,
        int(size.max_frame_lines / size.lines) - 2,
    )


def chip_named(name: str | None, on_board: str, names: Sequence[str]) -> CameraChip:
    """Return the chip ``name``, or ``on_board`` if that is None. Raises ``UsageError`` if it is none of ``names``."""
    used = name or on_board
    if used not in names:
        raise UsageError(
            f"'{used}' is not a camera with a driver for this board.", f"Choose one of {', '.join(names)}."
        )
    return CHIPS[used]
