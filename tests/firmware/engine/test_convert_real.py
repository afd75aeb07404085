"""The functions in ``convert_real.h``, with which ``model.h`` converts between real and quantized numbers, agree with
LiteRT's QUANTIZE and DEQUANTIZE."""

from __future__ import annotations

import ctypes
import subprocess

import numpy as np
import pytest

from arenite.converters.graph.model import Quantization
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.firmware.sources import ENGINE
from arenite.host.bench.reference import Reference
from tests.fuzz.graph_builder import GraphBuilder, f32

RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return the functions of convert_real.h, compiled for this computer."""
    folder = tmp_path_factory.mktemp("convert")
    (folder / "convert.c").write_text(
        '#include "convert_real.h"\n'
        "int32_t quantized(float r, float s, int32_t z, int32_t l, int32_t h) { return ar_quantise(r, s, z, l, h); }\n"
        "float real(int32_t q, float s, int32_t z) { return ar_dequantise(q, s, z); }\n"
    )
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-O2", "-shared", "-fPIC"]
    command += ["-fsanitize=float-cast-overflow", "-fsanitize-undefined-trap-on-error"]
    subprocess.run([*command, *ENGINE.include_flags, "convert.c", "-o", "convert.so"], check=True, cwd=folder)
    loaded = ctypes.CDLL(str(folder / "convert.so"))
    loaded.quantized.argtypes = [ctypes.c_float, ctypes.c_float, *[ctypes.c_int32] * 3]
    loaded.quantized.restype = ctypes.c_int32
    loaded.real.argtypes = [ctypes.c_int32, ctypes.c_float, ctypes.c_int32]
    loaded.real.restype = ctypes.c_float
    return loaded


def quantized_by_litert(values: np.ndarray, dtype: str, quant: Quantization) -> np.ndarray:
    """Return ``values`` (float32), quantized by LiteRT's QUANTIZE."""
    b = GraphBuilder(np.random.default_rng(0))
    x = b.input((values.size,), "float32")
    y = b.tensor((values.size,), dtype, quant)
    b.op("QUANTIZE", [x], [y], "QuantizeOptions")
    return Reference(to_flatbuffer(b.build())).run([values])[0]


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize(("scale", "zero_point"), [(0.05, 3), (1.0, 0), (1 / 256, -128), (3e-5, 0)])
def test_quantized_numbers_equal_those_of_litert(
    dtype: str, scale: float, zero_point: int, library: ctypes.CDLL
) -> None:
    low, high = RANGES[dtype]
    zero_point = 0 if dtype == "int16" else zero_point + (128 if dtype == "uint8" else 0)
    quant = Quantization((f32(scale),), (zero_point,))
    rng = np.random.default_rng(1)
    halves = (np.arange(-400, 400) / 2).astype(np.float32)
    steps = np.concatenate([halves, np.nextafter(halves, np.float32(9e9)), rng.uniform(-40000, 40000, 500)])
    # All values fit into LiteRT's integers; for larger values its conversion is undefined.
    values = np.concatenate([steps * scale, [0.0, -0.0, 2e9 * scale, -2e9 * scale]]).astype(np.float32)
    expected = quantized_by_litert(values, dtype, quant)
    actual = [library.quantized(v, quant.scale[0], zero_point, low, high) for v in values.tolist()]
    assert actual == expected.tolist()


def test_nan_becomes_the_lowest_number_and_infinity_is_clipped(library: ctypes.CDLL) -> None:
    assert library.quantized(float("nan"), 0.1, 0, -128, 127) == -128
    assert library.quantized(1e30, 0.1, 5, -128, 127) == 127
    assert library.quantized(float("inf"), 0.1, 5, -128, 127) == 127
    assert library.quantized(float("-inf"), 0.1, 5, -128, 127) == -128


def test_real_numbers_equal_those_of_litert(library: ctypes.CDLL) -> None:
    quant = Quantization((f32(0.0371),), (-17,))
    b = GraphBuilder(np.random.default_rng(0))
    x = b.input((256,), "int8", quant)
    y = b.tensor((256,), "float32")
    b.op("DEQUANTIZE", [x], [y], "DequantizeOptions")
    quantized = np.arange(-128, 128).astype(np.int8)
    expected = Reference(to_flatbuffer(b.build())).run([quantized])[0]
    assert [library.real(int(q), quant.scale[0], -17) for q in quantized] == expected.tolist()
