"""Tests of the reader of GGUF headers: it agrees with the package ``gguf``, and refuses damaged files in words."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from arenite.errors import ModelError, UnsupportedModelError
from arenite.host.llm.gguf_header import LongArray, read_gguf_header
from arenite.host.llm.gguf_model import read_gguf_model
from tests.host.llm.gguf_files import entry, small_llama, text

_START = b"GGUF" + struct.pack("<I", 3)


def with_entries(*entries: bytes, count: int | None = None) -> bytes:
    """Return a file without tensors and with the metadata ``entries``."""
    return _START + struct.pack("<QQ", 0, len(entries) if count is None else count) + b"".join(entries)


def test_header_has_metadata_and_tensors(tmp_path: Path) -> None:
    file = small_llama(tied=False)
    header = read_gguf_header(file.write(tmp_path / "model.gguf"))
    assert header.metadata["general.architecture"] == "llama"
    assert header.metadata["llama.block_count"] == 6
    assert header.metadata["tokenizer.ggml.tokens"] == LongArray(96)
    assert [(t.name, t.shape, t.kind.name) for t in header.tensors] == file.tensors
    assert sum(t.bytes for t in header.tensors) == sum(file.tensor_bytes(s, k) for _, s, k in file.tensors)


def test_both_readers_agree(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="compares with the package gguf")
    path = small_llama("gemma3", tied=False, window=512).write(tmp_path / "model.gguf")
    reference, header = gguf.GGUFReader(path), read_gguf_header(path)
    assert [(t.name, t.kind.name, t.elements, t.bytes) for t in header.tensors] == [
        (t.name, t.tensor_type.name, t.n_elements, t.n_bytes) for t in reference.tensors
    ]
    assert set(header.metadata) == {key for key in reference.fields if not key.startswith("GGUF.")}
    for key, value in header.metadata.items():
        expected = reference.fields[key].contents()
        assert value == (LongArray(len(expected)) if isinstance(value, LongArray) else expected), key


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    file, path = small_llama(layers=1), tmp_path / "model.gguf"
    file.metadata["tokenizer.ggml.tokens"] = ["a", "b"]
    header, data = len(file.header()), file.data()
    for size in (*range(header), *range(header, len(data), 997), len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(ModelError, match=r"truncated|empty|does not begin|at most"):
            read_gguf_header(path)


HUGE = (1 << 63) - 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\3\4" + bytes(60), "does not begin with GGUF"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(60), "version 1"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(60), "big-endian"),
        (_START + struct.pack("<QQ", HUGE, 0), "declares 9,223,372,036,854,775,807 tensors, but at most 0"),
        (with_entries(count=1 << 40), "declares 1,099,511,627,776 metadata entries"),
        (with_entries(struct.pack("<Q", HUGE) + bytes(20)), "bytes for the key of a metadata entry"),
        (with_entries(text("a") + struct.pack("<IIQ", 9, 4, 1 << 40) + bytes(8)), "elements of 'a'"),
        (with_entries(text("a") + struct.pack("<IIQ", 9, 8, 1 << 40) + bytes(8)), "elements of 'a'"),
        (with_entries(text("a") + struct.pack("<IIQQ", 9, 8, 1, HUGE) + bytes(8)), "a text in 'a' needs"),
        (with_entries(text("a") + struct.pack("<IQ", 8, HUGE)), "truncated: 'a' needs"),
        (with_entries(text("a") + struct.pack("<I", 77) + bytes(8)), "unknown type 77"),
        (with_entries(text("a") + struct.pack("<IIQ", 9, 9, 1) + bytes(40)), "array of type 9"),
        (with_entries(entry("a", 1), entry("a", 2)), "two metadata entries 'a'"),
        (with_entries(entry("general.alignment", 24)), "general.alignment 24"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_a_damaged_header_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError) as caught:
        read_gguf_header(path)
    assert message in str(caught.value) and caught.value.hint


def tensor_file(*tensors: bytes, data: int = 4096) -> bytes:
    header = _START + struct.pack("<QQ", len(tensors), 0) + b"".join(tensors)
    return header + bytes(-len(header) % 32) + bytes(data)


def tensor(name: str, *shape: int, kind: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (tensor_file(tensor("t", HUGE, HUGE)), "is truncated: its tensors end at byte"),
        (tensor_file(tensor("t", 0)), "shape [0]"),
        (tensor_file(tensor("t", 33, kind=2)), "rows of Q4_0 are multiples of 32"),
        (tensor_file(tensor("t", 32, kind=4)), "type 4, which is unknown"),
        (tensor_file(tensor("t")), "0 dimensions"),
        (tensor_file(tensor("t", 1, 1, 1, 1, 1)), "5 dimensions"),
        (tensor_file(tensor("t", 8), tensor("t", 8, offset=32)), "two tensors of the same name"),
        (tensor_file(tensor("t", 64), tensor("u", 8, offset=32)), "in the bytes of another tensor"),
        (tensor_file(tensor("t", 8, offset=8)), "offset 8, not a multiple of 32"),
        (tensor_file(tensor("t", 8, offset=1 << 40)), "is truncated"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_an_impossible_tensor_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(ModelError) as caught:
        read_gguf_header(path)
    assert message in str(caught.value)


_VALID = small_llama(layers=2).data()


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(_VALID) - 1), st.binary(min_size=1, max_size=8)), max_size=4
    ),
    size=st.integers(0, len(_VALID)),
)
def test_any_damage_gives_a_model_or_an_error_in_words(
    changes: list[tuple[int, bytes]], size: int, tmp_path: Path
) -> None:
    data = bytearray(_VALID)
    for position, new in changes:
        data[position : position + len(new)] = new
    path = tmp_path / "model.gguf"
    path.write_bytes(data if size < len(_VALID) // 2 else data[:size])
    try:
        model = read_gguf_model(path)
    except (ModelError, UnsupportedModelError) as error:
        assert path.name in error.problem or error.problem.startswith(("The ", "0 of", "1 of")), error
    else:
        assert 0 < model.weight_bytes <= len(data)


def test_long_texts_and_arrays_do_not_stay_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    million = [0] * (1 << 20)
    path.write_bytes(with_entries(entry("numbers", million), entry("template", "x" * (64 << 20))))
    tracemalloc.start()
    header = read_gguf_header(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert header.metadata["numbers"] == LongArray(1 << 20)
    assert header.metadata["template"] == "x" * 1024
    assert peak < 1 << 20
