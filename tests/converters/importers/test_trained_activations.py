"""Networks with every activation of Keras and PyTorch keep their accuracy in int8, whatever operators the converter
uses for the activation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arenite.converters.importers.environments import environment
from arenite.converters.importers.framework_process import FrameworkProcess
from arenite.converters.passes.fold_constants import fold_constants
from arenite.converters.quantize.calibration.observations import observe
from arenite.converters.quantize.graph.simplify import simplify
from arenite.converters.quantize.quantize import quantize
from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.tflite.int4 import int8_weights
from arenite.converters.tflite.reader import parse
from arenite.firmware.generator.operator_needs import check_supported
from tests.converters.importers.framework_results import MAKERS
from tests.converters.quantize import trained_models
from tests.converters.quantize.float_models import Samples
from tests.converters.quantize.quantized_runs import run

pytestmark = [pytest.mark.frameworks, pytest.mark.slow]


def _samples(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``count`` noisy samples with values from about -3 to 3, and their class numbers."""
    x, labels = trained_models.samples(count, seed, noise=0.45)
    return ((x - 0.5) * 6).astype(np.float32), labels


@pytest.mark.parametrize(
    ("name", "suffix", "kind", "framework", "count"),
    [("keras", "keras", "keras", "tensorflow", 29), ("torch", "pt2", "torch-export", "torch", 28)],
)
def test_trained_networks_lose_at_most_one_point(
    name: str, suffix: str, kind: str, framework: str, count: int, tmp_path: Path
) -> None:
    x, labels = _samples(2000, 1)
    np.savez(tmp_path / "train.npz", x=x, y=labels)
    arguments = (name, str(tmp_path / "train.npz"), str(tmp_path))
    environment(framework).run(MAKERS / "train_activations.py", *arguments, timeout=900)
    test, expected = _samples(500, 5)
    inputs = [[row[None]] for row in test]
    sources = sorted(tmp_path.glob(f"*.{suffix}"))
    assert len(sources) == count
    with FrameworkProcess(framework, progress=False) as process:
        models = [process.convert(str(source), kind, None, None).flatbuffer for source in sources]
    for source, flatbuffer in zip(sources, models, strict=True):
        simplified, _ = simplify(flatbuffer)
        observations = observe(simplified, Samples([[row[None]] for row in x[:200]]))
        image = quantize(simplified, load_recipe("int8"), observations).flatbuffer
        check_supported(int8_weights(fold_constants(parse(image))[0]))
        before, after = (
            float(np.mean(run(m, inputs).reshape(len(test), -1).argmax(axis=1) == expected))
            for m in (flatbuffer, image)
        )
        assert before > 0.9, source.name
        assert before - after <= 0.01, (source.name, before, after)
