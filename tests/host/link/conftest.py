"""The firmware fixture of the link tests."""

from __future__ import annotations

import pytest

from tests.session_builds import ToyFirmware


@pytest.fixture(scope="session")
def firmware(toy_firmware: ToyFirmware) -> ToyFirmware:
    """Return the function that builds the firmware of the toy model."""
    return toy_firmware
