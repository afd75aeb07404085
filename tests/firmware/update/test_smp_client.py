"""The clients smpclient and smpmgr of PyPI list, upload, test and confirm images over a serial port."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.firmware.update.smp_device import Cut, Damage, SmpDevice, image_hash, make_image, run_smpmgr

smpclient = pytest.importorskip("smpclient", reason="smpclient is not installed (pip install smpmgr)")
pytest.importorskip("smpmgr", reason="smpmgr is not installed (pip install smpmgr)")

from smp.header import Version  # noqa: E402
from smpclient.generics import error, success  # noqa: E402
from smpclient.requests.image_management import (  # noqa: E402
    ImageErase,
    ImageStatesRead,
    ImageStatesWrite,
    ImageUploadWrite,
)
from smpclient.requests.os_management import EchoWrite, ResetWrite  # noqa: E402
from smpclient.requests.statistics_management import GroupData, ListOfGroups  # noqa: E402
from smpclient.transport.serial import BufferParams, SMPSerialTransport  # noqa: E402

PAGE = Path(__file__).parents[3] / "docs" / "update-serial.md"
OLD = make_image((1, 0, 0, 0), 3000, seed=1)
NEW = make_image((1, 2, 3, 4), 20_001, seed=2)


@pytest.fixture(params=[8])
def device(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SmpDevice]:
    with SmpDevice(tmp_path, OLD, request.param) as device:
        yield device


def client_of(device: SmpDevice, line_buffers: int = 0, timeout_s: float = 20) -> Any:
    """Return a client of the device. ``line_buffers``: lines of a message, 0 for what the device's buffer holds."""
    strategy = (BufferParams(128, line_buffers),) if line_buffers else ()
    return smpclient.SMPClient(SMPSerialTransport(*strategy), device.port, timeout_s)


async def upload(client: Any, image: bytes) -> list[int]:
    """Upload as smpclient does. Return the offsets that the device told."""
    return [offset async for offset in client.upload(image)]


async def upload_until_cut(device: SmpDevice, image: bytes, cut: Cut) -> list[int]:
    """Upload through the cable ``cut``, and stop once it has lost a part of a request, which has no answer then.
    Return the offsets that the device told."""
    device.to_device = cut
    offsets: list[int] = []
    async with client_of(device) as client:

        async def send() -> None:
            async for offset in client.upload(image):
                offsets.append(offset)

        sending = asyncio.create_task(send())
        while not sending.done() and not cut.has_lost.is_set():
            await asyncio.sleep(0.01)
        if cut.has_lost.is_set():
            sending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sending
    return offsets


async def answer(client: Any, request: Any) -> Any:
    response = await client.request(request)
    assert success(response), response
    return response


async def refusal(client: Any, request: Any) -> Any:
    response = await client.request(request)
    assert error(response), response
    return response


@pytest.mark.parametrize("device", [1, 4, 8, 16, 32], indirect=True)
def test_upload_test_confirm_and_reset(device: SmpDevice) -> None:
    async def run() -> None:
        async with client_of(device) as client:
            (slot,) = (await answer(client, ImageStatesRead())).images
            assert (slot.slot, slot.version, slot.active, slot.confirmed) == (0, "1.0.0", True, True)
            assert slot.hash == image_hash(OLD)
            offsets = await upload(client, NEW)
            assert offsets == sorted(offsets) and offsets[-1] == len(NEW)
            assert device.slot(1)[: len(NEW)] == NEW and set(device.slot(1)[len(NEW) :]) == {0xFF}
            states = await answer(client, ImageStatesWrite(hash=image_hash(NEW)))
            assert [(s.slot, s.version, s.pending) for s in states.images] == [
                (0, "1.0.0", None),
                (1, "1.2.3.4", True),
            ]
            await answer(client, ResetWrite())
            running, other = (await answer(client, ImageStatesRead())).images
            assert (running.version, running.active, running.confirmed) == ("1.2.3.4", True, None)
            assert other.version == "1.0.0"
            await answer(client, ResetWrite())  # the new image was not confirmed
            assert (await answer(client, ImageStatesRead())).images[0].version == "1.0.0"
            await answer(client, ImageStatesWrite(hash=image_hash(NEW)))
            await answer(client, ResetWrite())
            assert (await answer(client, ImageStatesWrite(confirm=True))).images[0].confirmed
            await answer(client, ResetWrite())
            assert (await answer(client, ImageStatesRead())).images[0].version == "1.2.3.4"
            fields = (await answer(client, GroupData(name="device"))).fields
            assert fields == {"resets": 4, "resumed": 0}

    asyncio.run(run())


