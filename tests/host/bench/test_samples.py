"""Tests of samples from files, random samples, the accuracy of outputs, and percentiles of measurements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.graph.index_limits import index_limits
from arenite.converters.graph.model import Model, Op, Quantization, Subgraph, Tensor
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.errors import ModelError, UsageError
from arenite.host.bench.figures import percentiles
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import accuracy, load_samples, random_samples

IMAGE = Tensor(0, "image", (1, 4, 3), "int8")
SOUND = Tensor(1, "sound", (8,), "int16")
REAL = Tensor(2, "real", (2, 2), "float32")


def saved(path: Path, **arrays: np.ndarray) -> Path:
    """Write the arrays to the file ``path`` and return ``path``."""
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def counting(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return an array whose elements count from 0."""
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("shape", [(5, 1, 4, 3), (5, 4, 3)], ids=["with the batch of 1", "without it"])
def test_each_sample_is_shaped_as_the_input(tmp_path: Path, shape: tuple[int, ...]) -> None:
    x = counting(shape, "int8")
    samples = load_samples(saved(tmp_path / "s.npz", x=x, y=np.arange(5)), [IMAGE])
    assert len(samples) == 5
    assert [i[0].shape for i in samples.inputs] == [(1, 4, 3)] * 5
    assert np.array_equal(np.stack([i[0] for i in samples.inputs]).reshape(x.shape), x)
    assert samples.labels is not None and samples.labels.tolist() == [0, 1, 2, 3, 4]


def test_a_batch_other_than_1_is_part_of_the_shape(tmp_path: Path) -> None:
    four = Tensor(0, "t", (4, 4, 3), "int8")
    assert len(load_samples(saved(tmp_path / "a.npz", x=counting((2, 4, 4, 3), "int8")), [four])) == 2
    with pytest.raises(UsageError, match="has shape"):
        load_samples(saved(tmp_path / "b.npz", x=counting((8, 4, 3), "int8")), [four])


def test_several_inputs_are_numbered(tmp_path: Path) -> None:
    x0, x1 = counting((3, 4, 3), "int8"), counting((3, 8), "int16")
    samples = load_samples(saved(tmp_path / "s.npz", x0=x0, x1=x1), [IMAGE, SOUND])
    assert [[i.shape for i in sample] for sample in samples.inputs] == [[(1, 4, 3), (8,)]] * 3
    assert samples.inputs[2][1].tolist() == x1[2].tolist() and samples.labels is None
    single_input = load_samples(saved(tmp_path / "one.npz", x0=x0), [IMAGE])
    assert len(single_input) == 3


