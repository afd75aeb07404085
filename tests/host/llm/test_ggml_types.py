"""The sizes and numbers of storage types are those of the package ``gguf``."""

from __future__ import annotations

import pytest

from arenite.host.llm.ggml_types import FILE_TYPES, GGML_TYPES

gguf = pytest.importorskip("gguf", reason="compares with the package gguf")


@pytest.mark.parametrize("number", GGML_TYPES)
def test_a_type_has_the_block_of_the_package(number: int) -> None:
    kind = GGML_TYPES[number]
    reference = gguf.GGMLQuantizationType(number)
    assert (kind.name, (kind.block_elements, kind.block_bytes)) == (
        reference.name,
        gguf.GGML_QUANT_SIZES[reference],
    )


def test_file_types_have_the_names_of_the_package() -> None:
    names = {
        kind.value: kind.name.removeprefix("MOSTLY_").removeprefix("ALL_") for kind in gguf.LlamaFileType
    }
    assert {number: names[number] for number in FILE_TYPES} == FILE_TYPES