def test_echo_erase_and_statistics(device: SmpDevice) -> None:
    async def run() -> None:
        async with client_of(device) as client:
            for text in ("", "a", "ä" * 100, "x" * 470):
                assert (await answer(client, EchoWrite(d=text))).r == text
            await upload(client, NEW)
            await answer(client, ImageErase(slot=1))
            assert len((await answer(client, ImageStatesRead())).images) == 1
            assert (await answer(client, ListOfGroups())).stat_list == ("smp_svr_stats", "device")
            fields = (await answer(client, GroupData(name="smp_svr_stats"))).fields
            assert fields["frames"] > 40 and fields["damaged"] == 0

    asyncio.run(run())


def test_errors_are_told_in_both_versions(device: SmpDevice) -> None:
    async def run() -> None:
        async with client_of(device) as client:
            for slot in (0, 7):
                new = await refusal(client, ImageErase(slot=slot))
                assert (new.err.group, new.err.rc) == (1, 14)
                old = await refusal(client, ImageErase(slot=slot, version=Version.V1))
                assert old.rc == 3 and old.header.version == Version.V1
            unknown = await refusal(client, GroupData(name="no such group"))
            assert (unknown.err.group, unknown.err.rc) == (2, 2)
            old = await refusal(client, GroupData(name="no such group", version=Version.V1))
            assert old.rc == 5
            missing = await refusal(client, ImageStatesWrite(hash=b"1" * 32))
            assert missing.err.rc == 3
            denied = await refusal(client, ImageStatesWrite(hash=image_hash(OLD)))
            assert denied.err.rc == 33
            large = await refusal(client, ImageUploadWrite(off=0, data=b"1", len=1 << 20))
            assert large.err.rc == 30
            for request in (
                ImageUploadWrite(off=0, data=b"1"),
                ImageUploadWrite(off=0, data=b"1", len=9, sha=b"short"),
            ):
                invalid = await client.request(request)
                assert invalid.off is None and invalid.rc == 3

    asyncio.run(run())


def test_an_upload_goes_on_where_a_pulled_cable_stopped_it(device: SmpDevice) -> None:
    """The cable is pulled three times in the middle of frames; once, the device loses its power too."""

    async def run() -> list[list[int]]:
        runs = []
        for cut_bytes in (6_000, 9_001, 5_003, 1 << 30):
            runs.append(await upload_until_cut(device, NEW, Cut(cut_bytes)))
            if len(runs) == 2:
                device.cut_power()
        return runs

    runs = asyncio.run(run())
    assert all(runs) and [r[-1] == len(NEW) for r in runs] == [False, False, False, True]
    for before, after in itertools.pairwise(runs):
        assert after[0] >= before[-1] - 8 > 0, "the upload began again"
    assert device.slot(1)[: len(NEW)] == NEW


def test_another_image_starts_again(device: SmpDevice) -> None:
    other = make_image((2, 0, 0, 0), 18_000, seed=3)

    async def run() -> None:
        assert (await upload_until_cut(device, NEW, Cut(9_000)))[-1] < len(NEW)
        device.to_device = bytes
        async with client_of(device) as client:
            offsets = await upload(client, other)
            assert 0 < offsets[0] < 500
            assert device.slot(1)[: len(other)] == other
            assert await upload(client, other) == [len(other)], "what is there already is not sent again"

    asyncio.run(run())