def test_limit_takes_the_first_samples_and_their_labels(tmp_path: Path) -> None:
    path = saved(tmp_path / "s.npz", x=counting((6, 8), "int16"), y=np.arange(6))
    samples = load_samples(path, [SOUND], 2)
    assert len(samples) == 2 and samples.labels is not None and samples.labels.tolist() == [0, 1]
    assert len(load_samples(path, [SOUND], 100)) == 6


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": np.zeros((1, 8), "int16")}, r"has no array 'x0'; it has images"),
        ({"x": np.zeros((2, 9), "int16")}, r"'x' has shape \(2, 9\), expected \(samples, 8\)"),
        ({"x": np.zeros((2, 8), "int8")}, r"'x' is int8, the model's input 'sound' is int16"),
        ({"x": np.zeros((2, 8), "float32")}, r"'x' is float32, the model's input 'sound' is int16"),
        ({"x": np.zeros((0, 8), "int16")}, "has no samples"),
        ({"x": np.zeros((2, 8), "int16"), "y": np.zeros(3, "int64")}, "different numbers of samples"),
        ({"x": np.zeros((2, 8), "int16"), "y": np.array(3)}, "different numbers of samples"),
        ({"x": np.array(7, "int16")}, r"'x' has shape \(\)"),
        ({"x": np.array([None, {}], dtype=object)}, "Cannot read"),
    ],
)
def test_a_wrong_array_is_named(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_samples(saved(tmp_path / "s.npz", **arrays), [SOUND])


def test_all_inputs_need_the_same_number_of_samples(tmp_path: Path) -> None:
    path = saved(tmp_path / "s.npz", x0=np.zeros((2, 4, 3), "int8"), x1=np.zeros((3, 8), "int16"))
    with pytest.raises(UsageError, match="different numbers of samples"):
        load_samples(path, [IMAGE, SOUND])


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04cut off"])
def test_a_file_that_is_no_npz_raises_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.npz").write_bytes(content)
    with pytest.raises(UsageError, match="Cannot read"):
        load_samples(tmp_path / "s.npz", [SOUND])


def test_other_files_raise_an_error(tmp_path: Path) -> None:
    np.save(tmp_path / "s.npy", np.zeros((2, 8), "int16"))
    data = saved(tmp_path / "whole.npz", x=counting((50, 8), "int16")).read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: len(data) // 2])
    (tmp_path / "folder.npz").mkdir()
    for name in ("s.npy", "cut.npz", "folder.npz", "absent.npz"):
        with pytest.raises(UsageError, match="Cannot read"):
            load_samples(tmp_path / name, [SOUND])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_damaged_array_in_an_intact_archive_raises_an_error(
    tmp_path: Path, save: Callable[..., None]
) -> None:
    path = tmp_path / "s.npz"
    save(path, x=counting((500, 8), "int16"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF  # the archive's checksum no longer matches
    path.write_bytes(bytes(data))
    with pytest.raises(UsageError, match="Cannot read"):
        load_samples(path, [SOUND])


def test_random_samples_are_the_same_each_time_and_reach_the_whole_range() -> None:
    flag = Tensor(3, "flag", (64,), "bool")
    wide = Tensor(4, "wide", (64,), "int64")
    tensors = [IMAGE, SOUND, REAL, flag, wide]
    first, second = random_samples(tensors, 200), random_samples(tensors, 200)
    for a, b in zip(first.inputs, second.inputs, strict=True):
        assert all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))
    columns = [np.stack([sample[k] for sample in first.inputs]) for k in range(5)]
    assert [c.dtype.name for c in columns] == ["int8", "int16", "float32", "bool", "int64"]
    assert (columns[0].min(), columns[0].max()) == (-128, 127)
    assert columns[1].min() < -32_000 and columns[1].max() > 32_000
    assert columns[2].min() >= -1 and columns[2].max() < 1 and columns[2].std() > 0.5
    assert set(np.unique(columns[3])) == {False, True}
    assert np.abs(columns[4]).max() > 2**62


def test_random_indices_are_inside_their_table() -> None:
    """An input passes a reshape and a cast, and is then the index of a GATHER from a table of 20 rows. Another input is
    no index."""
    tensors = (
        Tensor(0, "table", (20, 4), "float32", None, np.zeros((20, 4), np.float32)),
        Tensor(1, "tokens", (1, 5), "int16"),
        Tensor(2, "flat", (5,), "int16"),
        Tensor(3, "wide", (5,), "int32"),
        Tensor(4, "y", (5, 4), "float32"),
        Tensor(5, "other", (8,), "int32"),
    )
    ops = (
        Op(0, "RESHAPE", (1,), (2,)),
        Op(1, "CAST", (2,), (3,)),
        Op(2, "GATHER", (0, 3), (4,), {"axis": 0, "batch_dims": 0}, "GatherOptions", 2),
    )
    graph = Subgraph("main", tensors, ops, (1, 5), (4,))
    assert index_limits(graph) == {1: 20}
    samples = random_samples([tensors[1], tensors[5]], 100, index_limits(graph))
    tokens = np.stack([row[0] for row in samples.inputs])
    assert tokens.dtype == np.int16 and (tokens.min(), tokens.max()) == (0, 19)
    assert np.abs(np.stack([row[1] for row in samples.inputs])).max() > 2**24


@pytest.mark.parametrize(
    ("name", "table", "indices", "limit"),
    [("GATHER_ND", (3, 7, 2), (4, 2), 3), ("EMBEDDING_LOOKUP", (9, 2), (4,), 9)],
)
def test_every_operator_with_a_table_limits_its_indices(
    name: str, table: tuple[int, ...], indices: tuple[int, ...], limit: int
) -> None:
    tensors = (
        Tensor(0, "table", table, "int8"),
        Tensor(1, "i", indices, "int32"),
        Tensor(2, "y", (1,), "int8"),
    )
    inputs = (1, 0) if name == "EMBEDDING_LOOKUP" else (0, 1)
    graph = Subgraph("main", tensors, (Op(0, name, inputs, (2,)),), (0, 1), (2,))
    assert index_limits(graph) == {1: limit}


def test_a_single_output_distinguishes_two_classes() -> None:
    tensor = Tensor(0, "y", (1, 1), "int8", Quantization((1 / 256,), (-128,)))
    outputs = [np.array([[v]], np.int8) for v in (-128, 0, 1, 127)]  # real values 0, 0.5, 0.504 and 0.996
    assert accuracy(outputs, np.array([0, 0, 1, 1]), tensor) == 1.0
    assert accuracy(outputs, np.array([0, 1, 1, 0]), tensor) == 0.5
    assert accuracy([np.array([0.7], np.float32)], np.array([1])) == 1.0


def test_accuracy_counts_the_largest_output() -> None:
    outputs = [np.array([[1, 9, 3]]), np.array([[7, 2, 2]]), np.array([[0, 0, 5]]), np.array([[4, 4, 1]])]
    # The first of equal outputs is the predicted class.
    assert accuracy(outputs, np.array([1, 2, 2, 0])) == 0.75
    assert accuracy(outputs, None) is None
    assert accuracy(outputs, np.array([0.5, 1, 2, 3])) is None  # labels that are not class numbers
    assert accuracy(outputs, np.eye(3, dtype=np.int64)[[1, 0, 2, 0]]) is None


def test_accuracy_of_a_segmentation_counts_positions() -> None:
    tensor = Tensor(0, "mask", (1, 2, 2, 3), "int8", Quantization((1 / 256,), (-128,)))
    classes = np.array([[[0, 1], [2, 2]], [[1, 1], [0, 2]]])
    outputs = [np.where(np.arange(3) == c[None, ..., None], 100, -100).astype(np.int8) for c in classes]
    labels = classes.copy()
    labels[1, 0, 0] = 2
    assert accuracy(outputs, labels, tensor) == 7 / 8
    class_map = Tensor(0, "map", (1, 2, 2), "int32", None)
    assert accuracy([c[None].astype(np.int32) for c in classes], labels, class_map) == 7 / 8
    assert accuracy(outputs, np.array([0, 1]), tensor) is None  # one argmax over all positions means nothing


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7], (7, 7, 7)),
        ([2, 1], (1, 2, 2)),
        (range(1, 11), (5, 10, 10)),
        (range(1, 21), (10, 19, 20)),
        (range(1, 101), (50, 95, 99)),
        (range(1, 102), (51, 96, 100)),
        (range(1, 1001), (500, 950, 990)),
    ],
)
def test_percentiles_are_nearest_rank(values: range | list[int], expected: tuple[int, int, int]) -> None:
    """Percentile p is the smallest measured value v such that at least p percent of all values are at most v."""
    # The values in an arbitrary order, which two primes determine.
    mixed = sorted(values, key=lambda v: v * 7919 % 1013)
    results = percentiles(mixed)
    assert (results["p50"], results["p95"], results["p99"]) == expected
    assert (results["min"], results["max"]) == (min(values), max(values))
    for share, name in ((50, "p50"), (95, "p95"), (99, "p99")):
        smallest = next(v for v in sorted(values) if 100 * sum(w <= v for w in values) >= share * len(values))
        assert results[name] == smallest


def test_an_input_that_litert_refuses_raises_a_model_error() -> None:
    table = np.arange(6, dtype=np.int8).reshape(3, 2)
    tensors = (
        Tensor(0, "table", (3, 2), "int8", Quantization((0.1,), (0,)), table),
        Tensor(1, "ids", (1,), "int32"),
        Tensor(2, "y", (1, 2), "int8", Quantization((0.1,), (0,))),
    )
    op = Op(0, "GATHER", (0, 1), (2,), {"axis": 0, "batch_dims": 0}, "GatherOptions", 2)
    reference = Reference(to_flatbuffer(Model((Subgraph("main", tensors, (op,), (1,), (2,)),))))
    assert reference.run([np.array([2], np.int32)])[0].tolist() == [[4, 5]]
    with pytest.raises(ModelError, match="cannot run the model on a sample"):
        reference.run([np.array([7], np.int32)])
