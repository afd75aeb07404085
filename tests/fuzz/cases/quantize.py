"""Random QUANTIZE, DEQUANTIZE and CAST operators."""

from __future__ import annotations

from arenite.firmware.generator.lower.elementwise.quantize import TARGETS
from tests.fuzz.cases import case
from tests.fuzz.cases.elementwise import RANKS, spread
from tests.fuzz.graph_builder import GraphBuilder


@case("QUANTIZE")
def quantize(b: GraphBuilder) -> None:
    rng = b.rng
    source = str(rng.choice(list(TARGETS)))
    if source == "int32":
        zero_point = int(rng.choice([0, 0, 17, -1000]))
        x = b.input(b.shape(int(rng.choice(RANKS))), "int32", b.quant("int32", zero_point, spread(b, 0.01)))
    else:
        x = b.pick((source,), RANKS)
    target = str(rng.choice(TARGETS[source]))
    scale = None if b[x].quant is None else spread(b, b[x].scale, -2.0, 2.0)
    if scale is not None and target == "int16":
        scale = spread(b, b[x].scale, -6.0, 0.0)
    quant = b.quant(target, 0 if target == "int32" else None, scale)
    if target == source and rng.random() < 0.2:
        quant = b[x].quant or quant
    elif {source, target} == {"int8", "uint8"} and rng.random() < 0.4:
        flipped = b[x].zero_point + (128 if target == "uint8" else -128)
        quant = b.quant(target, flipped, b[x].scale)
    out = b.tensor(b[x].shape, target, quant)
    b.op("QUANTIZE", [x], [out], "QuantizeOptions", version=2 if "int16" in (source, target) else 1)


@case("DEQUANTIZE")
def dequantize(b: GraphBuilder) -> None:
    x = b.pick(("int8", "uint8", "int16"), RANKS)
    b.op("DEQUANTIZE", [x], [b.tensor(b[x].shape, "float32")], "DequantizeOptions", version=3)


@case("CAST")
def cast(b: GraphBuilder) -> None:
    types = ("bool", "int8", "uint8", "int16", "int32", "int64", "float32")
    x = b.pick(types, RANKS, quantized=False)
    targets = [t for t in types if {t, b[x].dtype} != {"int64", "float32"}]
    target = str(b.rng.choice(targets))
    out = b.tensor(b[x].shape, target)
    b.op("CAST", [x], [out], "CastOptions")
