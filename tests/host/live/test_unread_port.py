"""Nobody reads the messages of an application for 20 minutes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.emulated_run import SENSOR_FILE
from arenite.host.app.generate import generate_app
from arenite.host.app.sensor_file import sensor_bytes
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.host.live.message_decoder import MessageDecoder
from arenite.host.live.messages import Health, Hello, Message, MissingFrames, Samples, Text
from arenite.profiles.boards import load_board
from tests.host.app.file_position import wait_until_read
from tests.host.app.motion_models import RATE, motion_model, motions

pytestmark = [pytest.mark.slow, pytest.mark.qemu]
SECONDS = 1200


def test_nobody_reads_the_messages_for_20_minutes(tmp_path: Path) -> None:
    """The emulator's output is not read for 20 minutes of virtual time. The application drops messages and counts them,
    misses no window, and answers afterwards."""
    board = load_board("qemu_mps2_an386")
    application = generate_app(motion_model(tmp_path / "m.tflite"), board, tmp_path / "app", sensor="imu")
    minute = motions(60)
    data = sensor_bytes(np.tile(minute, (SECONDS // 60, 1)), rate=RATE)
    (tmp_path / SENSOR_FILE).write_bytes(data)
    decoder = MessageDecoder()
    messages: list[Message] = []
    with start(board, direct_build(application.directory), skip_sleep=True, folder=tmp_path) as machine:
        machine.transport.write(b"\nbinary samples\n")
        assert wait_until_read(machine.process.pid, SENSOR_FILE, len(data))
        machine.transport.write(b"status\n")
        end = time.monotonic() + 120
        while not _is_complete(messages) and time.monotonic() < end:
            messages += decoder.feed(machine.transport.read(1.0))
    assert any(isinstance(message, Hello) for message in messages)
    last = max(k for k, message in enumerate(messages) if isinstance(message, Health))
    health = messages[last]
    assert isinstance(health, Health)
    settings = application.settings
    assert health.samples == SECONDS * RATE
    assert health.windows == (health.samples - settings.window) // settings.hop + 1
    assert (health.late, health.lost, health.stuck, health.gated) == (0, 0, 0, 0)
    # Samples were dropped, and every dropped message is missing in the numbers of those that arrived, of 16 bits.
    received = sum(len(message.values) for message in messages if isinstance(message, Samples))
    assert received < health.samples / 2
    missing = sum(message.count for message in messages[:last] if isinstance(message, MissingFrames))
    assert health.dropped_frames > 100_000 and (health.dropped_frames - missing) % 65536 == 0


def _is_complete(messages: list[Message]) -> bool:
    """Return whether the answer to `status` and the health after the 20 minutes have arrived."""
    has_answer = any(isinstance(m, Text) and m.line.startswith(f"{SECONDS * RATE} samples") for m in messages)
    health = [message for message in messages if isinstance(message, Health)]
    return has_answer and health[-1].samples == SECONDS * RATE
