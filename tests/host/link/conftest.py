"""Firmware for the tests of the link: built once, run many times."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from arenite.firmware.generator.project import write_project
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import load_board
from tests import toy_model


@pytest.fixture(scope="session")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``firmware(board, extra="", protocol="arenite", version=None)``: the ELF of the toy model.

    ``extra`` is C that its last layer runs; ``version`` replaces the protocol version that the device tells.
    """

    @cache
    def make(board: str, extra: str = "", protocol: str = "arenite", version: int | None = None) -> Path:
        project = tmp_path_factory.mktemp("firmware") / "project"
        write_project(
            project, toy_model.sources(extra), [], load_board(board), protocol=protocol, input_bytes=8
        )
        if version is not None:
            agent = project / "lib/agent/agent.c"
            text = agent.read_text()
            assert "#define PROTOCOL_VERSION 1u" in text
            agent.write_text(
                text.replace("#define PROTOCOL_VERSION 1u", f"#define PROTOCOL_VERSION {version}u")
            )
        return direct_build(project)

    return make
