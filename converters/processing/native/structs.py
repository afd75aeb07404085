"""The structs of ``converters/processing/c`` as ctypes classes, and functions that fill them from plans."""

from __future__ import annotations

import ctypes
import os
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from arenite.converters.processing.specification import input_values

if TYPE_CHECKING:
    from arenite.converters.processing.audio.micro_plan import MicroPlan
    from arenite.converters.processing.audio.plan import AudioPlan
    from arenite.converters.processing.image.plan import ImagePlan
    from arenite.converters.processing.image.vector_tables import VectorTables
    from arenite.converters.processing.imu.plan import ImuPlan

_P, _U8, _U16, _U32, _I32 = ctypes.c_void_p, ctypes.c_uint8, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_int32


class AffineStruct(ctypes.Structure):
    _fields_ = [
        ("offset", _I32 * 3),
        ("multiplier", _I32 * 3),
        ("step", ctypes.c_float * 3),
        ("zero_point", _I32),
        ("low", _I32),
        ("high", _I32),
        ("shift", _U8 * 3),
        ("element_bytes", _U8),
    ]


class AxisStruct(ctypes.Structure):
    _fields_ = [("start", _P), ("weights", _P), ("outputs", _U16), ("taps", _U16)]


class PictureStruct(ctypes.Structure):
    _fields_ = [("plane", _P * 3), ("stride", _U32 * 3)]


class ImageStruct(ctypes.Structure):
    _fields_ = [
        ("row", _P),
        ("column", _P),
        ("finish", _P),
        ("across", AxisStruct),
        ("down", AxisStruct),
        ("table", _P),
        ("affine", AffineStruct),
        ("grey", _U16 * 3),
        *((name, _U16) for name in ("window_x", "window_y", "canvas_width", "canvas_height", "left", "top")),
        ("grey_bits", _U8),
        ("working", _U8),
        ("fill", _U8 * 3),
        *(
            (name, _U8)
            for name in (
                "channels",
                "late_grey",
                "per_channel",
                "ties_to_even",
                "waiting_bytes",
                "line_bytes",
                "element_bytes",
            )
        ),
    ]


class HostImageStruct(ctypes.Structure):
    _fields_ = [
        ("image", ImageStruct),
        ("row_bytes", _U32),
        ("groups", _U32),
        *((name, _P) for name in ("places", "near", "far", "order", "weights", "ahead")),
        ("blocks", _U32),
        *((name, _P) for name in ("reach", "unpack", "stretch")),
        *((name, _U32) for name in ("stretch_room", "stretch_from", "stretch_count")),
        ("colours", _U8 * 4),
        ("levels", _P),
    ]


class AudioStruct(ctypes.Structure):
    _fields_ = [
        *((n, _P) for n in ("window", "sines", "logs", "roots", "first", "count", "weights", "cosines")),
        ("samples", _U32),
        ("step", _U32),
        *((n, _I32) for n in ("lead", "mantissa", "exponent", "base_exponent")),
        ("factor", ctypes.c_int64),
        ("affine", AffineStruct),
        *((n, _U16) for n in ("frames", "length", "mirror", "inset", "fft", "bins", "last_bin", "features")),
        *((n, _U8) for n in ("power", "peak", "pad", "is_floor")),
        ("preemphasis", _U16),
    ]


class WindowsStruct(ctypes.Structure):
    _fields_ = [
        ("convert", _P),
        ("front", _P),
        ("step", _U32),
        ("row_bytes", _U32),
        *((n, _U16) for n in ("length", "rows", "advance", "memory_bytes")),
    ]


class StreamStruct(ctypes.Structure):
    _fields_ = [
        *((n, _P) for n in ("plan", "held", "ring", "memory")),
        ("position", ctypes.c_uint64),
        ("skip", _U32),
        *((n, _U16) for n in ("filled", "next", "missing")),
        ("is_complete", _U8),
    ]


class NoiseStruct(ctypes.Structure):
    _fields_ = [
        ("smoothing", _U32 * 2),
        ("keeping", _U32 * 2),
        ("min_remaining", _U32),
        *((n, _U8) for n in ("bits", "smoothing_bits", "clamp")),
    ]


