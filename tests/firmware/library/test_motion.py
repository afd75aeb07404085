"""The functions of a generated library for a motion sensor fill the input with the bytes of the NumPy code."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.processing.imu.plan import plan_imu
from arenite.converters.processing.imu.stream import ImuStream
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.errors import UsageError
from tests.firmware.library.libraries import numbers, sources, write_library_of
from tests.firmware.library.processing_cases import save
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

SOURCE = {"kind": "imu", "axes": 3, "rate": 50, "window": 30, "hop": 12, "unit": 8192}
BANDS = {"do": "bands", "edges": [1, 5, 12, 20], "fft": 32}
CASES: dict[str, list[dict[str, Any]]] = {
    "both": [{"do": "statistics"}, BANDS],
    "statistics": [{"do": "statistics", "values": ["std", "zero_crossings"]}],
    "bands": [BANDS | {"remove_mean": False}],
    "window": [],
}

MAIN = """\
#include "m_processing.h"
#include <stdio.h>
static void show(void)
{
    for (uint32_t k = 0; k < M_MODEL_INPUT_0_BYTES; k++) {
        printf("%d ", (int)m_model_input_0()[k]);
    }
    printf("\\n");
}
int main(void)
{
    static int16_t samples[M_AXES * 7], window[M_AXES * M_WINDOW];
    uint32_t held = 0;
    for (size_t left; (left = fread(samples, 2 * M_AXES, 7, stdin)) > 0;) {
        for (uint32_t k = 0; k < left * M_AXES && held < M_AXES * M_WINDOW; k++) {
            window[held++] = samples[k];
        }
        for (const int16_t *at = samples; left > 0;) {
            const uint32_t taken = m_feed(at, (uint32_t)left);
            at += M_AXES * taken;
            left -= taken;
            if (m_is_ready()) {
                printf("%d ", (int)m_position());
                show();
                m_model_invoke();
            }
        }
    }
    m_preprocess(window);
    show();
    return 0;
}
"""


@pytest.mark.parametrize("name", CASES)
def test_feed_and_preprocess_have_the_bytes_of_numpy(name: str, tmp_path: Path) -> None:
    record = {"source": SOURCE, "steps": CASES[name]}
    last = {"do": "quantise", "dtype": "int8", "scale": quant(0.02).scale[0]}
    spec = Preprocessing.from_json(record | {"steps": [*CASES[name], last]})
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input((1, *plan_imu(spec).shape), "int8", quant(0.02))
    b.op("RELU", [x], [b.tensor(b[x].shape, "int8", quant(0.02))])
    library = write_library_of(
        tmp_path / "library", {"m": save(b.build(), {"preprocessing": record}, tmp_path / "m.tflite")}
    )
    (tmp_path / "main.c").write_text(MAIN)
    files = map(str, [tmp_path / "main.c", *sources(library)])
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-DAR_HOST", f"-I{library / 'src'}"]
    program = tmp_path / "program"
    subprocess.run(["gcc", "-O1", *strict, *files, "-o", str(program)], check=True)
    samples = np.random.default_rng(3).integers(-9000, 9000, (200, 3)).astype(np.int16)
    output = subprocess.run([program], input=samples.tobytes(), capture_output=True, check=True).stdout
    windows = [[w.position, *map(int, w.features.reshape(-1))] for w in ImuStream(spec).feed(samples)]
    assert numbers(output.decode()) == [*windows, windows[0][1:]]


def test_an_input_of_another_size_is_an_error(tmp_path: Path) -> None:
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input((1, 3, 3), "int8", quant(0.02))
    b.op("RELU", [x], [b.tensor(b[x].shape, "int8", quant(0.02))])
    prepared = save(b.build(), {"preprocessing": {"source": SOURCE, "steps": []}}, tmp_path / "m.tflite")
    with pytest.raises(UsageError, match="computes 30x3 values"):
        write_library_of(tmp_path / "library", {"m": prepared})
