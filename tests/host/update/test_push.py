"""The host brings images to a device, and tells what became of them. The device is its real C code (update_board)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arenite.errors import DeviceError, UsageError
from arenite.host.link.transport import PortFullError, PortGoneError
from arenite.host.update.device_info import read_device, read_slots
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.image_file import ImageFile, read_image
from arenite.host.update.keys import key_hash, read_public_key
from arenite.host.update.push import PushResult, UpdateRefusedError, push, roll_back
from arenite.host.update.smp_message import Answer
from arenite.host.update.upload import Upload
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, keys
from tests.firmware.update.update_board import (
    ABI,
    NRF52,
    BadLine,
    Board,
    BoardLine,
    make_firmware,
    make_model,
)

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL)
OTHER_ABI = bytes(32)
Save = Callable[[bytes], ImageFile]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def write(data: bytes) -> ImageFile:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.bin"
        path.write_bytes(data)
        return read_image(path)

    return write


@pytest.fixture
def board() -> Iterator[Board]:
    board = Board()
    yield board
    assert board.violation is None
    board.close()


def link_of(board: Board, use_code: bool | None = None, share: float = 0.0) -> DeviceLink:
    line = BoardLine(board)
    line.to_device, line.from_device = BadLine(1, share), BadLine(2, share)
    return DeviceLink(line.open, use_code, clock=line.clock, wait=lambda seconds: None)


def versions(result: PushResult) -> list[tuple[str, int, str]]:
    return [(slot.kind, slot.slot, slot.version) for slot in result.slots]


@pytest.mark.parametrize(
    ("use_code", "share"), [(None, 0.0), (True, 0.0), (False, 0.0), (None, 0.01), (True, 0.01)]
)
def test_a_model_is_pushed_confirmed_and_rolled_back(
    board: Board, save: Save, use_code: bool | None, share: float
) -> None:
    link = link_of(board, use_code, share)
    sent: list[tuple[str, int, int]] = []
    new = save(make_model("2.0.0"))
    result = push(link, [new], lambda *progress: sent.append(progress))
    assert (result.outcome, result.reason, result.is_good) == ("confirmed", "", True)
    assert versions(result) == [("firmware", 0, "1.0.0"), ("model", 0, "2.0.0"), ("model", 1, "1.0.0")]
    assert board.slot(1, 0)[: len(new.data)] == new.data
    assert ("sending the model", len(new.data), len(new.data)) in sent
    assert result.uploads["model"].resumed_at == 0
    assert result.is_coded == (use_code is True or share > 0)
    again = push(link, [new])
    assert (again.outcome, again.is_good, again.uploads) == ("current", True, {})
    back = roll_back(link)
    assert back.is_good
    assert versions(back) == [("firmware", 0, "1.0.0"), ("model", 0, "1.0.0"), ("model", 1, "2.0.0")]
    assert board.resets == 2


def test_firmware_and_model_change_together(board: Board, save: Save) -> None:
    link = link_of(board)
    images = [save(make_firmware("2.0.0", abi=OTHER_ABI)), save(make_model("2.0.0", abi=OTHER_ABI))]
    result = push(link, images)
    assert result.is_good and set(result.uploads) == {"firmware", "model"} and board.resets == 1
    assert [version for _, slot, version in versions(result) if slot == 0] == ["2.0.0", "2.0.0"]
    back = roll_back(link)
    assert back.is_good and board.resets == 2
    assert [version for _, slot, version in versions(back) if slot == 0] == ["1.0.0", "1.0.0"]
    # Only the firmware is missing now.
    again = push(link, [save(make_firmware("1.0.0")), save(make_model("3.0.0"))])
    assert again.is_good and set(again.uploads) == {"model"}


def test_what_a_device_would_refuse_is_not_sent(board: Board, save: Save) -> None:
    link = link_of(board)
    assert push(link, [save(make_model("2.0.0", counter=5))]).is_good
    resets = board.resets
    for images, words in (
        ([make_model("3.0.0", 5, board="nrf52840_dk")], "made for the board nrf52840_dk"),
        ([make_model("3.0.0", 4)], "security counter 4, and the device requires 5"),
        ([make_model("3.0.0", 5, abi=OTHER_ABI)], "for another graph, arena or kernels"),
        ([make_firmware("3.0.0", 5, abi=OTHER_ABI)], "for another graph, arena or kernels"),
        ([make_firmware("3.0.0", 5), make_model("3.0.0", 5, abi=OTHER_ABI)], "belong to different graphs"),
        ([make_firmware("3.0.0", 5, 40_000)], "slot has 32,768"),
    ):
        with pytest.raises(UpdateRefusedError, match=words) as refusal:
            push(link, [save(image) for image in images])
        assert refusal.value.exit_code == 1 and refusal.value.hint
    with pytest.raises(UsageError, match="Both images are a model"):
        push(link, [save(make_model("3.0.0", 5)), save(make_model("4.0.0", 5))])
    assert board.resets == resets
    assert [slot.version for slot in read_slots(link)] == ["1.0.0", "2.0.0", "1.0.0"]


@pytest.mark.parametrize("make", [make_firmware, make_model])
def test_an_image_with_another_key_is_not_sent(board: Board, save: Save, make: Callable[..., bytes]) -> None:
    link = link_of(board)
    own, other = (key_hash(read_public_key(path)).hex()[:16] for path in keys())
    assert push(link, [save(make("2.0.0"))]).is_good
    contents = [board.slot(pair, 1) for pair in range(2)]
    words = f"signed with the key {other}, and the device trusts only the key {own}"
    with pytest.raises(UpdateRefusedError, match=words) as refusal:
        push(link, [save(make("3.0.0", foreign=True))])
    assert "update verify" in refusal.value.hint
    assert [board.slot(pair, 1) for pair in range(2)] == contents
    # What the last update replaced is still there.
    assert roll_back(link).is_good


def test_a_device_that_does_not_tell_its_key_decides_itself(
    board: Board, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So do devices whose firmware is older."""
    link = link_of(board)
    request = link.request

    def without_key(*arguments: Any, **options: Any) -> Answer:
        answer = request(*arguments, **options)
        return replace(answer, body={name: value for name, value in answer.body.items() if name != "key"})

    monkeypatch.setattr(link, "request", without_key)
    result = push(link, [save(make_model("2.0.0", foreign=True))])
    assert (result.outcome, result.reason_number) == ("refused", 25)
    assert result.reason == "The image was signed with another key."


