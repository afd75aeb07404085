"""Tests of the server that receives the results of the bench page."""

from __future__ import annotations

import contextlib

import pytest

pytest.importorskip("h11", reason="needs h11")

from arenite.host.web.browser_bench.bench_server import BenchServer


def test_the_server_takes_the_outputs_of_every_form_of_a_runtime_and_reports_of_progress() -> None:
    server = BenchServer({}, [{4}, {4, 16}], print)
    server.start()
    with contextlib.closing(server):
        assert server.receive_outputs("0", bytes(4)) and server.receive_outputs("1", bytes(16))
        assert not server.receive_outputs("0", bytes(16))
        assert not server.receive_outputs("2", bytes(4)) and not server.receive_outputs("-1", bytes(4))
        assert server.progress == ("run", 0, 1)
        assert server.receive_progress(b'["time", 3, 25]') and server.progress == ("time", 3, 25)
        for wrong in (
            b"",
            b"{}",
            b'["time", 3]',
            b'["sleep", 3, 25]',
            b'["time", "3", 25]',
            b'["run", 26, 25]',
            b"[[], 1, 2]",
        ):
            assert not server.receive_progress(wrong)
        assert server.progress == ("time", 3, 25)
        assert {k: len(v) for k, v in server.outputs.items()} == {0: 4, 1: 16}
