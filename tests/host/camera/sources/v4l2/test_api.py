"""Tests that the ctypes structs for V4L2 agree with the kernel's header, compiled for 64 and for 32 bits."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from arenite.host.camera.sources.v4l2.api import API, PIXELS, fourcc, fourcc_name, layout

HEADER = Path("/usr/include/linux/videodev2.h")
#: Arenite's names of the structs and the kernel's names of the same structs.
STRUCTS = {
    "Capability": "v4l2_capability",
    "FmtDesc": "v4l2_fmtdesc",
    "FrmSizeEnum": "v4l2_frmsizeenum",
    "FrmIvalEnum": "v4l2_frmivalenum",
    "Pix": "v4l2_pix_format",
    "PixMplane": "v4l2_pix_format_mplane",
    "Format": "v4l2_format",
    "StreamParm": "v4l2_streamparm",
    "RequestBuffers": "v4l2_requestbuffers",
    "Plane": "v4l2_plane",
    "Buffer": "v4l2_buffer",
    "ExportBuffer": "v4l2_exportbuffer",
    "EventSubscription": "v4l2_event_subscription",
    "Event": "v4l2_event",
    "Control": "v4l2_control",
    "QueryCtrl": "v4l2_queryctrl",
    "DvTimings": "v4l2_dv_timings",
}
#: Members that have another name in the kernel's structs.
OTHER_NAMES = {"is": "discrete", "fmt": "fmt", "bt": "bt"}
#: The codes of pixel formats, and the ends of their names in the kernel (V4L2_PIX_FMT_...).
FOURCC = {
    "YUYV": "YUYV", "UYVY": "UYVY", "NV12": "NV12", "NM12": "NV12M", "NV21": "NV21", "NM21": "NV21M",
    "YU12": "YUV420", "YM12": "YUV420M", "YV12": "YVU420", "YM21": "YVU420M", "GREY": "GREY", "RGB3": "RGB24",
    "BGR3": "BGR24", "AB24": "RGBA32", "XB24": "RGBX32", "AR24": "ABGR32", "XR24": "XBGR32", "RGBP": "RGB565",
    "MJPG": "MJPEG", "JPEG": "JPEG",
}  # fmt: skip


def statements(api: SimpleNamespace, without: frozenset[str] = frozenset()) -> list[str]:
    """Return C expressions about sizes, offsets and request numbers that must be true with the kernel's header.
    ``without`` names structs to leave out."""
    expressions = []
    for ours, theirs in STRUCTS.items():
        if ours in without:
            continue
        struct = getattr(api, ours)
        expressions.append(f"sizeof(struct {theirs}) == {ctypes.sizeof(struct)}")
        for name, *_ in struct._fields_:
            member = OTHER_NAMES.get(name, name)
            expressions.append(f"offsetof(struct {theirs}, {member}) == {getattr(struct, name).offset}")
    for name, (_, _, argument) in api.requests.items():
        if argument.__name__ not in without:
            expressions.append(f"VIDIOC_{name} == {getattr(api, name)}u")
    return expressions


def compiled(expressions: list[str], folder: Path, bits: int) -> subprocess.CompletedProcess[str]:
    """Compile the expressions as static assertions for processes of ``bits`` bits, and return the result of gcc."""
    lines = [f'_Static_assert({expression}, "{expression}");' for expression in expressions]
    source = folder / "check.c"
    source.write_text("#include <stddef.h>\n#include <linux/videodev2.h>\n" + "\n".join(lines), "utf-8")
    # The C library's header sys/time.h exists only for 64 bits. The kernel's header needs only two structs from it,
    # which the file written here declares.
    (folder / "sys").mkdir(exist_ok=True)
    (folder / "sys/time.h").write_text(
        "struct timeval { long tv_sec, tv_usec; };\nstruct timespec { long tv_sec, tv_nsec; };\n", "utf-8"
    )
    # Debian keeps asm/ in a folder per machine that gcc does not search with -m32. Its files are valid for both widths.
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True).stdout.strip()
    return subprocess.run(
        ["gcc", f"-m{bits}", "-fsyntax-only", "-std=gnu11", "-I", str(folder), "-idirafter",
         f"/usr/include/{machine}", str(source)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def compiler() -> None:
    """Skip the test if gcc or the kernel's header is missing."""
    if shutil.which("gcc") is None or not HEADER.exists():
        pytest.skip("needs gcc and linux/videodev2.h")


@pytest.mark.usefixtures("compiler")
def test_the_layout_for_this_process_agrees_with_the_kernel(tmp_path: Path) -> None:
    expressions = statements(API)
    assert len(expressions) > 140
    process = compiled(expressions, tmp_path, 8 * ctypes.sizeof(ctypes.c_void_p))
    assert process.returncode == 0, process.stderr


@pytest.mark.usefixtures("compiler")
def test_the_layout_for_32_bit_processes_agrees_with_the_kernel(tmp_path: Path) -> None:
    """The event struct is left out, because x86 and Arm align it differently."""
    expressions = statements(layout(ctypes.c_uint32), frozenset({"Event"}))
    process = compiled(expressions, tmp_path, 32)
    if (
        "_Static_assert" not in process.stderr
        and "static assertion" not in process.stderr
        and process.returncode
    ):
        pytest.skip(f"gcc cannot compile for 32 bits: {process.stderr[:200]}")
    assert process.returncode == 0, process.stderr


@pytest.mark.usefixtures("compiler")
def test_a_wrong_layout_is_detected(tmp_path: Path) -> None:
    process = compiled(statements(layout(ctypes.c_uint32)), tmp_path, 64)
    assert "v4l2_buffer" in process.stderr and process.returncode


@pytest.mark.usefixtures("compiler")
def test_pixel_formats_agree_with_the_kernel(tmp_path: Path) -> None:
    expressions = [f"V4L2_PIX_FMT_{theirs} == {fourcc(ours)}u" for ours, theirs in FOURCC.items()]
    process = compiled(expressions, tmp_path, 64)
    assert process.returncode == 0, process.stderr
    assert {fourcc(name) for name in FOURCC} == set(PIXELS)


def test_fourcc_name_reads_what_fourcc_writes() -> None:
    assert all(fourcc_name(fourcc(name)) == name for name in FOURCC)
    assert re.fullmatch(r"Y16", fourcc_name(fourcc("Y16 ") | 1 << 31))  # big-endian
