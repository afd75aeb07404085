"""Run models in TensorFlow Lite Micro over many calls, without a reset between the calls."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

#: It is a process of its own, because TFLM aborts on errors.
_PROGRAM = """
import sys
from pathlib import Path

import numpy as np
from tflite_micro.python.tflite_micro import runtime

for path in map(Path, sys.argv[1:]):
    interpreter = runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=1 << 20)
    outputs = []
    for values in np.load(path.with_suffix(".npy")):
        interpreter.set_input(values, 0)
        interpreter.invoke()
        outputs.append(interpreter.get_output(0))
    np.save(path.with_suffix(".outputs.npy"), outputs)
"""


def tflm_outputs(
    models: Sequence[bytes], inputs: Sequence[Sequence[np.ndarray] | np.ndarray], folder: Path
) -> list[np.ndarray]:
    """Return the first output of each call, as one array per model. ``inputs`` has the only input of each call of each
    model. The files are written to ``folder``."""
    paths = [folder / f"{k}.tflite" for k in range(len(models))]
    for path, model, calls in zip(paths, models, inputs, strict=True):
        path.write_bytes(model)
        np.save(path.with_suffix(".npy"), np.asarray(calls))
    subprocess.run([sys.executable, "-c", _PROGRAM, *map(str, paths)], check=True, timeout=300)
    return [np.load(path.with_suffix(".outputs.npy")) for path in paths]
