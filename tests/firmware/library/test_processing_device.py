"""Pre- and postprocessing on an emulated device give the bytes of the NumPy code, for different models and steps."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.graph.model import Model
from arenite.converters.processing.audio.micro_reference import preprocess_micro
from arenite.converters.processing.audio.reference import preprocess_audio
from arenite.converters.processing.image.reference import preprocess_image
from arenite.converters.processing.specification.image_steps import ImageSource
from arenite.converters.processing.specification.pixel_formats import buffer_bytes, color_order, unpack
from arenite.converters.processing.specification.preprocessing import Preprocessing
from tests.development_models import shared_model
from tests.firmware.library.libraries import check_warnings, write_library_of
from tests.firmware.library.processing_cases import (
    KEYWORD_SOUND,
    KEYWORD_STEPS,
    SHOW_BEST,
    SHOW_INPUT,
    Case,
    answers,
    direct_case,
    numbers_of,
    run,
    save,
)
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import classifier, quant

RESIZED = {"do": "resize", "width": 12, "height": 12}
#: Maps the bytes 0 to 255 to real numbers from -1 to 1.
BYTES = [{"do": "normalise", "divide": 127.5, "mean": 1.0}]


def image_steps(format: str, width: int, height: int, *steps: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON record of a preprocessing of images with the given pixel format and size."""
    source = {"kind": "image", "format": format, "width": width, "height": height}
    return {"source": source, "steps": list(steps)}


#: Preprocessing steps for pictures. Together they have every convention, several pixel formats, color conversions
#: before and after the resize, and tables per channel.
PICTURES = {
    "pil": image_steps("rgb", 31, 23, RESIZED, *BYTES),
    "opencv": image_steps("rgb565be", 32, 24, RESIZED | {"convention": "opencv"}, *BYTES),
    "area": image_steps(
        "bgra", 26, 40, {"do": "colour", "to": "rgb"}, RESIZED | {"convention": "opencv", "method": "area"}
    ),
    "tf": image_steps("yuyv", 32, 20, RESIZED | {"convention": "tf"}, *BYTES),
    "box": image_steps(
        "nv12",
        16,
        30,
        {"do": "letterbox", "width": 20, "height": 14, "fill": [9, 99, 199]},
        {"do": "crop", "width": 12, "height": 12},
        {"do": "normalise", "divide": 255, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]},
    ),
    "planes": image_steps("yv12", 18, 14, RESIZED | {"convention": "opencv"}, *BYTES),
    "grey": image_steps(
        "rgb", 15, 15, RESIZED, {"do": "colour", "to": "grey"}, {"do": "colour", "to": "rgb"}, *BYTES
    ),
}
BEST = {"steps": [{"do": "top_k", "k": 3, "threshold": 0.1}]}
SOUND = KEYWORD_SOUND | {"steps": [{"do": "peak", "signed": True}, *KEYWORD_STEPS]}


def real_input(size: int = 6) -> Model:
    """Return a model with a float32 image as input and an int8 output."""
    b = GraphBuilder(np.random.default_rng(5))
    x = b.input((1, size, size, 3), "float32")
    q = b.tensor((1, size, size, 3), "int8", quant(0.01, 2))
    b.op("QUANTIZE", [x], [q], "QuantizeOptions")
    return b.build()


def detector() -> Model:
    """Return a model whose boxes and scores are each an elementwise function of an input."""
    b = GraphBuilder(np.random.default_rng(6))
    boxes, scores = b.input((1, 10, 4), "int8", quant(0.05, 4)), b.input((1, 10, 3), "int8", quant(0.1, 0))
    b.op("RELU", [boxes], [b.tensor((1, 10, 4), "int8", quant(0.03, -100))])
    b.op("LOGISTIC", [scores], [b.tensor((1, 10, 3), "int8", quant(1 / 256, -128))])
    return b.build()


def autoencoder() -> Model:
    """Return a model whose output has the shape of its input."""
    b = GraphBuilder(np.random.default_rng(7))
    x = b.input((1, 30), "int8", quant(0.05, 4))
    b.op("RELU", [x], [b.tensor((1, 30), "int8", quant(0.03, -100))])
    return b.build()


