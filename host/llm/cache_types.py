"""The storage types of the cache of keys and values."""

from __future__ import annotations

from arenite.host.llm.ggml_types import TYPES_BY_NAME, GgmlType

#: The types by the name that llama.cpp's option ``--cache-type-k`` has for them, from the most to the least precise.
CACHE_TYPES: dict[str, GgmlType] = {
    "f16": TYPES_BY_NAME["F16"],
    "q8_0": TYPES_BY_NAME["Q8_0"],
    "q4_0": TYPES_BY_NAME["Q4_0"],
}
DEFAULT_CACHE_TYPE = "f16"
