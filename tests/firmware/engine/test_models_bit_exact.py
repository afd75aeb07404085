"""The generated C code of trained models gives the bytes of LiteRT's reference kernels on this computer."""

from __future__ import annotations

import pytest

from arenite.converters.tflite.reader import load
from tests.development_models import shared_model
from tests.fuzz.comparison import compare

pytestmark = pytest.mark.slow

MODELS = ("ad01_int8", "ic01_int8", "kws01_int8", "vww01_int8", "sww01_int8", "person_detect_int8")


@pytest.mark.parametrize("name", MODELS)
def test_twenty_random_inputs_are_exact(name: str) -> None:
    assert compare([load(shared_model(name))], seed=1, runs=20) == []
