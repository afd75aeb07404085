"""Tests of the server that receives the results of the bench page."""

from __future__ import annotations

import contextlib

import pytest

pytest.importorskip("h11", reason="needs h11")

from arenite.host.web.browser_bench.bench_server import BenchServer


def test_the_server_takes_the_outputs_of_every_form_of_a_runtime() -> None:
    server = BenchServer({}, [{4}, {4, 16}], print)
    server.start()
    with contextlib.closing(server):
        assert server.receive_outputs("0", bytes(4)) and server.receive_outputs("1", bytes(16))
        assert not server.receive_outputs("0", bytes(16))
        assert not server.receive_outputs("2", bytes(4)) and not server.receive_outputs("-1", bytes(4))
        assert {k: len(v) for k, v in server.outputs.items()} == {0: 4, 1: 16}
