"""Models and a generated library that tests of build systems share."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.host.build.prepare import Prepared
from tests.firmware.library.libraries import three_models, write_library_of


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Prepared]:
    """Return two classifiers of different sizes, and a model with state."""
    return three_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def library(models: dict[str, Prepared], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of three models with portable kernels."""
    return write_library_of(tmp_path_factory.mktemp("libraries") / "library", models)