SHOW_BOXES = """\
    {{
        static ar_box boxes[{U}BOXES];
        const uint32_t count = {p}postprocess(boxes);
        for (uint32_t i = 0; i < count; i++) {{
            show_integer(boxes[i].top), show_integer(boxes[i].left), show_integer(boxes[i].bottom);
            show_integer(boxes[i].right), show_integer(boxes[i].key), show_integer(boxes[i].index);
            show_integer(boxes[i].anchor);
        }}
    }}
"""
SHOW_ERROR = """\
    {{
        union {{ float real; int32_t bits; }} u = {{{p}postprocess(input_copy)}};
        show_integer(u.bits);
    }}
"""


def picture_case(name: str, record: dict[str, Any], model: Model, folder: Path) -> Case:
    """Return a case whose source is a random picture, preprocessed as in ``record``. The program prints the best
    classes."""
    prepared = save(model, {"preprocessing": record, "postprocessing": BEST}, folder / f"{name}.tflite")
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    spec = Preprocessing.from_json(record).bound(tensor)
    source = spec.source
    assert isinstance(source, ImageSource)
    size = buffer_bytes(source.format, source.width, source.height)
    data = np.random.default_rng(len(name)).integers(0, 256, size, np.uint8)
    pixels = unpack(data, source.format, source.width, source.height)
    filled = preprocess_image(spec, pixels, color_order(source.format))[np.newaxis]
    c_value = f"((const int32_t *)(void *){name}_model_input_0())[i]"
    c_value = c_value if tensor.dtype == "float32" else f"{name}_model_input_0()[i]"
    p = {"p": f"{name}_", "U": f"{name.upper()}_", "shown": c_value}
    text = f"    read_input(source, {size});\n    {name}_preprocess(source);\n"
    text += SHOW_INPUT.format(**p) + SHOW_BEST.format(**p)
    return Case(prepared, data.tobytes(), [numbers_of(filled), answers(prepared, [filled])], text)


def sound_case(name: str, folder: Path) -> Case:
    """Return a case whose source is a decaying sweep with noise, slightly shorter than the model's window of 1 s."""
    from arenite.converters.tflite.image import load_image

    model = load_image(shared_model("kws01_int8")).model
    prepared = save(model, {"preprocessing": SOUND, "postprocessing": BEST}, folder / f"{name}.tflite")
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    spec = Preprocessing.from_json(SOUND).bound(tensor)
    t = np.arange(15000) / 16000
    noise = np.random.default_rng(3).normal(0, 40, len(t))
    samples = (6000 * np.sin(2 * np.pi * (300 + 900 * t) * t) * np.exp(-2 * t) + noise).astype(np.int16)
    filled = preprocess_audio(spec, samples).reshape(tensor.shape)
    p = {"p": f"{name}_", "U": f"{name.upper()}_", "shown": f"{name}_model_input_0()[i]"}
    text = f"    read_input(source, {samples.nbytes});\n"
    text += f"    {name}_preprocess((const int16_t *)(const void *)source, {len(samples)});\n"
    text += SHOW_INPUT.format(**p) + SHOW_BEST.format(**p)
    return Case(prepared, samples.tobytes(), [numbers_of(filled), answers(prepared, [filled])], text)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps3_an547"])
def test_device_and_host_compute_equal_bytes(board: str, tmp_path: Path) -> None:
    """A Cortex-M3 has no FPU, an M4 has one, an M55 could fuse multiply and add. All give the bytes of NumPy."""
    cases = {name: picture_case(name, record, classifier(), tmp_path) for name, record in PICTURES.items()}
    halves = image_steps(
        "uyvy", 16, 16, {"do": "resize", "width": 6, "height": 6, "convention": "torch"}, *BYTES
    )
    cases["real"] = picture_case("real", halves, real_input(), tmp_path)
    levels = image_steps(
        "grey", 9, 9, {"do": "resize", "width": 6, "height": 6}, {"do": "colour", "to": "rgb"}
    )
    cases["levels"] = picture_case("levels", levels, real_input(), tmp_path)
    anchors = [[0.1 * k, 0.05 * k, 0.3, 0.2 + 0.01 * k] for k in range(10)]
    head = {"do": "boxes", "anchors": anchors, "exponential": True, "threshold": 0.3, "candidates": 8}
    nms = {"do": "nms", "iou": 0.2}
    cases["boxes"] = direct_case("boxes", detector(), {"steps": [head, nms]}, SHOW_BOXES, tmp_path)
    cases["error"] = direct_case("error", autoencoder(), {"steps": [{"do": "mse"}]}, SHOW_ERROR, tmp_path)
    lines = run(cases, board, tmp_path)
    for k, (name, case) in enumerate(cases.items()):
        assert lines[2 * k : 2 * k + 2] == case.lines, name
        assert case.lines[1] or name in ("pil", "real", "levels"), f"{name} has no answer to compare"


