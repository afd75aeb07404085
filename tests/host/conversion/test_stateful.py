"""Conversions of models that keep state between inferences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.conversion.convert import convert
from arenite.host.conversion.request import ConversionRequest
from tests.converters.passes.loops.recurrent_models import FEATURES, stateful_model


@pytest.mark.slow
def test_the_state_continues_in_scores_if_the_user_wants(tmp_path: Path) -> None:
    source, samples = tmp_path / "m.tflite", tmp_path / "x.npz"
    source.write_bytes(to_flatbuffer(stateful_model("gru", 4)))
    np.savez(samples, x=np.random.default_rng(2).standard_normal((40, 4, FEATURES)).astype(np.float32))
    scores, notes = {}, {}
    for stateful in (False, True):
        request = ConversionRequest(str(source), calibration=samples, recipe="int8", stateful=stateful)
        conversion = convert(request)
        assert conversion.scores is not None
        scores[stateful] = conversion.scores.outputs[0]
        notes[stateful] = any("--stateful" in note for note in conversion.notes)
    assert notes == {False: True, True: False}
    assert scores[True].sqnr_db != scores[False].sqnr_db
    assert (
        min(scores[True].sqnr_db, scores[False].sqnr_db) > 25
    )  # the errors do not add up from sample to sample
