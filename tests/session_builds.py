"""Run builds that several tests share once per session, even if pytest-xdist runs the session in several processes."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from arenite.firmware.generator.features import Features
from arenite.firmware.generator.project import write_project
from arenite.host.flash.build import direct_build
from arenite.locks import file_lock
from arenite.profiles.boards import load_board
from tests import toy_model


def build_once(factory: pytest.TempPathFactory, key: str, build: Callable[[Path], Path]) -> Path:
    """Return the path below ``folder`` that ``build(folder)`` returns. Only the first process of the session calls
    ``build``.

    ``key`` names everything that the result depends on. Do not change the result: other tests use it too.
    """
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # with pytest-xdist, each process has its own subfolder
        root = root.parent
    folder = root / "session-builds" / hashlib.sha256(key.encode()).hexdigest()[:16]
    path_file = folder.with_suffix(".done")
    with file_lock(folder.with_suffix(".lock")):
        if not path_file.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            path_file.write_text(str(build(folder).relative_to(folder)))
        return folder / path_file.read_text()


ToyFirmware = Callable[..., Path]


def toy_firmware_of(factory: pytest.TempPathFactory) -> ToyFirmware:
    """Return ``toy_firmware(board, extra="", protocol="arenite", version=None, features=Features())``.

    It builds the toy model's ELF and returns its path. ``extra`` is C code that the model's last layer runs;
    ``version`` replaces the protocol version that the device reports.
    """

    @cache
    def make(
        board: str,
        extra: str = "",
        protocol: str = "arenite",
        version: int | None = None,
        features: Features = Features(),  # noqa: B008  # Features is immutable
    ) -> Path:
        def build(folder: Path) -> Path:
            project = write_project(
                folder / "project", toy_model.sources(extra), [], load_board(board),
                protocol=protocol, input_bytes=toy_model.INPUT_BYTES, features=features,
            )  # fmt: skip
            if version is not None:
                agent = project / "lib/agent/agent.c"
                text = agent.read_text()
                assert "#define PROTOCOL_VERSION 1u" in text
                changed = text.replace("#define PROTOCOL_VERSION 1u", f"#define PROTOCOL_VERSION {version}u")
                agent.write_text(changed)
            return direct_build(project)

        return build_once(factory, repr((board, extra, protocol, version, features)), build)

    return make