class MicroStruct(ctypes.Structure):
    _fields_ = [
        *((n, _P) for n in ("window", "wave", "count", "weights", "rests", "gains", "logs")),
        ("samples", _U32),
        ("step", _U32),
        ("noise", NoiseStruct),
        ("affine", AffineStruct),
        *((n, _U16) for n in ("frames", "length", "fft", "first", "channels")),
        *((n, _U8) for n in ("gain_shift", "log_shift")),
        ("correction", ctypes.c_int8),
    ]


class ImuStruct(ctypes.Structure):
    _fields_ = [
        ("bands", _P),
        ("statistics", _P),
        ("affine", AffineStruct),
        ("window", _U16),
        ("unit", _U16),
        *((n, _U8) for n in ("axes", "statistics_count", "remove_mean")),
    ]


#: For each ``resample_kind``: the names of the row kernel and the column kernel, and the bytes of a value in a buffered
#: row and in a finished row.
FLAVOURS = {
    "bytes": ("bytes", "bytes", 1, 1),
    "opencv": ("opencv", "opencv", 2, 1),
    "rounded": ("exact", "rounded", 4, 1),
    "fraction": ("exact", "fraction", 4, 4),
}
#: The codes of color orders.
WORKING = {"rgb": 0, "bgr": 1, "grey": 2}


def kernels(plan: ImagePlan) -> tuple[str, str, str]:
    """Return the names of the functions for rows, for columns and for the last step."""
    row, column, _, _ = FLAVOURS[plan.flavour]
    bits = 8 * input_values.ELEMENT_BYTES[plan.dtype]
    finish = "ar_finish_affine" if plan.table is None else f"ar_finish_table_{bits}"
    return f"ar_row_{row}_{plan.format}", f"ar_column_{column}", finish