def test_the_device_tells_the_key_that_it_trusts(board: Board, save: Save) -> None:
    expected = key_hash(read_public_key(keys()[0]))
    assert read_device(link_of(board)).key_hash == expected == save(make_model()).key_hash


def test_a_refusal_of_the_device_is_told_in_words(board: Board, save: Save) -> None:
    link = link_of(board)
    firmware = make_firmware("2.0.0")
    result = push(link, [save(firmware[:-1] + bytes([firmware[-1] ^ 1]))])
    assert (result.outcome, result.reason_number, result.is_good) == ("refused", 27, False)
    assert result.reason == "The signature is not valid."
    assert [version for _, slot, version in versions(result) if slot == 0] == ["1.0.0", "1.0.0"]
    with pytest.raises(UpdateRefusedError, match="no confirmed update"):
        roll_back(link)


def test_a_failed_self_test_returns_to_the_old_images(board: Board, save: Save) -> None:
    link = link_of(board)
    result = push(link, [save(make_model("2.0.0", first=b"R"))])
    assert (result.outcome, result.reason_number) == ("returned", 200)
    assert "failed their self-test with reason 200" in result.reason
    assert versions(result) == [("firmware", 0, "1.0.0"), ("model", 0, "1.0.0"), ("model", 1, "2.0.0")]


def test_a_rollback_below_the_counter_is_refused_by_the_device(board: Board, save: Save) -> None:
    link = link_of(board)
    assert push(link, [save(make_model("2.0.0", counter=9))]).is_good
    result = roll_back(link)
    assert (result.outcome, result.reason_number) == ("refused", 24)
    assert "lower than the one" in result.reason


def test_an_upload_that_was_stopped_goes_on_after_a_reset(save: Save) -> None:
    board = Board(NRF52)
    image = save(make_model("2.0.0", payload_bytes=30_000))
    line = BoardLine(board)
    link = DeviceLink(line.open, True, clock=line.clock, wait=lambda seconds: None)

    class StoppedError(Exception):
        pass

    def stop(what: str, done: int, total: int) -> None:
        if done > 20_000:
            raise StoppedError

    with pytest.raises(StoppedError):
        push(link, [image], stop)
    board.start()  # the power was off
    result = push(link_of(board, True), [image])
    assert result.is_good and result.uploads["model"].resumed_at == 16_384
    board.close()


def test_a_port_that_does_not_return_and_a_silent_device_are_errors(board: Board) -> None:
    class Gone(BoardLine):
        def open(self) -> Gone:
            raise PortGoneError("The port is gone.", "Connect it.")

    line = Gone(board, [0.01])

    def pass_time(seconds: float) -> None:
        board.receive(round(seconds * 11_520))

    opens = iter((line,))
    link = DeviceLink(lambda: next(opens, None) or line.open(), None, clock=line.clock, wait=pass_time)
    with pytest.raises(DeviceError, match="port is gone"):
        read_device(link)

    mute = BoardLine(board)
    mute.to_device = lambda data: b""
    link = DeviceLink(mute.open, None, clock=mute.clock, wait=lambda seconds: None)
    with pytest.raises(DeviceError, match="did not answer"):
        read_device(link)


def test_a_model_in_the_slot_of_the_firmware_is_not_tried(board: Board, save: Save) -> None:
    """Another client can upload a file to any slot."""
    link, new = link_of(board), save(make_model("2.0.0"))
    Upload(link, new.data, 0).run()
    result = push(link, [new])
    assert result.outcome == "confirmed"
    assert ("model", 0, "2.0.0") in versions(result)


def test_a_port_that_is_full_for_a_while_does_not_end_an_upload(
    board: Board, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, new = link_of(board), save(make_model("2.0.0"))
    send, calls = link.send, iter(range(1000))

    def full_port(*arguments: Any, **options: Any) -> int:
        if next(calls) % 5 == 3:
            raise PortFullError("The device does not accept more bytes.")
        return send(*arguments, **options)

    monkeypatch.setattr(link, "send", full_port)
    result = push(link, [new])
    assert result.outcome == "confirmed"
    assert result.uploads["model"].losses > 0


def test_files_that_are_no_images_are_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    whole = make_model("2.0.0")
    for data, words in (
        (b"", "is empty"),
        (whole[:20], "is cut off: it has 20 bytes"),
        (b"text" * 100, "not an update image"),
        (whole[:100], "it has no board"),
        (whole[: len(whole) - 110], "SHA-256 hash"),
        (whole[:99] + bytes([whole[99] ^ 1]) + whole[100:], "is damaged"),
    ):
        path.write_bytes(data)
        with pytest.raises(UsageError, match=words):
            read_image(path)
    path.write_bytes(whole)
    image = read_image(path)
    assert (image.kind, image.version, image.counter, image.abi) == ("model", "2.0.0", 1, ABI)