@pytest.mark.slow
@pytest.mark.qemu
def test_preprocessing_feeds_a_streamed_input_row_by_row(tmp_path: Path) -> None:
    """No buffer holds a complete input. The answers equal those of LiteRT for NumPy's preprocessing."""
    cases = {
        name: picture_case(name, PICTURES[name], classifier(), tmp_path) for name in ("opencv", "tf", "box")
    }
    for name, case in cases.items():
        program = re.sub(
            r"    for .*?model_invoke\(\);\n", f"    {name}_model_invoke();\n", case.program, flags=re.DOTALL
        )
        cases[name] = replace(case, program=program)
    lines = run(cases, "qemu_mps2_an386", tmp_path, "ram", stream=True)
    assert "opencv_model_input_0(void)" not in (tmp_path / "library/src/opencv_model.h").read_text()
    assert lines == [case.lines[1] for case in cases.values()]


#: The features of micro_speech. ``divide`` leads to feature * 256 / 666, as in its firmware.
MICRO_SOUND: dict[str, Any] = {
    "source": {"kind": "audio", "rate": 16000, "samples": 15840},
    "steps": [{"do": "micro"}, {"do": "normalise", "divide": 666 / 256}],
}


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386"])
def test_the_micro_front_end_computes_equal_bytes_on_a_device(board: str, tmp_path: Path) -> None:
    b = GraphBuilder(np.random.default_rng(4))
    x = b.input((1, 49, 40), "int8", quant(1.0, -128))
    b.op("RELU", [x], [b.tensor((1, 49, 40), "int8", quant(1.0, -128))])
    prepared = save(b.build(), {"preprocessing": MICRO_SOUND}, tmp_path / "micro.tflite")
    tensor = prepared.model.main.tensors[prepared.model.main.inputs[0]]
    spec = Preprocessing.from_json(MICRO_SOUND).bound(tensor)
    t = np.arange(15000) / 16000
    noise = np.random.default_rng(3).normal(0, 40, len(t))
    samples = (6000 * np.sin(2 * np.pi * (300 + 900 * t) * t) * np.exp(-2 * t) + noise).astype(np.int16)
    filled = preprocess_micro(spec, samples)
    assert len(np.unique(filled)) > 100
    shown = SHOW_INPUT.format(p="micro_", U="MICRO_", shown="micro_model_input_0()[i]")
    text = f"    read_input(source, {samples.nbytes});\n"
    text += f"    micro_preprocess((const int16_t *)(const void *)source, {len(samples)});\n" + shown
    cases = {"micro": Case(prepared, samples.tobytes(), [numbers_of(filled), []], text)}
    assert run(cases, board, tmp_path) == cases["micro"].lines


@pytest.mark.slow
@pytest.mark.qemu
def test_keywords_are_recognized_from_audio_samples(tmp_path: Path) -> None:
    """The device computes MFCCs from samples and runs a real network."""
    cases = {"kws": sound_case("kws", tmp_path)}
    assert run(cases, "qemu_mps2_an386", tmp_path) == cases["kws"].lines


def test_the_sources_of_a_library_pass_the_strictest_warnings(tmp_path: Path) -> None:
    cases = {name: picture_case(name, PICTURES[name], classifier(), tmp_path) for name in ("pil", "tf")}
    anchors = {"do": "boxes", "exponential": True, "threshold": 0.3}
    boxes = direct_case("boxes", detector(), {"steps": [anchors, {"do": "nms"}]}, SHOW_BOXES, tmp_path)
    models = {name: case.prepared for name, case in (cases | {"boxes": boxes}).items()}
    library = write_library_of(tmp_path / "library", models)
    check_warnings((library / "src").glob("*_processing.c"), tmp_path)
    text = "\n".join(f'#include "{name}_processing.h"' for name in models) + "\nint main() { return 0; }\n"
    (tmp_path / "main.cpp").write_text(text)
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", f"-I{library / 'src'}"]
    subprocess.run([*command, "-c", str(tmp_path / "main.cpp"), "-o", str(tmp_path / "out.o")], check=True)
