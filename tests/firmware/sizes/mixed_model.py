"""Build models that mix operators of every family."""

from __future__ import annotations

import numpy as np

from arenite.converters.graph.model import Model
from tests.fuzz.cases import load_all
from tests.fuzz.graph_builder import GraphBuilder

#: Maps each mix to its operators. A graph has all operators of a mix. Each reads earlier tensors if they fit.
MIXES = {
    "movement": (
        "TRANSPOSE CONCATENATION STRIDED_SLICE PACK UNPACK SPLIT_V PADV2 MIRROR_PAD TILE RESHAPE GATHER_ND "
        "BATCH_TO_SPACE_ND REVERSE_V2 SELECT_V2 ONE_HOT CAST"
    ),
    "state": "VAR_HANDLE UNIDIRECTIONAL_SEQUENCE_LSTM SVDF VAR_HANDLE ADD",
    "wide": "CONV_2D MUL SOFTMAX TANH LOGISTIC MEAN BATCH_MATMUL FULLY_CONNECTED RESIZE_BILINEAR DIV FLOOR_MOD",
    "narrow": (
        "CONV_2D DEPTHWISE_CONV_2D TRANSPOSE_CONV AVERAGE_POOL_2D PRELU LEAKY_RELU SOFTMAX LOG_SOFTMAX HARD_SWISH "
        "L2_NORMALIZATION SQUARED_DIFFERENCE ARG_MAX TOPK_V2 CUMSUM REDUCE_MAX DEQUANTIZE"
    ),
}


def mix(name: str) -> Model:
    """Return a random graph with the operators of ``MIXES[name]``."""
    b = GraphBuilder(np.random.default_rng(11), max_elements=256)
    for op in MIXES[name].split():
        load_all()[op](b)
    return b.build()
