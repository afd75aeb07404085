"""Fixtures that run the command in this process, and small model files."""

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
    """The exit code, standard output and standard error of one command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Return standard output as one JSON object, after checking it against its published schema."""
        assert self.out, self
        content = json.loads(self.out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
        assert isinstance(content, dict)
        if "schema" in content:
            assert problems(content) == []
        return content

    def refused(self, code: int, *texts: str) -> None:
        """Check the exit code, that standard output is empty, and that the error has two sentences and ``texts``."""
        assert (self.code, self.out) == (code, ""), self
        assert "Traceback" not in self.err
        first, second = (line for line in self.err.splitlines() if line.startswith(("Error: ", "Try: ")))
        assert first.startswith("Error: ") and second.startswith("Try: ")
        for text in texts:
            assert text in self.err


Arenite = Callable[..., Run]


@pytest.fixture
def arenite(capsys: pytest.CaptureFixture[str]) -> Arenite:
    """Return a function that runs the command with its arguments."""

    def run(*arguments: object) -> Run:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Run(code, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a small int8 classifier."""
    return save(classifier(), tmp_path_factory.mktemp("models") / "small.tflite")


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a classifier whose arena is too large for a micro:bit."""
    return save(classifier(100, 40), tmp_path_factory.mktemp("models") / "large.tflite")


@pytest.fixture(scope="session")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a model that keeps a sum of its inputs."""
    return save(counter(), tmp_path_factory.mktemp("models") / "counter.tflite")


@pytest.fixture(scope="session")
def unquantized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a float model."""
    return save(float_network(), tmp_path_factory.mktemp("models") / "float.tflite")
