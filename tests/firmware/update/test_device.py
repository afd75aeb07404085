"""The device's side of updates: uploads go on after power cuts, and the clients smpclient and smpmgr drive it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from arenite.host.update.device_info import read_device, read_slots
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.image_file import read_image
from arenite.host.update.push import push
from arenite.host.update.smp_message import GROUP_ARENITE, GROUP_IMAGE, GROUP_STATISTICS, READ, WRITE
from arenite.host.update.upload import Upload
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL
from tests.firmware.update.smp_device import run_smpmgr
from tests.firmware.update.update_board import (
    ABI,
    Board,
    BoardLine,
    DeviceProcess,
    Memory,
    PowerCutError,
    make_firmware,
    make_model,
)

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
#: Memories with small pages, so that an image has many of them. The state needs two records in a page.
MEMORIES = (
    Memory("pages of 128 bytes", 128, 4),
    Memory("units with check bits", 256, 8, True),
    Memory("large units", 512, 32, True),
)
NEW = make_model("2.0.0", 1, 1300) if HAS_IMGTOOL else b""


def link_of(board: Board, use_code: bool | None = True) -> DeviceLink:
    line = BoardLine(board)
    return DeviceLink(line.open, use_code, clock=line.clock, wait=lambda seconds: None)


def small_board(memory: Memory) -> Board:
    return Board(
        memory,
        make_firmware(payload_bytes=200),
        make_model(payload_bytes=200),
        firmware_pages=-(-1024 // memory.page_bytes),
        model_pages=-(-3072 // memory.page_bytes),
    )


def statistics(link: DeviceLink) -> dict[str, int]:
    fields: dict[str, int] = link.request(READ, GROUP_STATISTICS, 0, {"name": "update"}).body["fields"]
    return fields


def restart(board: Board, cut_after: int = 0) -> None:
    """Turn the power on until the boot loader was not cut."""
    while board.start(cut_after) < 1:
        cut_after = 0


def upload_with_cuts(memory: Memory, first: int, second: int) -> tuple[bool, int]:
    """Upload with a power cut in operation ``first``, and one in operation ``second`` after the next start. Return
    whether the first one happened, and the bytes that the device had in the last upload."""
    board = small_board(memory)
    board.start(first)
    has_cut = False
    cuts = iter((second, 0, 0))
    while True:
        try:
            report = Upload(link_of(board), NEW, 1).run()
            break
        except PowerCutError:
            has_cut = True
            restart(board, next(cuts))
    assert board.violation is None
    assert board.slot(1, 1)[: len(NEW)] == NEW
    board.close()
    return has_cut, report.resumed_at


def count_operations(memory: Memory) -> int:
    board = small_board(memory)
    board.start()
    Upload(link_of(board), NEW, 1).run()
    count = board.operations
    board.close()
    return count


@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
def test_uploads_go_on_after_a_power_cut(memory: Memory) -> None:
    operations = count_operations(memory)
    resumed = [upload_with_cuts(memory, first, 0) for first in range(1, operations + 1, 1 + operations // 16)]
    assert all(has_cut for has_cut, _ in resumed)
    assert max(at for _, at in resumed) > len(NEW) - 2 * memory.page_bytes - 1
    assert resumed[0] == (True, 0)


@pytest.mark.slow
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.name)
def test_uploads_go_on_after_every_cut_and_a_second_one(memory: Memory) -> None:
    operations = count_operations(memory)
    for first in range(1, operations + 1):
        assert upload_with_cuts(memory, first, 0)[0]
        if first % 2:
            upload_with_cuts(memory, first, 1 + first * 7 % 61)


def push_with_cuts(board: Board, paths: list[Path], cut_after: int) -> None:
    images = [read_image(path) for path in paths]
    restart(board, cut_after)
    while True:
        try:
            result = push(link_of(board), images)
            break
        except PowerCutError:
            restart(board)
    assert result.outcome in ("confirmed", "current"), result
    assert board.violation is None
    for image in images:
        assert board.slot(image.pair, 0)[: len(image.data)] == image.data


@pytest.mark.parametrize("step", [97, pytest.param(13, marks=pytest.mark.slow)])
def test_a_push_ends_well_after_a_power_cut_anywhere(step: int, tmp_path: Path) -> None:
    """Upload, mark, check, exchange and confirmation: the same command brings the device to the new images."""
    other = bytes(32)
    paths = [tmp_path / "firmware.bin", tmp_path / "model.bin"]
    paths[0].write_bytes(make_firmware("2.0.0", 2, 250, other))
    paths[1].write_bytes(make_model("2.0.0", 2, 250, other))
    memory = MEMORIES[1]
    board = small_board(memory)
    push_with_cuts(board, paths, 0)
    board.close()
    for first in range(1, 1000, step):
        board = small_board(memory)
        push_with_cuts(board, paths, first)
        board.close()


def test_a_file_that_the_slot_names_but_does_not_have_is_sent_again(tmp_path: Path) -> None:
    """After a return, the slot has the image that failed. After another exchange, the file that it names is gone."""
    board = small_board(MEMORIES[0])
    paths = [tmp_path / name for name in ("2.bin", "3.bin")]
    for path, version in zip(paths, ("2.0.0", "3.0.0"), strict=True):
        path.write_bytes(make_model(version, 1, 1300))
    for number in (0, 1, 0, 1, 1):
        board.start()
        result = push(link_of(board), [read_image(paths[number])])
        assert result.outcome in ("confirmed", "current")
        assert board.slot(1, 0)[: len(paths[number].read_bytes())] == paths[number].read_bytes()
    board.close()


def test_a_device_without_the_agent_of_a_fleet_says_so() -> None:
    board = small_board(MEMORIES[0])
    board.start()
    link = link_of(board)
    for operation, command in ((READ, 1), (READ, 2), (WRITE, 3), (WRITE, 0)):
        assert link.request(operation, GROUP_ARENITE, command, {"id": 0, "seq": 1}).error == 8
    assert read_device(link).board
    board.close()


def test_images_that_do_not_belong_together_are_not_tried() -> None:
    board = small_board(MEMORIES[1])
    link = link_of(board)
    read_device(link)
    Upload(link, make_model("5.0.0", 1, 200, bytes(32)), 1).run()
    (other,) = [slot for slot in read_slots(link) if slot.slot == 1]
    denied = link.request(WRITE, GROUP_IMAGE, 0, {"hash": other.hash})
    assert denied.error == 33
    Upload(link, make_firmware("5.0.0", 1, 200, bytes(32)), 0).run()
    marked = link.request(WRITE, GROUP_IMAGE, 0, {"hash": other.hash})
    assert [image.get("pending") for image in marked.body["images"]] == [None, True, None, True]
    assert read_device(link).phase == "requested"
    # An upload withdraws the request.
    Upload(link, NEW, 1).run()
    assert read_device(link).phase == "steady"
    for slot, error in ((0, 14), (2, 14), (4, 14), (3, 0), (1, 0)):
        assert link.request(WRITE, GROUP_IMAGE, 5, {"slot": slot}, is_slow=True).error == error
    assert [slot.slot for slot in read_slots(link)] == [0, 0]
    assert set(board.slot(1, 1)) == {0xFF}
    board.close()


def test_limits_are_errors() -> None:
    board = small_board(MEMORIES[1])
    link = link_of(board)
    for body, error in (
        ({"off": 0, "data": b"x", "len": 1 << 20, "image": 1}, 30),
        ({"off": 0, "data": b"x", "len": 10, "image": 2}, 9),
        ({"off": 0, "data": b"x", "len": 10, "image": 1, "upgrade": True}, 8),
        ({"off": 0, "data": b"x", "len": 0, "image": 1}, 3),
    ):
        assert link.request(WRITE, GROUP_IMAGE, 1, body).error == error
    assert link.request(READ, 64, 1).error == 8 and link.request(READ, 65, 0).error == 8
    assert link.request(WRITE, GROUP_IMAGE, 0, {"hash": bytes(32)}).error == 3
    board.close()


def test_smpclient_drives_the_device(tmp_path: Path) -> None:
    smpclient = pytest.importorskip("smpclient", reason="smpclient is not installed (pip install smpmgr)")
    from smpclient.generics import success
    from smpclient.requests.image_management import ImageStatesRead, ImageStatesWrite
    from smpclient.requests.os_management import ResetWrite
    from smpclient.transport.serial import SMPSerialTransport

    image = make_model("2.0.0", 1, 20_000)
    digest = read_image_bytes(image, tmp_path)

    async def run(port: str) -> None:
        async with smpclient.SMPClient(SMPSerialTransport(), port, 20) as client:

            async def answer(request: Any) -> Any:
                response = await client.request(request)
                assert success(response), response
                return response

            offsets = [offset async for offset in client.upload(image, slot=1)]
            assert offsets[-1] == len(image)
            states = await answer(ImageStatesWrite(hash=digest))
            assert [(s.image, s.slot, s.version, s.pending) for s in states.images] == [
                (None, 0, "1.0.0", None),
                (1, 0, "1.0.0", None),
                (1, 1, "2.0.0", True),
            ]
            await answer(ResetWrite())
            states = await answer(ImageStatesRead())
            assert [(s.image, s.slot, s.version) for s in states.images] == [
                (None, 0, "1.0.0"),
                (1, 0, "2.0.0"),
                (1, 1, "1.0.0"),
            ]

    with DeviceProcess(tmp_path) as device:
        asyncio.run(asyncio.wait_for(run(device.port), 60))


def read_image_bytes(image: bytes, folder: Path) -> bytes:
    (folder / "image.bin").write_bytes(image)
    return read_image(folder / "image.bin").hash


@pytest.mark.slow
def test_smpmgr_drives_the_device(tmp_path: Path) -> None:
    pytest.importorskip("smpmgr", reason="smpmgr is not installed (pip install smpmgr)")
    path = tmp_path / "new.bin"
    path.write_bytes(make_firmware("2.0.0", 1, 9000, ABI))
    digest = read_image(path).hash.hex()
    with DeviceProcess(tmp_path) as device:
        run_smpmgr(device.port, "image", "upload", str(path))
        run_smpmgr(device.port, "image", "state-write", digest)
        assert "pending=True" in run_smpmgr(device.port, "image", "state-read")
        run_smpmgr(device.port, "os", "reset")
        states = run_smpmgr(device.port, "image", "state-read")
        assert re.findall(r"version='([\d.]+)'", states) == ["2.0.0", "1.0.0", "1.0.0"]
        run_smpmgr(device.port, "image", "state-write", "--confirm")
        run_smpmgr(device.port, "image", "erase", "1")
        states = run_smpmgr(device.port, "image", "state-read")
        assert re.findall(r"version='([\d.]+)'", states) == ["2.0.0", "1.0.0"]
        assert "'resumed': 0" in run_smpmgr(device.port, "statistics", "get", "update")
