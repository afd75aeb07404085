"""The program of `arenite update build --agent` on emulated boards: what it counts is what the reference computes."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arenite.firmware.update.loader import build_loader
from arenite.host.emulator.flash_file import new_flash, start_updatable
from arenite.host.interface.build import fit_boards
from arenite.host.update.agent_cost import EMULATED_FLASH_BYTES, ram_bytes
from arenite.host.update.agent_shape import agent_shape
from arenite.host.update.device_link import DeviceLink
from arenite.host.update.keys import generate_key, read_public_key
from arenite.host.update.smp_message import GROUP_ARENITE, GROUP_OS, READ, WRITE
from arenite.host.update.update_build import UpdateOptions, build_update
from arenite.profiles.boards import load_board
from tests.firmware.agent import sizes
from tests.firmware.agent.device import CLASSES, CONFIDENCE, INPUT, LATENCY
from tests.firmware.agent.expected_observations import SEEDS, expected_observations
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.host.small_graphs import classifier, counter, float_edges, save, two_inputs
from tests.host.update.slot_board import SlotBoard

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(
        shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"
    ),
]
PAGE = Path(__file__).parents[3] / "docs" / "fleet.md"
BOARDS = ("qemu_mps2_an386", "qemu_microbit")
SOFTWARE, UNSUPPORTED = 4, 8


def histogram(link: DeviceLink, number: int) -> list[int]:
    body = link.request(READ, GROUP_ARENITE, 2, {"id": number, "off": 0}).body
    counts = struct.unpack(f"<{len(body['counts']) // 2}H", body["counts"])
    assert len(counts) == body["n"]
    return list(counts)


def state(link: DeviceLink) -> dict[str, Any]:
    return link.request(READ, GROUP_ARENITE, 1).body


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board_name", BOARDS)
def test_an_emulated_device_counts_its_inferences(tmp_path: Path, board_name: str) -> None:
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")
    library_or_skip("ed25519")
    board, key = load_board(board_name), tmp_path / "release.pem"
    generate_key(key)
    model, flash = save(classifier(), tmp_path / "model.tflite"), tmp_path / "flash.bin"
    images = build_update(model, board, UpdateOptions(key, "1.0.0", optimise="flash", agent=True))
    assert images.firmware is not None
    loader = build_loader(board, read_public_key(key), tmp_path / "loader")
    new_flash(board, flash, images.firmware, images.model)
    expected = expected_observations(model)
    with start_updatable(board, loader.elf, flash, icount=False) as emulator:
        transport = emulator.machine.transport
        device = SlotBoard(transport)
        device.read_until("self-test 3 samples passed")
        # Late answers in coded frames would be bytes that are no text.
        link = DeviceLink(lambda: transport, use_code=False)
        first = state(link)
        assert (first["cause"], first["seq"], first["n"]) == (0, 1, 0)  # QEMU has no register for it
        for seed in SEEDS:
            device.send(f"infer {seed}")
            device.read_until("inference ")
        for line in ("infer", "infer ", "infer 4294967296", "infer -1", "infer 1x"):
            device.send(line)
            device.read_until("unknown command: send status, test or infer NUMBER")
        second = state(link)
        assert second["n"] == len(SEEDS) and second["boot"] == first["boot"]
        assert histogram(link, CLASSES) == expected.classes
        assert histogram(link, CONFIDENCE) == expected.confidence
        assert [histogram(link, INPUT), histogram(link, INPUT + 1)] == expected.inputs
        latencies = histogram(link, LATENCY)
        assert sum(latencies) == len(SEEDS) and sum(latencies[:4]) == 0
        for _ in range(2):  # the second one is the repetition of a request whose answer was lost
            assert link.request(WRITE, GROUP_ARENITE, 3, {"seq": 1}).body == {"seq": 2}
        device.send("test")  # not counted
        device.read_until("self-test 3 samples passed")
        assert state(link)["n"] == sum(histogram(link, LATENCY)) == 0
        link.request(WRITE, GROUP_OS, 5)
        device.read_until("self-test 3 samples passed")
        third = state(link)
        assert (third["cause"], third["seq"], third["n"]) == (SOFTWARE, 1, 0)
        assert third["boot"] == (first["boot"] + 1) % 2**32


@pytest.mark.parametrize(
    ("model", "shape"),
    [(classifier, (5, True)), (counter, (4, True)), (two_inputs, (6, True)), (float_edges, (0, False))],
)
def test_the_shape_of_the_agent(model: Callable[[], Any], shape: tuple[int, bool]) -> None:
    found = agent_shape(model())
    assert (found.classes, found.has_input) == shape


@pytest.mark.slow
@pytest.mark.parametrize("board", ["qemu_microbit", "qemu_mps2_an386"])
def test_the_predicted_ram_is_that_of_the_linked_program(tmp_path: Path, board: str) -> None:
    """The prediction is that of `arenite fit --agent`, for the models whose outputs have other forms too."""
    for make in (classifier, float_edges):
        model = save(make(), tmp_path / "model.tflite")
        predicted = fit_boards(model, board, agent=True).agents[board].ram
        assert predicted == sizes.agent_sizes(board, agent_shape(make())).ram
    for shape in sizes.SHAPES:
        assert ram_bytes(shape) == sizes.agent_sizes(board, shape).ram


@pytest.mark.slow
def test_the_sizes_are_those_of_the_page_and_of_the_prediction() -> None:
    version = subprocess.run(
        ["arm-none-eabi-gcc", "-dumpversion"], check=True, capture_output=True, text=True
    ).stdout.strip()
    page = PAGE.read_text("utf-8")
    if f"arm-none-eabi-gcc {version}" not in page:
        pytest.skip(f"the figures are not those of arm-none-eabi-gcc {version}")
    for row in sizes.rows():
        assert row in page, row
    for core, board in sizes.MACHINES.items():
        # The rows have needed the programs of these two cores. Others are built for one kind of agent, to save time.
        indices = range(len(sizes.KINDS)) if core in ("cortex-m0", "cortex-m4f") else [len(sizes.KINDS) - 1]
        for k in indices:
            assert sizes.agent_sizes(board, sizes.KINDS[k]).flash == EMULATED_FLASH_BYTES[core][k], (core, k)
