"""Depending on how well the conversion agrees with the source model, the importer adds no note, adds a note or raises
an error. The tests need no framework."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from arenite.converters.importers.agreement import Agreement
from arenite.converters.importers.framework_process import SourceRun, _verdict
from arenite.errors import ModelError

#: The run of a float source model.
FLOAT = SourceRun({}, "nature 1", (), False)


def _agreement(sqnr_db: float) -> Agreement:
    """Return an agreement of 8 samples with this signal-to-quantization-noise ratio."""
    return Agreement(8, 0.5, 0.1, sqnr_db, "nature 1")


def test_rounding_differences_give_no_note() -> None:
    for sqnr in (math.inf, 120.0, 61.0):
        assert _verdict("m", _agreement(sqnr), True, FLOAT) == []
    assert _verdict("m", None, True, FLOAT) == []


def test_a_poor_agreement_gives_a_note_and_a_very_poor_one_an_error() -> None:
    (note,) = _verdict("m", _agreement(40.0), True, FLOAT)
    assert "40.0 dB" in note
    for sqnr in (3.0, -math.inf):
        with pytest.raises(ModelError, match="does not compute the same"):
            _verdict("m", _agreement(sqnr), True, FLOAT)


def test_a_quantized_source_may_differ_by_quantization_steps() -> None:
    assert _verdict("m", _agreement(5.0), True, replace(FLOAT, quantized=True)) == []
