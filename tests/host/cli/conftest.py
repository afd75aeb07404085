"""The command, run in this process, and small model files to run it on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from arenite.host.cli.main import main
from tests.docs.schemas import problems
from tests.host.small_graphs import classifier, counter, float_network, save


@dataclass(frozen=True)
class Run:
    """What one command gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output as the one JSON object that it must be, and as its published schema describes it."""
        assert self.out, self
        found = json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
        assert isinstance(found, dict)
        if "schema" in found:
            assert problems(found) == []
        return found

    def refused(self, code: int, *said: str) -> None:
        """The exit code, nothing on standard output, and two sentences without a traceback."""
        assert (self.code, self.out) == (code, ""), self
        assert "Traceback" not in self.err
        first, second = (line for line in self.err.splitlines() if line.startswith(("Error: ", "Try: ")))
        assert first.startswith("Error: ") and second.startswith("Try: ")
        for text in said:
            assert text in self.err


Arenite = Callable[..., Run]


@pytest.fixture
def arenite(capsys: pytest.CaptureFixture[str]) -> Arenite:
    """Runs the command with these arguments."""

    def run(*arguments: object) -> Run:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        found = capsys.readouterr()
        return Run(code, found.out, found.err)

    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small int8 classifier."""
    return save(classifier(), tmp_path_factory.mktemp("models") / "small.tflite")


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier whose arena is too large for a micro:bit."""
    return save(classifier(100, 40), tmp_path_factory.mktemp("models") / "large.tflite")


@pytest.fixture(scope="session")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(counter(), tmp_path_factory.mktemp("models") / "counter.tflite")


@pytest.fixture(scope="session")
def unquantised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(float_network(), tmp_path_factory.mktemp("models") / "float.tflite")
