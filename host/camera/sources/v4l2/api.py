"""The part of Linux's Video4Linux2 interface that capturing needs: structures and request numbers.

They follow the kernel's include/uapi/linux/videodev2.h. The layout of the structures depends on the size of a pointer:
``layout`` returns the structures for 32 or for 64 bits, and ``API`` has those of this process. Names are the kernel's
names without their prefix.
"""

from __future__ import annotations

import ctypes
import struct
from ctypes import c_char, c_int32, c_uint8, c_uint16, c_uint32
from types import SimpleNamespace
from typing import Any

CAPTURE, CAPTURE_MPLANE = 1, 9  # values of v4l2_buf_type
MMAP = 1  # a value of v4l2_memory
CAP_CAPTURE, CAP_CAPTURE_MPLANE, CAP_STREAMING, CAP_DEVICE_CAPS = 1, 0x1000, 0x04000000, 0x80000000
CAP_TIMEPERFRAME = 0x1000
FIELD_NONE = 1
#: The values for interlaced video whose two fields follow each other in a buffer, or arrive in alternating buffers.
#: They are not supported, because models need complete pictures.
SPLIT_FIELDS = (5, 6, 7)
FLAG_ERROR, FLAG_MONOTONIC, FLAG_TIMESTAMP = 0x40, 0x2000, 0xE000
SIZE_DISCRETE = INTERVAL_DISCRETE = 1
EVENT_SOURCE_CHANGE, SOURCE_CHANGE_RESOLUTION = 5, 1
CTRL_NEXT = 0x80000000
MAX_PLANES = 8


def fourcc(name: str) -> int:
    return int(struct.unpack("<I", name.encode("ascii"))[0])


def fourcc_name(code: int) -> str:
    return struct.pack("<I", code & 0x7FFFFFFF).decode("latin-1").strip()


#: Maps the supported formats of drivers to Arenite's pixel format and the number of separate memory areas for planes.
PIXELS = {
    fourcc("YUYV"): ("yuyv", 1),
    fourcc("UYVY"): ("uyvy", 1),
    fourcc("NV12"): ("nv12", 1),
    fourcc("NM12"): ("nv12", 2),
    fourcc("NV21"): ("nv21", 1),
    fourcc("NM21"): ("nv21", 2),
    fourcc("YU12"): ("yu12", 1),
    fourcc("YM12"): ("yu12", 3),
    fourcc("YV12"): ("yv12", 1),
    fourcc("YM21"): ("yv12", 3),
    fourcc("GREY"): ("grey", 1),
    fourcc("RGB3"): ("rgb", 1),
    fourcc("BGR3"): ("bgr", 1),
    fourcc("AB24"): ("rgba", 1),
    fourcc("XB24"): ("rgba", 1),
    fourcc("AR24"): ("bgra", 1),
    fourcc("XR24"): ("bgra", 1),
    fourcc("RGBP"): ("rgb565", 1),
    fourcc("MJPG"): ("mjpeg", 1),
    fourcc("JPEG"): ("mjpeg", 1),
}


def _ioc(direction: int, number: int, size: int) -> int:
    """Return the request number of an ioctl as in include/uapi/asm-generic/ioctl.h. It consists of the direction (1
    writes to the kernel, 2 reads from it), the size of the argument, the type (V for video) and the number."""
    return direction << 30 | size << 16 | ord("V") << 8 | number


def _struct(name: str, fields: list[tuple[str, Any]], *, pack: int = 0) -> Any:
    attributes: dict[str, Any] = {"__slots__": ()}
    if pack:
        attributes["_pack_"] = pack
    return type(name, (ctypes.Structure,), {**attributes, "_fields_": fields})


def _union(name: str, fields: list[tuple[str, Any]]) -> Any:
    return type(name, (ctypes.Union,), {"__slots__": (), "_fields_": fields})