async def upload_with_repeats(client: Any, image: bytes) -> int:
    """Upload over a bad cable: repeat a request until it is answered. Return the number of requests."""
    first = {"len": len(image), "image": 0, "sha": smpclient.sha256(image).digest()}
    offset, requests = 0, 0
    while offset != len(image):
        fields = first if offset == 0 else {}
        request = ImageUploadWrite(off=offset, data=b"", **fields)
        requests += 1
        assert requests < 100 + len(image), "the upload makes no progress"
        try:
            response = await client.request(client._maximize_upload_packet(request, image), timeout_s=0.1)
            offset = response.off
        except Exception:  # a damaged answer can be anything: wait until the line is silent
            with contextlib.suppress(Exception):
                while True:
                    await asyncio.wait_for(client._transport.receive(), 0.03)
            client._transport._reset_state()
    return requests


@pytest.mark.parametrize(
    ("replaced", "dropped", "repeated"),
    [
        (0.0, 0.0, 0.2),
        pytest.param(0.01, 0.0, 0.0, marks=pytest.mark.slow),
        pytest.param(0.0, 0.005, 0.0, marks=pytest.mark.slow),
        pytest.param(0.004, 0.002, 0.1, marks=pytest.mark.slow),
    ],
)
def test_an_upload_survives_a_bad_cable(
    device: SmpDevice, replaced: float, dropped: float, repeated: float
) -> None:
    image = NEW[:4_001]

    async def run() -> tuple[int, dict[str, int]]:
        client = client_of(device, line_buffers=1)
        await client._transport.connect(device.port, 10)
        device.to_device = Damage(1, replaced, dropped, repeated)
        device.from_device = Damage(2, replaced, dropped, repeated)
        requests = await upload_with_repeats(client, image)
        device.to_device = device.from_device = bytes
        await client.disconnect()
        async with client_of(device) as client:
            assert (await upload(client, image)) == [len(image)]
            return requests, (await answer(client, GroupData(name="smp_svr_stats"))).fields

    requests, fields = asyncio.run(run())
    assert device.slot(1)[: len(image)] == image
    print(f"{requests} requests, {fields}")
    if replaced or dropped:
        assert fields["damaged"] > 0


def test_lines_of_text_and_frames_do_not_disturb_each_other(device: SmpDevice) -> None:
    """Lines are sent between the frames, while the device prints lines of its own."""

    async def run() -> str:
        async with client_of(device) as client:
            for i in range(200):
                client._transport._conn.write(f"line {i}\n".encode())
                text = f"echo {i}"
                assert (await answer(client, EchoWrite(d=text))).r == text
            received = b""
            while b"line 199\n" not in received:
                received += await client._transport.read_serial()
                await asyncio.sleep(0.005)
            return received.decode("ascii")

    lines = asyncio.run(asyncio.wait_for(run(), 60)).splitlines()
    assert {line for line in lines if line != "tick"} == {f"text: line {i}" for i in range(200)}
    assert [line for line in lines if line != "tick"] == [f"text: line {i}" for i in range(200)]


@pytest.mark.slow
def test_the_documented_commands_of_smpmgr(device: SmpDevice, tmp_path: Path) -> None:
    """Every command of the page works as written, one after the other."""
    path = tmp_path / "new.bin"
    path.write_bytes(NEW)
    commands = re.findall(r"^ {4}smpmgr --port PORT (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(commands) >= 10
    outputs: dict[str, str] = {}
    for command in commands:
        # The device of this test has other statistics than the firmware of the page.
        command = command.replace("statistics get update", "statistics get device")
        words = command.replace("HASH", image_hash(NEW).hex()).replace("new.bin", str(path)).split()
        outputs[command] = run_smpmgr(device.port, *words)
        if "new.bin" in command:
            assert device.slot(1)[: len(NEW)] == NEW
        if command == "image state-write HASH":
            assert "pending=True" in run_smpmgr(device.port, "image", "state-read")
    assert "hello" in outputs["os echo hello"]
    assert "version='1.0.0'" in outputs["image state-read"]
    assert "Upgrade complete" in outputs["upgrade --confirm new.bin"]
    assert "device" in outputs["statistics list"]
    assert "'resets': 2" in outputs["statistics get device"]
    states = run_smpmgr(device.port, "image", "state-read")
    assert "version='1.2.3.4'" in states and "confirmed=True" in states and "slot=1" not in states
