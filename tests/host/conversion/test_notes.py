"""Notes are not repeated for every layer, and a recipe that computes much longer than int8 is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.conversion.convert import convert
from arenite.host.conversion.notes import merge_notes
from arenite.host.conversion.request import ConversionRequest
from arenite.profiles.boards import load_board
from tests.converters.quantize import float_models


def test_equal_notes_on_several_layers_are_merged_into_one() -> None:
    text = "has no int16 kernel: it runs in int8."
    notes = [f"Layer {k} EXP {text}" for k in (3, 5, 9)]
    assert merge_notes(["First.", notes[0], "Last.", *notes[1:], "First."]) == (
        "First.",
        f"Layer 3 EXP {text} The same holds for layers 5 EXP, 9 EXP.",
        "Last.",
    )
    assert merge_notes(["Layer 'a' became 4 steps.", "Layer 'b' became 4 steps."]) == (
        "Layer 'a' became 4 steps. The same holds for layer 'b'.",
    )
    different = ("Layer 3 EXP has weights.", "Layer 4 EXP has a state.")
    assert merge_notes(different) == different
    (many,) = merge_notes([f"Operator {k} CAST {text}" for k in range(40)])
    assert many.endswith("10 CAST and 29 more.")


@pytest.mark.parametrize(("boards", "place"), [((), "a Cortex-M4F"), (("nucleo_l4r5zi",), "nucleo_l4r5zi")])
def test_int16_activations_that_take_many_instructions_are_named(
    tmp_path: Path, boards: tuple[str, ...], place: str
) -> None:
    # Convolutions: fully connected layers take hardly more instructions with int16 activations.
    network = float_models.classifier()
    (tmp_path / "m.tflite").write_bytes(to_flatbuffer(network))
    inputs = float_models.samples_for(network).inputs
    np.savez(tmp_path / "data.npz", x=np.concatenate([sample[0] for sample in inputs]))

    def cost_notes(recipe: str) -> list[str]:
        request = ConversionRequest(
            str(tmp_path / "m.tflite"),
            calibration=tmp_path / "data.npz",
            recipe=recipe,
            boards=tuple(map(load_board, boards)),
        )
        return [note for note in convert(request).notes if "times as many as int8" in note]

    (note,) = cost_notes("int16x8")
    assert note.startswith(f"On {place}, the recipe 'int16x8' takes an estimated") and "B of RAM" in note
    assert cost_notes("int8") == cost_notes("w4") == []
