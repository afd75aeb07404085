"""Tests of commands that a signal ends."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from arenite.host.cli.ending_signals import cleaned_up_after_sigterm


@pytest.mark.skipif(sys.platform == "win32", reason="Windows ends a process that gets SIGTERM")
def test_sigterm_puts_things_back() -> None:
    before, steps = signal.getsignal(signal.SIGTERM), list[str]()
    with pytest.raises(SystemExit) as caught, cleaned_up_after_sigterm():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("went on")
        finally:
            steps.append("put back")
    assert caught.value.code == 143 and steps == ["put back"]
    assert signal.getsignal(signal.SIGTERM) is before