def layout(word: Any) -> SimpleNamespace:
    """Return structures and request numbers for a system on which a pointer and a long have the size of ``word``."""
    u32, s = c_uint32, SimpleNamespace()
    signed = {4: c_int32, 8: ctypes.c_int64}[ctypes.sizeof(word)]
    fract = _struct("Fract", [("numerator", u32), ("denominator", u32)])
    s.Capability = _struct(
        "Capability",
        [("driver", c_char * 16), ("card", c_char * 32), ("bus_info", c_char * 32), ("version", u32),
         ("capabilities", u32), ("device_caps", u32), ("reserved", u32 * 3)],
    )  # fmt: skip
    s.FmtDesc = _struct(
        "FmtDesc",
        [("index", u32), ("type", u32), ("flags", u32), ("description", c_char * 32), ("pixelformat", u32),
         ("mbus_code", u32), ("reserved", u32 * 3)],
    )  # fmt: skip
    size = [("width", u32), ("height", u32)]
    steps = ("min_width", "max_width", "step_width", "min_height", "max_height", "step_height")
    sizes = _union(
        "FrmSizes",
        [("discrete", _struct("Size", size)), ("stepwise", _struct("Steps", [(n, u32) for n in steps]))],
    )
    s.FrmSizeEnum = _struct(
        "FrmSizeEnum",
        [("index", u32), ("pixel_format", u32), ("type", u32), ("is", sizes), ("reserved", u32 * 2)],
    )
    intervals = _union(
        "FrmIntervals",
        [
            ("discrete", fract),
            ("stepwise", _struct("IvalSteps", [(n, fract) for n in ("min", "max", "step")])),
        ],
    )
    s.FrmIvalEnum = _struct(
        "FrmIvalEnum",
        [
            ("index", u32),
            ("pixel_format", u32),
            *size,
            ("type", u32),
            ("is", intervals),
            ("reserved", u32 * 2),
        ],
    )
    pix = ("pixelformat", "field", "bytesperline", "sizeimage", "colorspace", "priv", "flags", "ycbcr_enc")
    s.Pix = _struct("Pix", [*size, *((n, u32) for n in (*pix, "quantization", "xfer_func"))])
    plane_format = _struct(
        "PlaneFormat", [("sizeimage", u32), ("bytesperline", u32), ("reserved", c_uint16 * 6)], pack=1
    )
    s.PixMplane = _struct(
        "PixMplane",
        [*size, ("pixelformat", u32), ("field", u32), ("colorspace", u32),
         ("plane_fmt", plane_format * MAX_PLANES), ("num_planes", c_uint8), ("flags", c_uint8),
         ("ycbcr_enc", c_uint8), ("quantization", c_uint8), ("xfer_func", c_uint8), ("reserved", c_uint8 * 7)],
        pack=1,
    )  # fmt: skip
    # In the kernel, the union also contains a structure with a pointer (of an overlay), which determines its alignment.
    fmt = _union(
        "FormatUnion",
        [("pix", s.Pix), ("pix_mp", s.PixMplane), ("raw", c_uint8 * 200), ("align", word)],
    )
    s.Format = _struct("Format", [("type", u32), ("fmt", fmt)])
    capture = _struct(
        "CaptureParm",
        [("capability", u32), ("capturemode", u32), ("timeperframe", fract), ("extendedmode", u32),
         ("readbuffers", u32), ("reserved", u32 * 4)],
    )  # fmt: skip
    parm = _union("ParmUnion", [("capture", capture), ("raw", c_uint8 * 200)])
    s.StreamParm = _struct("StreamParm", [("type", u32), ("parm", parm)])
    s.RequestBuffers = _struct(
        "RequestBuffers",
        [("count", u32), ("type", u32), ("memory", u32), ("capabilities", u32), ("flags", c_uint8),
         ("reserved", c_uint8 * 3)],
    )  # fmt: skip
    place = _union("PlaneUnion", [("mem_offset", u32), ("userptr", word), ("fd", c_int32)])
    s.Plane = _struct(
        "Plane",
        [("bytesused", u32), ("length", u32), ("m", place), ("data_offset", u32), ("reserved", u32 * 11)],
    )
    where = _union("BufferUnion", [("offset", u32), ("userptr", word), ("planes", word), ("fd", c_int32)])
    timeval = _struct("Timeval", [("tv_sec", signed), ("tv_usec", signed)])
    timecode = _struct(
        "Timecode",
        [("type", u32), ("flags", u32), ("frames", c_uint8), ("seconds", c_uint8), ("minutes", c_uint8),
         ("hours", c_uint8), ("userbits", c_uint8 * 4)],
    )  # fmt: skip
    s.Buffer = _struct(
        "Buffer",
        [("index", u32), ("type", u32), ("bytesused", u32), ("flags", u32), ("field", u32),
         ("timestamp", timeval), ("timecode", timecode), ("sequence", u32), ("memory", u32), ("m", where),
         ("length", u32), ("reserved2", u32), ("request_fd", c_int32)],
    )  # fmt: skip
    s.ExportBuffer = _struct(
        "ExportBuffer",
        [
            ("type", u32),
            ("index", u32),
            ("plane", u32),
            ("flags", u32),
            ("fd", c_int32),
            ("reserved", u32 * 11),
        ],
    )
    s.EventSubscription = _struct(
        "EventSubscription", [("type", u32), ("id", u32), ("flags", u32), ("reserved", u32 * 5)]
    )
    # The union contains a 64-bit value, which aligns it to eight bytes on Arm and on 64-bit systems, and to four bytes
    # on 32-bit x86.
    data = _union("EventUnion", [("src_changes", u32), ("data", c_uint8 * 64), ("align", ctypes.c_int64)])
    timespec = _struct("Timespec", [("tv_sec", signed), ("tv_nsec", signed)])
    s.Event = _struct(
        "Event",
        [("type", u32), ("u", data), ("pending", u32), ("sequence", u32), ("timestamp", timespec), ("id", u32),
         ("reserved", u32 * 8)],
    )  # fmt: skip
    s.Control = _struct("Control", [("id", u32), ("value", c_int32)])
    s.QueryCtrl = _struct(
        "QueryCtrl",
        [("id", u32), ("type", u32), ("name", c_char * 32), ("minimum", c_int32), ("maximum", c_int32),
         ("step", c_int32), ("default_value", c_int32), ("flags", u32), ("reserved", u32 * 2)],
    )  # fmt: skip
    s.DvTimings = _struct("DvTimings", [("type", u32), ("bt", u32 * 32)], pack=1)
    s.requests = {
        "QUERYCAP": (2, 0, s.Capability), "ENUM_FMT": (3, 2, s.FmtDesc),
        "S_FMT": (3, 5, s.Format), "REQBUFS": (3, 8, s.RequestBuffers), "QUERYBUF": (3, 9, s.Buffer),
        "QBUF": (3, 15, s.Buffer), "EXPBUF": (3, 16, s.ExportBuffer), "DQBUF": (3, 17, s.Buffer),
        "STREAMON": (1, 18, c_int32), "STREAMOFF": (1, 19, c_int32), "G_PARM": (3, 21, s.StreamParm),
        "S_PARM": (3, 22, s.StreamParm), "S_CTRL": (3, 28, s.Control),
        "QUERYCTRL": (3, 36, s.QueryCtrl),
        "ENUM_FRAMESIZES": (3, 74, s.FrmSizeEnum), "ENUM_FRAMEINTERVALS": (3, 75, s.FrmIvalEnum),
        "S_DV_TIMINGS": (3, 87, s.DvTimings), "DQEVENT": (2, 89, s.Event),
        "SUBSCRIBE_EVENT": (1, 90, s.EventSubscription), "QUERY_DV_TIMINGS": (2, 99, s.DvTimings),
    }  # fmt: skip
    for name, (direction, number, argument) in s.requests.items():
        setattr(s, name, _ioc(direction, number, ctypes.sizeof(argument)))
    return s


API = layout(ctypes.c_ulong)
