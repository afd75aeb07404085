"""Compute the bytes of a model in a quantization that no file has yet.

The rules are those of llama.cpp's quantizer (function ``llama_tensor_get_type`` in src/llama-quant.cpp) without an
importance matrix. The tests compare the sums with published sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from arenite.host.llm.architecture import Architecture
from arenite.host.llm.ggml_types import TYPES_BY_NAME
from arenite.host.llm.language_model import LanguageModel
from arenite.host.llm.tensor_shapes import Weight, weights


@dataclass(frozen=True)
class Quantization:
    """The types of a quantization: ``base`` of most weights, ``output`` of the output matrix, and ``better`` of the
    weights that llama.cpp keeps more precise in about half of the layers. ``fused``: of a matrix with queries, keys and
    values together."""

    base: str
    output: str
    better: str = ""
    fused: str = ""


#: The quantizations that are computed, from the largest to the smallest.
QUANTIZATIONS = {
    "F16": Quantization("F16", "F16"),
    "BF16": Quantization("BF16", "BF16"),
    "Q8_0": Quantization("Q8_0", "Q8_0"),
    "Q6_K": Quantization("Q6_K", "Q6_K"),
    "Q5_K_M": Quantization("Q5_K", "Q6_K", better="Q6_K", fused="Q6_K"),
    "Q4_K_M": Quantization("Q4_K", "Q6_K", better="Q6_K", fused="Q5_K"),
    "Q4_1": Quantization("Q4_1", "Q6_K"),
    "Q4_0": Quantization("Q4_0", "Q6_K"),
    "IQ4_XS": Quantization("IQ4_XS", "Q6_K"),
}
DEFAULT_QUANTIZATION = "Q4_K_M"

#: What the quantizer takes if the rows are not multiples of the block of 256 elements.
_FALLBACKS = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "IQ4_XS": "IQ4_NL"}


def quantized_model(path: Path, architecture: Architecture, quantization: str) -> LanguageModel:
    """Return the model of ``architecture`` in ``quantization``, a key of ``QUANTIZATIONS``. ``path`` is the file that
    describes the architecture."""
    rules = QUANTIZATIONS[quantization]
    model = LanguageModel(path, architecture, quantization, 0, 0, 0, 0, exact=False)
    for weight in weights(architecture):
        elements, size = weight.rows * weight.columns, _bytes(weight, architecture, rules)
        active = weight.role != "token_embd" or architecture.tied
        model = replace(
            model,
            parameters=model.parameters + elements,
            weight_bytes=model.weight_bytes + size,
            active_parameters=model.active_parameters + elements * active,
            active_bytes=model.active_bytes + size * active,
        )
    return model


def _bytes(weight: Weight, architecture: Architecture, rules: Quantization) -> int:
    if weight.rows == 1:
        return 4 * weight.columns
    kind = TYPES_BY_NAME[_kind(weight, architecture, rules)]
    if weight.columns % kind.block_elements:
        kind = TYPES_BY_NAME[_FALLBACKS.get(kind.name, "F16")]
    return weight.rows * kind.row_bytes(weight.columns)


def _kind(weight: Weight, architecture: Architecture, rules: Quantization) -> str:
    if weight.role == "output" or (weight.role == "token_embd" and architecture.tied):
        return rules.output
    if weight.role == "attn_qkv" and rules.fused:
        return rules.fused
    if (
        rules.better
        and weight.role in ("attn_v", "ffn_down")
        and _has_more_bits(weight.layer, len(architecture.layers))
    ):
        return rules.better
    return rules.base


def _has_more_bits(layer: int, layers: int) -> bool:
    """Return whether the quantizer gives more bits to this layer: to the first and the last eighth of the layers, and
    to every third layer between."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
