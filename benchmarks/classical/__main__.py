"""Compare Arenite with emlearn: ``python -m benchmarks.classical --python ENVIRONMENT/bin/python``.

The environment has emlearn, scikit-learn and skl2onnx (``pip install emlearn scikit-learn skl2onnx``). It trains the
models and exports them. Both engines then classify all test samples on an emulated Cortex-M4F, linked with the same
program and compiled with the same flags.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np

import arenite
from benchmarks.classical.measure import Measurement, measure

_CHILD = Path(__file__).parent / "children" / "train_models.py"

#: The function ``classify`` for Arenite and for emlearn, and ``prepare``, whose instructions are not counted.
_OURS = """\
#include "samples.h"
#include "{name}_model.h"
__attribute__((section(".samples.prepare"))) void prepare(const sample_type *features) {{ {prepare} (void)features; }}
int classify(const sample_type *features)
{{
    {fill} (void)features;
    {name}_model_invoke();
    const {type} *out = {name}_model_output_0();
    {type} largest = out[0];
    int best = 0;
    for (int k = 1; k < {upper}_MODEL_OUTPUT_0_ELEMENTS; k++) {{
        if (out[k] > largest) {{
            largest = out[k];
            best = k;
        }}
    }}
    return best;
}}
"""
_THEIRS = """\
#include "samples.h"
#include "{header}"
__attribute__((section(".samples.prepare"))) void prepare(const sample_type *features) {{ (void)features; }}
int classify(const sample_type *features) {{ return {call}; }}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True, help="Python of an environment with emlearn and skl2onnx")
    parser.add_argument(
        "--newlib",
        type=Path,
        default=Path("/"),
        help="folder with Debian's packages libnewlib-dev and libnewlib-arm-none-eabi, which emlearn needs",
    )
    parser.add_argument("--folder", type=Path, help="keep the models here, and use those that exist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        train = subprocess.run(
            [options.python, str(_CHILD), str(folder)], check=True, capture_output=True, text=True
        )
        includes = Path(train.stdout.splitlines()[-1])
        print("| model | engine | build | flash B | instructions | answers equal to scikit-learn |")
        print("|-|-|-|-:|-:|-:|")
        for source in sorted(folder.glob("*.onnx")):
            _compare(source, folder, includes, options.newlib)


def _compare(source: Path, folder: Path, includes: Path, newlib: Path) -> None:
    """Print a row of the table for each engine and build of the model ``source``."""
    name = source.stem
    data = np.load(folder / f"{name}.npz")
    is_network = name.startswith("mlp")
    samples = data["x"] if is_network else data["x"].astype(np.int16)

    def show(engine: str, build: str, result: Measurement) -> None:
        equal = int((result.answers == data["answers"]).sum())
        print(
            f"| {name} | {engine} | {build} | {result.flash:,} | {result.instructions:,.0f} | "
            f"{equal} of {len(samples)} |",
            flush=True,
        )

    for header in sorted(folder.glob(f"{name}_*.h")):
        method = header.stem.rpartition("_")[2]
        adapter = folder / "adapter.c"
        call = "em_predict(features, FEATURES)"
        adapter.write_text(_THEIRS.format(header=header.name, call=call))
        for level in ("-O2", "-Os"):
            show(
                f"emlearn, {method}",
                level,
                measure(folder / "build", [adapter], [folder, includes], samples, level, newlib),
            )
    for recipe in ("int8", "int16x8", None) if is_network else (None,):
        image = folder / f"{name}.image.tflite"
        if not is_network:
            engine = "Arenite"
            arenite.convert(source, image, features="int16")
        elif recipe is None:
            calibrated = arenite.convert(source, image, calibration=data["train"]).conversion.calibrated
            assert calibrated is not None
            engine = f"Arenite, default ({calibrated.recipe.name})"
        else:
            engine = f"Arenite, {recipe}"
            arenite.convert(source, image, calibration=data["train"], recipe=recipe)
        for goal, level in (("speed", "-O2"), ("balanced", "-O2"), ("flash", "-Os")):
            library = folder / "library"
            arenite.library({"ours": image}, library, core="cortex-m4f", optimise=goal)
            result = measure(
                folder / "build",
                _ours(library, is_network),
                [library / "src", library / "src/arenite"],
                samples,
                level,
                newlib,
            )
            show(engine, f"--optimise {goal}, {level}", result)


def _ours(library: Path, is_network: bool) -> list[Path]:
    """Write the program that calls the library. Return all sources."""
    adapter = library / "adapter.c"
    stored = "for (int k = 0; k < FEATURES; k++) { ours_model_input_0()[k] = ours_model_input_0_stored(features[k]); }"
    copy = "for (volatile int k = 0; k < FEATURES; k++) { ours_model_input_0()[k] = features[k]; }"
    # ``classify`` quantizes the float32 features of a network, so that this is counted. Trees take int16 features as
    # they are, so ``prepare`` copies them.
    prepare, fill = ("", stored) if is_network else (copy, "")
    header = (library / "src" / "ours_model.h").read_text()
    c_type = header.split(" *ours_model_output_0")[0].rpartition(" ")[2]
    adapter.write_text(_OURS.format(name="ours", upper="OURS", prepare=prepare, fill=fill, type=c_type))
    return [adapter, *sorted((library / "src").rglob("*.c"))]


if __name__ == "__main__":
    main()
