"""Run models in stock TensorFlow Lite Micro. This is a separate process, because TFLM aborts on models it cannot run.

``python -m arenite.host.bench.tflm.child FOLDER FIRST`` runs FOLDER/N.tflite for each number N from FIRST on. The
inputs are in FOLDER/N.npz (``r0_i0`` is input 0 of run 0). The outputs are written to FOLDER/N.out.npz (``r0_o0``),
or an error message to FOLDER/N.error. FOLDER/N.log has the text that TFLM prints, which includes its use of the arena.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

#: TFLM gets an arena of this number of bytes plus twice the model's size, which suffices for every model that fits a
#: microcontroller.
_ARENA_BYTES = 8 << 20


def run_one(folder: Path, number: int) -> None:
    """Run the model FOLDER/NUMBER.tflite, and write its outputs. Raises the errors of TFLM."""
    from tflite_micro.python.tflite_micro import runtime

    data = (folder / f"{number}.tflite").read_bytes()
    with np.load(folder / f"{number}.npz") as stored:
        arrays = dict(stored)
    runs, inputs, outputs = (int(n) for n in arrays["counts"])
    results = {}
    for run in range(runs):
        # A new interpreter for each run: reset() leaves resource variables as they are.
        interpreter = runtime.Interpreter.from_bytes(data, arena_size=len(data) * 2 + _ARENA_BYTES)
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
        # TFLM prints from C++, so the log file replaces the standard error of the process.
        with (folder / f"{number}.log").open("wb") as log:
            os.dup2(log.fileno(), 2)
        try:
            run_one(folder, number)
        except Exception as error:
            (folder / f"{number}.error").write_text(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
