"""``NAME_feed`` of a generated library: the model's input after each hop has the bytes of ``NAME_preprocess``."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.processing.audio.plan import plan_audio
from arenite.converters.processing.audio.reference import preprocess_audio
from arenite.converters.processing.specification.preprocessing import Preprocessing
from tests.firmware.library.libraries import numbers, sources, write_library_of
from tests.firmware.library.processing_cases import save
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import counter, quant

ROWS, FEATURES = 5, 6
STEPS: list[dict[str, Any]] = [
    {"do": "frame", "length": 60, "step": 40},
    {"do": "window"},
    {"do": "fft", "length": 64},
    {"do": "mel", "bins": FEATURES, "low": 100, "high": 3900},
    {"do": "log", "offset": 1e-6},
]
#: The last ten samples are in no frame.
SAMPLES = 4 * 40 + 60 + 10
RECORD: dict[str, Any] = {"source": {"kind": "audio", "rate": 8000, "samples": SAMPLES}, "steps": STEPS}

MAIN = """\
#include "m_processing.h"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    static int16_t chunk[4096];
    const size_t size = (size_t)atoi(words[1]);
    if (count > 2) {
        m_restart((uint64_t)atoi(words[2]));
    }
    for (size_t left; (left = fread(chunk, 2, size, stdin)) > 0;) {
        for (const int16_t *at = chunk; left > 0;) {
            const uint32_t taken = m_feed(at, (uint32_t)left);
            at += taken;
            left -= taken;
            if (m_is_ready()) {
                printf("%d ", (int)m_position());
                for (uint32_t k = 0; k < M_MODEL_INPUT_0_BYTES / sizeof(*m_model_input_0()); k++) {
                    printf("%d ", (int)m_model_input_0()[k]);
                }
                printf("\\n");
                m_model_invoke();
            }
        }
    }
    return 0;
}
"""


def stateless() -> Model:
    """Return a model whose output takes the place of its input in the arena."""
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input((1, ROWS, FEATURES), "int8", quant(0.1))
    b.op("RELU", [x], [b.tensor((1, ROWS, FEATURES), "int8", quant(0.1))])
    return b.build()


def build(model: Model, record: dict[str, Any], folder: Path, *flags: str) -> Path:
    """Write a library for ``model``, compile it for the computer, and return the program."""
    prepared = save(model, {"preprocessing": record}, folder / "m.tflite")
    library = write_library_of(folder / "library", {"m": prepared})
    (folder / "main.c").write_text(MAIN)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-DAR_HOST", f"-I{library / 'src'}", *flags]
    files = [folder / "main.c", *sources(library)]
    subprocess.run(
        ["gcc", "-O1", *strict, *map(str, files), "-o", str(folder / "program")], check=True, cwd=folder
    )
    return folder / "program"


def expected(samples: np.ndarray, advance: int, begin: int = 0) -> list[list[int]]:
    """Return the position and the input's values for each window, computed from the recording as a whole."""
    spec = Preprocessing.from_json(
        RECORD | {"steps": [*STEPS, {"do": "quantise", "dtype": "int8", "scale": quant(0.1).scale[0]}]}
    )
    plan = plan_audio(spec)
    window = SAMPLES - 10
    return [
        [begin + at + window, *map(int, preprocess_audio(spec, samples[at : at + SAMPLES]).reshape(-1))]
        for at in range(0, len(samples) - window + 1, plan.step * advance)
    ]


def noise(count: int) -> np.ndarray:
    return np.random.default_rng(5).integers(-9000, 9000, count).astype(np.int16)


@pytest.mark.parametrize("chunk", [1, 39, 500, 4096])
def test_feed_fills_the_input_with_the_newest_rows(chunk: int, tmp_path: Path) -> None:
    """The inference between two windows overwrites the input."""
    samples = noise(3000)
    program = build(stateless(), RECORD, tmp_path)
    output = subprocess.run([program, str(chunk)], input=samples.tobytes(), capture_output=True, check=True)
    assert numbers(output.stdout.decode()) == expected(samples, 1)


def test_feed_remembers_the_sample_before_a_frame(tmp_path: Path) -> None:
    """With pre-emphasis, the rows are those of the whole recording since the start."""
    samples = noise(3000)
    record = RECORD | {"steps": [{"do": "preemphasis"}, *STEPS]}
    whole = record | {"source": {**RECORD["source"], "samples": len(samples)}}
    quantized = {"do": "quantise", "dtype": "int8", "scale": quant(0.1).scale[0]}
    spec = Preprocessing.from_json(whole | {"steps": [*record["steps"], quantized]})
    rows = preprocess_audio(spec, samples)
    program = build(stateless(), record, tmp_path)
    output = subprocess.run([program, "77"], input=samples.tobytes(), capture_output=True, check=True)
    windows = [
        [40 * (k + ROWS - 1) + 60, *map(int, rows[k : k + ROWS].reshape(-1))]
        for k in range(len(rows) - ROWS + 1)
    ]
    assert numbers(output.stdout.decode()) == windows


def test_a_model_with_state_gets_only_new_rows(tmp_path: Path) -> None:
    samples = noise(3000)
    program = build(counter((1, ROWS, FEATURES)), RECORD, tmp_path)
    output = subprocess.run([program, "77", "4000"], input=samples.tobytes(), capture_output=True, check=True)
    assert numbers(output.stdout.decode()) == expected(samples, ROWS, begin=4000)


def test_the_distance_of_windows_can_be_set(tmp_path: Path) -> None:
    samples = noise(3000)
    program = build(stateless(), RECORD, tmp_path, "-DM_ADVANCE=3")
    output = subprocess.run([program, "77"], input=samples.tobytes(), capture_output=True, check=True)
    assert numbers(output.stdout.decode()) == expected(samples, 3)
    with pytest.raises(subprocess.CalledProcessError):
        build(stateless(), RECORD, tmp_path, "-DM_ADVANCE=6")


def test_the_header_says_why_there_is_no_feed(tmp_path: Path) -> None:
    record = RECORD | {"steps": [{"do": "peak"}, *STEPS]}
    prepared = save(stateless(), {"preprocessing": record}, tmp_path / "m.tflite")
    library = write_library_of(tmp_path / "library", {"m": prepared})
    header = (library / "src" / "m_processing.h").read_text()
    assert "There is no m_feed. The step 'peak' divides by the largest sample" in header
    assert "m_feed(" not in header and not list((library / "src").rglob("audio_stream.*"))
