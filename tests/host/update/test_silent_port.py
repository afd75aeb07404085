"""`arenite update status` on a port that nobody reads."""

from __future__ import annotations

import os
import time
import tty

import pytest

from tests.host.cli.conftest import Arenite, arenite

pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
__all__ = ["arenite"]


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--no-fec", "--fec"])
def test_the_status_of_a_silent_port_ends_with_an_error_soon(arenite: Arenite, option: str) -> None:
    master, slave = os.openpty()
    tty.setraw(slave)
    begin = time.monotonic()
    arenite("update", "status", os.ttyname(slave), option).refused(3, "did not answer requests", "for 7 s")
    # Seven seconds, and at most twice the time for which a full port takes no bytes.
    assert time.monotonic() - begin < 12.5
    os.close(master)
    os.close(slave)
