"""Helpers of tests with a real broker."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest

needs_broker = pytest.mark.skipif(
    shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/bin:/usr/local/bin") is None,
    reason="no mosquitto",
)
WAIT_S = 180.0


def until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + WAIT_S
    while not (value := condition()):
        assert time.monotonic() < end, "timeout"
        time.sleep(0.05)
    return value
