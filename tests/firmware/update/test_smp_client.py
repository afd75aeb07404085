"""The clients smpclient and smpmgr of PyPI list, upload, test and confirm images over a serial port."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.firmware.update.smp_device import Cut, Damage, SmpDevice, image_hash, make_image

smpclient = pytest.importorskip("smpclient", reason="smpclient is not installed (pip install smpmgr)")
pytest.importorskip("smpmgr", reason="smpmgr is not installed (pip install smpmgr)")

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
            for request, group_error, general_error in (
                ({"slot": 0}, 14, 3),
                ({"slot": 7}, 14, 3),
            ):
                new = await refusal(client, ImageErase(**request))
                assert new.err.rc == group_error and new.err.group == 1
                old = await refusal(client, ImageErase(**request, version=0))
                assert old.rc == general_error and old.header.version == 0
            unknown = await refusal(client, GroupData(name="no such group"))
            assert (unknown.err.group, unknown.err.rc) == (2, 2)
            missing = await refusal(client, ImageStatesWrite(hash=b"1" * 32))
            assert missing.err.rc == 3
            denied = await refusal(client, ImageStatesWrite(hash=image_hash(OLD)))
            assert denied.err.rc == 33
            large = await refusal(client, ImageUploadWrite(off=0, data=b"1", len=1 << 20))
            assert large.err.rc == 30
            for fields in ({"off": 0, "data": b"1"}, {"off": 0, "data": b"1", "len": 9, "sha": b"short"}):
                invalid = await client.request(ImageUploadWrite(**fields))
                assert invalid.off is None and invalid.rc == 3

    asyncio.run(run())


def test_an_upload_goes_on_where_a_pulled_cable_stopped_it(device: SmpDevice) -> None:
    """The cable is pulled three times in the middle of frames; once, the device loses its power too."""

    async def run() -> list[list[int]]:
        runs = []
        for cut_bytes in (6_000, 9_001, 5_003, 1 << 30):
            device.to_device = Cut(cut_bytes)
            offsets: list[int] = []
            with contextlib.suppress(TimeoutError):
                async with client_of(device, timeout_s=0.5) as client:
                    async for offset in client.upload(NEW, first_timeout_s=10):
                        offsets.append(offset)
            runs.append(offsets)
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
        device.to_device = Cut(9_000)
        with contextlib.suppress(TimeoutError):
            async with client_of(device, timeout_s=0.5) as client:
                await upload(client, NEW)
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


def smpmgr(device: SmpDevice, *arguments: str) -> str:
    """Run smpmgr as a user does. Return what it prints."""
    command = [sys.executable, "-m", "smpmgr", "--port", device.port, "--timeout", "20", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_smpmgr_updates_a_device(device: SmpDevice, tmp_path: Path) -> None:
    path = tmp_path / "new.bin"
    path.write_bytes(NEW)
    assert "hello" in smpmgr(device, "os", "echo", "hello")
    assert "version='1.0.0'" in smpmgr(device, "image", "state-read")
    smpmgr(device, "image", "upload", str(path))
    assert device.slot(1)[: len(NEW)] == NEW
    smpmgr(device, "image", "state-write", image_hash(NEW).hex())
    assert "pending=True" in smpmgr(device, "image", "state-read")
    smpmgr(device, "os", "reset")
    states = smpmgr(device, "image", "state-read")
    assert states.index("1.2.3.4") < states.index("1.0.0") and "pending" not in states.replace(
        "pending=None", ""
    )
    smpmgr(device, "image", "state-write", "--confirm")
    smpmgr(device, "os", "reset")
    assert "version='1.2.3.4'" in smpmgr(device, "image", "state-read").partition("slot=1")[0]
    assert "device" in smpmgr(device, "statistics", "list")
    assert "resets" in smpmgr(device, "statistics", "get", "device")
    smpmgr(device, "image", "erase", "1")
    assert "1.0.0" not in smpmgr(device, "image", "state-read")


@pytest.mark.slow
def test_the_upgrade_of_smpmgr(device: SmpDevice, tmp_path: Path) -> None:
    path = tmp_path / "new.bin"
    path.write_bytes(NEW)
    assert "Upgrade complete" in smpmgr(device, "upgrade", "--confirm", str(path))
    assert "version='1.2.3.4'" in smpmgr(device, "image", "state-read").partition("slot=1")[0]
