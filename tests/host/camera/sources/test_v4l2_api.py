"""The structs against the kernel's own header, compiled for 64 and for 32 bits."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from arenite.host.camera.sources.v4l2_api import API, PIXELS, fourcc, fourcc_name, layout

HEADER = Path("/usr/include/linux/videodev2.h")
#: Our names and the kernel's.
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
#: Names that hold a union in the kernel where ours has it under another name, or none.
OTHER_NAMES = {"is": "discrete", "fmt": "fmt", "bt": "bt"}
FOURCC = {
    "YUYV": "YUYV", "UYVY": "UYVY", "NV12": "NV12", "NM12": "NV12M", "NV21": "NV21", "NM21": "NV21M",
    "YU12": "YUV420", "YM12": "YUV420M", "YV12": "YVU420", "YM21": "YVU420M", "GREY": "GREY", "RGB3": "RGB24",
    "BGR3": "BGR24", "AB24": "RGBA32", "XB24": "RGBX32", "AR24": "ABGR32", "XR24": "XBGR32", "RGBP": "RGB565",
    "MJPG": "MJPEG", "JPEG": "JPEG",
}  # fmt: skip


def statements(api: SimpleNamespace, without: frozenset[str] = frozenset()) -> list[str]:
    """What must be true of the header, as C."""
    told = []
    for ours, theirs in STRUCTS.items():
        if ours in without:
            continue
        struct = getattr(api, ours)
        told.append(f"sizeof(struct {theirs}) == {ctypes.sizeof(struct)}")
        for name, *_ in struct._fields_:
            member = OTHER_NAMES.get(name, name)
            told.append(f"offsetof(struct {theirs}, {member}) == {getattr(struct, name).offset}")
    for name, (_, _, argument) in api.requests.items():
        if argument.__name__ not in without:
            told.append(f"VIDIOC_{name} == {getattr(api, name)}u")
    return told


def compiled(told: list[str], folder: Path, bits: int) -> subprocess.CompletedProcess[str]:
    lines = [f'_Static_assert({each}, "{each}");' for each in told]
    source = folder / "check.c"
    source.write_text("#include <stddef.h>\n#include <linux/videodev2.h>\n" + "\n".join(lines), "utf-8")
    # The C library's header for time is that of 64 bits alone, and all the kernel's header wants of it are these two.
    (folder / "sys").mkdir(exist_ok=True)
    (folder / "sys/time.h").write_text(
        "struct timeval { long tv_sec, tv_usec; };\nstruct timespec { long tv_sec, tv_nsec; };\n", "utf-8"
    )
    # Debian keeps asm/ in a folder per machine, which is not searched for another width; its files are of both.
    machine = subprocess.run(["gcc", "-print-multiarch"], capture_output=True, text=True).stdout.strip()
    return subprocess.run(
        ["gcc", f"-m{bits}", "-fsyntax-only", "-std=gnu11", "-I", str(folder), "-idirafter",
         f"/usr/include/{machine}", str(source)],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip


@pytest.fixture
def compiler() -> None:
    if shutil.which("gcc") is None or not HEADER.exists():
        pytest.skip("needs gcc and linux/videodev2.h")


@pytest.mark.usefixtures("compiler")
def test_this_processs_layout_is_the_kernels(tmp_path: Path) -> None:
    told = statements(API)
    assert len(told) > 140
    done = compiled(told, tmp_path, 8 * ctypes.sizeof(ctypes.c_void_p))
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("compiler")
def test_layout_of_32_bits(tmp_path: Path) -> None:
    """But for the event, which x86 aligns as no Arm does."""
    told = statements(layout(ctypes.c_uint32), frozenset({"Event"}))
    done = compiled(told, tmp_path, 32)
    if "_Static_assert" not in done.stderr and "static assertion" not in done.stderr and done.returncode:
        pytest.skip(f"gcc compiles nothing for 32 bits here: {done.stderr[:200]}")
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("compiler")
def test_a_wrong_layout_is_found_out(tmp_path: Path) -> None:
    done = compiled(statements(layout(ctypes.c_uint32)), tmp_path, 64)
    assert "v4l2_buffer" in done.stderr and done.returncode


@pytest.mark.usefixtures("compiler")
def test_names_of_pixels_are_the_kernels(tmp_path: Path) -> None:
    told = [f"V4L2_PIX_FMT_{theirs} == {fourcc(ours)}u" for ours, theirs in FOURCC.items()]
    done = compiled(told, tmp_path, 64)
    assert done.returncode == 0, done.stderr
    assert {fourcc(name) for name in FOURCC} == set(PIXELS)


def test_fourcc_name_reads_what_fourcc_writes() -> None:
    assert all(fourcc_name(fourcc(name)) == name for name in FOURCC)
    assert re.fullmatch(r"Y16", fourcc_name(fourcc("Y16 ") | 1 << 31))  # big-endian
