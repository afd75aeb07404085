"""Tests of copying to the drive of a DAPLink probe: accepted and rejected images, and drives of other boards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.flash.flash import flash, upload_commands
from arenite.host.flash.uploaders import copy
from arenite.profiles.boards import load_board
from tests.host.flash.projects import built

MICROBIT = load_board("bbcmicrobit_v2")


@contextmanager
def probe(
    root: Path, unique_id: str, *, label: str = "MICROBIT", rejects: str = "", deaf: bool = False
) -> Iterator[list[bytes]]:
    """Simulate a DAPLink drive; yield a list of the images that the probe wrote to its chip. The probe deletes an image
    after reading it. ``rejects`` is the reason with which the probe refuses each image; "": it accepts them. With
    ``deaf``, the probe never reads an image."""
    drive = root / "media" / label
    drive.mkdir(parents=True)
    (root / "proc").mkdir(exist_ok=True)
    with (root / "proc/mounts").open("a") as mounts:
        mounts.write(f"/dev/sdc /media/{label} vfat rw 0 0\n")
    (drive / "DETAILS.TXT").write_bytes(f"# DAPLink Firmware\r\nUnique ID: {unique_id}\r\n".encode())
    written: list[bytes] = []
    stop = threading.Event()

    def serve() -> None:
        image = drive / "ARENITE.BIN"
        size = -1
        while not stop.wait(0.02):
            if deaf or not image.is_file():
                continue
            if image.stat().st_size != size or not size:  # still growing
                size = image.stat().st_size
                continue
            data = image.read_bytes()
            failed = drive / "FAIL.TXT"
            failed.unlink(missing_ok=True)
            if rejects:
                failed.write_text(f"error: {rejects}\r\ntype: target\r\n")
            else:
                written.append(data)
            image.unlink()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield written
    finally:
        stop.set()
        thread.join()


def test_the_image_is_written_to_the_drive_of_the_right_board(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", MICROBIT.name, [(0, b"vectors!" * 20), (0x200, b"code")])
    root = tmp_path / "root"
    with (
        probe(root, "9904360254534e45") as written,
        probe(root, "9901000051114e45", label="OLD") as other_images,
    ):
        upload = flash(directory, MICROBIT, tool="copy", check=False, root=root)
        assert written == [b"vectors!" * 20 + b"\xff" * (0x200 - 160) + b"code"] and not other_images
    assert (upload.tool, upload.nbytes) == ("copy", 164)


def test_a_rejected_image_raises_an_error_with_the_reason(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", MICROBIT.name)
    root = tmp_path / "root"
    with (
        probe(root, "9904", rejects="The hex file cannot be decoded."),
        pytest.raises(DeviceError, match="refused the program: error: The hex file cannot"),
    ):
        flash(directory, MICROBIT, tool="copy", root=root)


def test_an_older_failure_file_is_ignored(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", MICROBIT.name)
    root = tmp_path / "root"
    with probe(root, "9904") as written:
        (root / "media/MICROBIT/FAIL.TXT").write_text("error: of yesterday\r\n")
        flash(directory, MICROBIT, tool="copy", check=False, root=root)
        assert written


def test_a_drive_that_does_not_react_raises_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copy, "DRIVE_TIMEOUT_S", 0.3)
    directory = built(tmp_path / "p", MICROBIT.name)
    root = tmp_path / "root"
    with probe(root, "9904", deaf=True), pytest.raises(DeviceError, match="did not come back"):
        flash(directory, MICROBIT, tool="copy", root=root)


def test_a_drive_of_another_board_raises_an_error(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", MICROBIT.name)
    root = tmp_path / "root"
    with (
        probe(root, "0240000032044e45", label="K64F") as written,
        pytest.raises(
            DeviceError, match=r"No DAPLink drive of bbcmicrobit_v2 .*K64F belongs to another board"
        ),
    ):
        flash(directory, MICROBIT, tool="copy", root=root)
    assert not written


def test_several_drives_of_the_same_board_raise_an_error(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", MICROBIT.name)
    root = tmp_path / "root"
    with (
        probe(root, "99040001", label="A") as first_images,
        probe(root, "99040002", label="B") as second_images,
    ):
        with pytest.raises(UsageError, match="Several DAPLink drives"):
            flash(directory, MICROBIT, tool="copy", root=root)
        flash(directory, MICROBIT, str(root / "media/B"), tool="copy", check=False, root=root)
        assert second_images and not first_images


def test_a_program_that_does_not_begin_at_the_start_of_flash_raises_an_error(tmp_path: Path) -> None:
    directory = built(tmp_path / "p", MICROBIT.name, [(0x1C000, b"after a SoftDevice!")])
    with pytest.raises(UsageError, match="writes a raw image to the beginning"):
        flash(directory, MICROBIT, tool="copy", root=tmp_path)
    assert "DETAILS.TXT" in upload_commands(directory, MICROBIT, tool="copy", root=tmp_path)[0]
