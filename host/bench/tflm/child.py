"""Run models in stock TensorFlow Lite Micro: a process of its own, because TFLM aborts on what it dislikes.

``python -m arenite.host.bench.tflm.child FOLDER FIRST``: from number FIRST on, FOLDER/N.tflite with the inputs of
FOLDER/N.npz (``r0_i0``: run 0, input 0) becomes FOLDER/N.out.npz (``r0_o0``) or FOLDER/N.error; FOLDER/N.log has what
TFLM printed, its use of the arena included.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

#: Bytes that TFLM gets beside twice the model's size: enough for every model that fits a microcontroller.
_ARENA = 8 << 20


def run_one(folder: Path, number: int) -> None:
    """Run one model; raises the errors of TFLM."""
    from tflite_micro.python.tflite_micro import runtime

    data = (folder / f"{number}.tflite").read_bytes()
    with np.load(folder / f"{number}.npz") as stored:
        arrays = dict(stored)
    runs, inputs, outputs = (int(n) for n in arrays["counts"])
    results = {}
    for run in range(runs):
        # A new interpreter for each run: reset() leaves resource variables as they are.
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=len(data) * 2 + _ARENA)
        for position in range(inputs):
            interpreter.set_input(arrays[f"r{run}_i{position}"], position)
        interpreter.invoke()
        for position in range(outputs):
            results[f"r{run}_o{position}"] = interpreter.get_output(position)
        if run == runs - 1:
            interpreter.print_allocations()
    np.savez(folder / f"{number}.out.npz", **results)


def main() -> None:
    folder, first = Path(sys.argv[1]), int(sys.argv[2])
    for number in range(first, len(list(folder.glob("*.tflite")))):
        # TFLM prints from C++, so the file becomes its standard error.
        with (folder / f"{number}.log").open("wb") as log:
            os.dup2(log.fileno(), 2)
        try:
            run_one(folder, number)
        except Exception as error:
            (folder / f"{number}.error").write_text(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
