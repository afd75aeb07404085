"""The preprocessing steps that convert a picture to a tensor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from arenite.converters.processing.specification.pixel_formats import PLANES, SUBSAMPLED
from arenite.converters.processing.specification.record_fields import check_one_of, check_within, record_error

#: The layouts of a picture in memory. A file is decoded to one of the first three; cameras deliver the others.
FORMATS = (
    "rgb",
    "bgr",
    "grey",
    "rgba",
    "bgra",
    "rgb565",
    "rgb565be",
    "yuyv",
    "uyvy",
    "nv12",
    "nv21",
    "yu12",
    "yv12",
)
METHODS = ("nearest", "bilinear", "area")
#: The libraries whose definition of a method can be chosen. They differ in sampling points, antialiasing and rounding.
#: tf-corners is TensorFlow's ``align_corners=True``, and tf-legacy is TensorFlow without ``half_pixel_centers``.
CONVENTIONS = ("pil", "opencv", "tf", "tf-legacy", "tf-corners", "torch")
#: The largest side of a picture in pixels.
MAX_SIDE = 16384

#: The methods that each convention supports.
PAIRS = {
    "pil": METHODS,
    "opencv": METHODS,
    "tf": METHODS,
    "tf-legacy": ("nearest", "bilinear"),
    "tf-corners": ("nearest", "bilinear"),
    "torch": ("nearest", "bilinear"),
}


@dataclass(frozen=True)
class ImageSource:
    """A picture. ``width`` and ``height`` are the size of the buffer on the device; 0 means the size of the model's
    input."""

    kind: ClassVar[str] = "image"
    format: str = "rgb"
    width: int = 0
    height: int = 0

    def __post_init__(self) -> None:
        check_one_of(self.format, FORMATS, "The source's format")
        for side in (self.width, self.height):
            check_within(side, 0, MAX_SIDE, "A side of the source")
        if (self.width == 0) != (self.height == 0):
            raise record_error("The source has only one of width and height.")
        if self.format in SUBSAMPLED and (
            self.width % 2 or self.height % (2 if self.format in PLANES else 1)
        ):
            raise record_error(
                f"A source of format {self.format} has {self.width}x{self.height} pixels: it needs even sides."
            )


@dataclass(frozen=True)
class Colour:
    """Convert the pixels to ``rgb``, ``bgr`` or ``grey``. Grey is computed as in PIL (``L``) or OpenCV
    (``COLOR_RGB2GRAY``)."""

    do: ClassVar[str] = "colour"
    to: str
    convention: str = "pil"

    def __post_init__(self) -> None:
        check_one_of(self.to, ("rgb", "bgr", "grey"), "Colour: to")
        check_one_of(self.convention, ("pil", "opencv"), "Colour: convention")


@dataclass(frozen=True)
class Crop:
    """Cut out a rectangle: ``fraction`` of both sides, or ``width`` x ``height``. It is at ``x``, ``y``, or in the
    middle if these are -1. Half of an odd margin is rounded ``down``, or to ``even`` as in torchvision."""

    do: ClassVar[str] = "crop"
    width: int = 0
    height: int = 0
    x: int = -1
    y: int = -1
    fraction: float = 0.0
    rounding: str = "down"

    def __post_init__(self) -> None:
        check_one_of(self.rounding, ("down", "even"), "Crop: rounding")
        if self.fraction:
            check_within(self.fraction, 0.001, 1.0, "Crop: fraction")
            if self.width or self.height or self.x != -1 or self.y != -1:
                raise record_error("Crop takes a fraction, or a rectangle, not both.")
        else:
            check_within(self.width, 1, MAX_SIDE, "Crop: width")
            check_within(self.height, 1, MAX_SIDE, "Crop: height")
        if (self.x == -1) != (self.y == -1) or self.x < -1 or self.y < -1:
            raise record_error(
                f"Crop: x, y is {self.x}, {self.y}, expected two positions from 0 on, or -1 for both."
            )


@dataclass(frozen=True)
class Resize:
    """Resize to ``width`` x ``height``, or so that the shorter side is ``short_side``."""

    do: ClassVar[str] = "resize"
    width: int = 0
    height: int = 0
    short_side: int = 0
    method: str = "bilinear"
    convention: str = "pil"

    def __post_init__(self) -> None:
        _check_method("Resize", self.method, self.convention)
        if self.short_side:
            check_within(self.short_side, 1, MAX_SIDE, "Resize: short_side")
            if self.width or self.height:
                raise record_error("Resize takes short_side, or width and height, not both.")
        else:
            check_within(self.width, 1, MAX_SIDE, "Resize: width")
            check_within(self.height, 1, MAX_SIDE, "Resize: height")


@dataclass(frozen=True)
class Letterbox:
    """Fit the complete picture into the middle of ``width`` x ``height``, keep its proportions, and fill the rest with
    ``fill`` (0 to 255, one value or one per channel at this point)."""

    do: ClassVar[str] = "letterbox"
    width: int
    height: int
    fill: tuple[int, ...] = (0,)
    method: str = "bilinear"
    convention: str = "pil"

    def __post_init__(self) -> None:
        _check_method("Letterbox", self.method, self.convention)
        check_within(self.width, 1, MAX_SIDE, "Letterbox: width")
        check_within(self.height, 1, MAX_SIDE, "Letterbox: height")
        for value in self.fill:
            check_within(value, 0, 255, "Letterbox: fill")
        if len(self.fill) not in (1, 3):
            raise record_error(f"Letterbox: fill has {len(self.fill)} values, expected 1 or 3.")


def _check_method(step: str, method: str, convention: str) -> None:
    check_one_of(method, METHODS, f"{step}: method")
    check_one_of(convention, CONVENTIONS, f"{step}: convention")
    if method not in PAIRS[convention]:
        raise record_error(f"{step}: the convention {convention} has no method {method}.")