def image_scratch(plan: ImagePlan) -> int:
    """Return the number of bytes of scratch memory that image.h demands."""
    _, _, waiting, line = FLAVOURS[plan.flavour]
    slots = 0 if plan.down.taps == 1 and waiting == 1 else plan.down.taps
    rows = plan.across.outputs * plan.working_channels * waiting * slots
    return -(-rows // 4) * 4 + plan.canvas[0] * plan.working_channels * line


def audio_scratch(plan: AudioPlan) -> int:
    """Return the number of bytes of scratch memory that audio.h demands."""
    return 8 * (plan.fft // 2 + 1) + 4 * plan.bins


def affine_fields(map: input_values.Affine | None, dtype: str) -> dict[str, Any]:
    """Return the fields of ``ar_affine``. Parameters of a single channel are repeated for three channels."""
    size = input_values.ELEMENT_BYTES[dtype]
    if map is None:
        return {"element_bytes": size}

    def three(values: tuple[Any, ...]) -> list[Any]:
        return list((values * 3)[:3])

    return {
        "offset": three(map.offset),
        "multiplier": three(map.multiplier),
        "step": three(map.step),
        "zero_point": map.zero_point,
        "low": map.low,
        "high": map.high,
        "shift": three(map.shift),
        "element_bytes": size,
    }


def image_fields(plan: ImagePlan) -> dict[str, Any]:
    """Return the fields of ``ar_image`` that are numbers."""
    _, _, waiting, line = FLAVOURS[plan.flavour]
    return {
        "grey": list(plan.grey[:3]),
        "window_x": plan.window[0],
        "window_y": plan.window[1],
        "canvas_width": plan.canvas[0],
        "canvas_height": plan.canvas[1],
        "left": plan.left,
        "top": plan.top,
        "grey_bits": plan.grey[3],
        "working": WORKING[plan.working],
        "fill": [*plan.fill, 0, 0][:3],
        "channels": plan.channels,
        "late_grey": int(plan.late_grey),
        "per_channel": int(plan.table is not None and len(plan.table) > 1),
        "ties_to_even": int(plan.ties_to_even),
        "waiting_bytes": waiting,
        "line_bytes": line,
        "element_bytes": input_values.ELEMENT_BYTES[plan.dtype],
    }


def vector_code(library: ctypes.CDLL) -> str:
    """Return the instruction set of the library's vector code, or "" if this processor lacks it or it is switched
    off."""
    if os.environ.get("ARENITE_PROCESSING") == "c":
        return ""
    library.ar_host_vector.restype = ctypes.c_char_p
    return cast(str, library.ar_host_vector().decode())


def fill_vector(struct: HostImageStruct, vector: VectorTables) -> None:
    """Set the fields for vector code. ``vector`` must stay alive, because the fields point to its arrays."""
    fill(struct, vector.numbers)
    for name, table in vector.tables.items():
        setattr(struct, name, address(table))


def audio_fields(plan: AudioPlan) -> dict[str, Any]:
    """Return the fields of ``ar_audio`` that are numbers."""
    return {
        "samples": plan.samples,
        "step": plan.step,
        "lead": plan.lead,
        "mantissa": plan.mantissa,
        "exponent": plan.exponent,
        "base_exponent": plan.base_exponent,
        "factor": plan.factor,
        "frames": plan.frames,
        "length": plan.length,
        "mirror": plan.mirror,
        "inset": plan.inset,
        "fft": plan.fft,
        "bins": plan.bins,
        "last_bin": plan.filters.last_bin,
        "features": plan.features,
        "power": plan.power,
        "peak": plan.peak,
        "pad": plan.centre,
        "is_floor": int(plan.is_floor),
        "preemphasis": plan.preemphasis,
    }


def audio_tables(plan: AudioPlan) -> dict[str, np.ndarray | None]:
    """Return the fields of ``ar_audio`` that point to tables."""
    bank = plan.filters
    return {
        "window": plan.window,
        "sines": plan.sines,
        "logs": plan.logs,
        "roots": plan.roots,
        "first": bank.first,
        "count": bank.count,
        "weights": bank.weights,
        "cosines": plan.cosines,
    }


def windows_fields(plan: AudioPlan | MicroPlan, advance: int) -> dict[str, int]:
    """Return the fields of ``ar_audio_windows`` that are numbers."""
    return {
        "step": plan.step,
        "length": plan.length,
        "row_bytes": plan.features * input_values.ELEMENT_BYTES[plan.dtype],
        "rows": plan.frames,
        "advance": advance,
        "memory_bytes": plan.memory_bytes,
    }


def micro_scratch(plan: MicroPlan) -> int:
    """Return the number of bytes of scratch memory that micro.h demands for a recording."""
    return 4 * (plan.fft // 2 + 1) + 8 * plan.features


def micro_fields(plan: MicroPlan) -> dict[str, Any]:
    """Return the fields of ``ar_micro`` that are numbers."""
    return {
        "samples": plan.samples,
        "step": plan.step,
        "frames": plan.frames,
        "length": plan.length,
        "fft": plan.fft,
        "first": plan.bank.first,
        "channels": plan.features,
        "gain_shift": plan.ratio_shift,
        "log_shift": plan.log_shift,
        "correction": plan.correction,
    }


def micro_tables(plan: MicroPlan) -> dict[str, np.ndarray | None]:
    """Return the fields of ``ar_micro`` that point to tables."""
    bank = plan.bank
    return {
        "window": plan.window,
        "wave": plan.wave,
        "count": bank.count,
        "weights": bank.weights,
        "rests": None if bank.is_complementary else bank.rests,
        "gains": plan.gains,
        "logs": plan.logs,
    }


def imu_fields(plan: ImuPlan) -> dict[str, int]:
    """Return the fields of ``ar_imu`` that are numbers."""
    return {
        "window": plan.window,
        "unit": plan.unit,
        "axes": plan.axes,
        "statistics_count": len(plan.statistics),
        "remove_mean": int(plan.remove_mean),
    }


def imu_windows_fields(plan: ImuPlan) -> dict[str, int]:
    """Return the fields of ``ar_audio_windows`` that are numbers, for windows of one row."""
    return {
        "step": plan.hop * plan.axes,
        "length": plan.window * plan.axes,
        "row_bytes": plan.shape[0] * plan.shape[1] * input_values.ELEMENT_BYTES[plan.dtype],
        "rows": 1,
        "advance": 1,
        "memory_bytes": 0,
    }


def imu_scratch(plan: ImuPlan) -> int:
    """Return the number of bytes of scratch memory that imu.h demands."""
    if not plan.per_axis:
        return 0
    return -(-2 * plan.window // 8) * 8 + (0 if plan.bands is None else audio_scratch(plan.bands))


def fill(struct: ctypes.Structure, fields: dict[str, Any]) -> None:
    """Set the fields of ``struct`` to numbers, or to lists of numbers."""
    for name, value in fields.items():
        if isinstance(value, list):
            for k, item in enumerate(value):
                getattr(struct, name)[k] = item
        else:
            setattr(struct, name, value)


def address(array: np.ndarray | None) -> int | None:
    """Return the address of the array's data, or None for None."""
    return None if array is None else array.ctypes.data
