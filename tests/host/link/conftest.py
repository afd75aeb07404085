"""Firmware for the tests of the link."""

from __future__ import annotations

import pytest

from tests.session_builds import ToyFirmware


@pytest.fixture(scope="session")
def firmware(toy_firmware: ToyFirmware) -> ToyFirmware:
    """The toy model's firmware, under the name that these tests use."""
    return toy_firmware
