"""Random trees in ONNX files: ONNX Runtime and the imported model choose the same leaves, for every kind of comparison
and after scalers. Files with invalid trees are refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.importers.imported_model import ImportOptions
from arenite.converters.importers.onnx_ml import onnx_writer
from arenite.converters.importers.onnx_ml.feature_steps import (
    FeatureStep,
    float32_at_most,
    thresholds_before,
)
from arenite.converters.importers.onnx_ml.import_model import import_classical
from arenite.errors import AreniteError, ModelError, UnsupportedModelError
from arenite.host.bench.reference import Reference
from tests.converters.importers.onnx_ml.random_trees import RandomTrees
from tests.example_count import example_count

onnxruntime = pytest.importorskip("onnxruntime")


def outputs(flatbuffer: bytes, x: np.ndarray) -> np.ndarray:
    """Return the real outputs of the model for each row of ``x``."""
    reference = Reference(flatbuffer)
    scale = reference.outputs[0]["quantization"][0]
    return np.stack([reference.run([row[None]])[0][0] for row in x]) * scale


@settings(max_examples=example_count(40), deadline=None)
@given(
    seed=st.integers(0, 1 << 30),
    depth=st.integers(0, 6),
    trees=st.integers(1, 5),
    width=st.integers(1, 4),
    missing=st.booleans(),
)
def test_random_trees_compute_what_onnx_runtime_computes(
    seed: int, depth: int, trees: int, width: int, missing: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """If ``missing``, samples have missing values, and each node has a side for them."""
    rng = np.random.default_rng(seed)
    ensemble = RandomTrees(rng, 3 if missing else 5, width, trees, depth, missing=missing)
    path = tmp_path_factory.mktemp("trees") / "m.onnx"
    path.write_bytes(ensemble.regressor())
    x = ensemble.samples(30)
    (expected,) = zip(
        *(onnxruntime.InferenceSession(path).run(None, {"X": row[None]}) for row in x), strict=True
    )
    model = import_classical(str(path), ImportOptions())
    leaf = max((abs(v) for *_, v in ensemble.leaves), default=1.0)
    np.testing.assert_allclose(
        # The tolerance is 1/30,000 of the largest leaf, once for each tree and once for their sum.
        outputs(model.flatbuffer, x),
        np.concatenate(expected),
        atol=(trees + 1) * leaf / 30_000,
    )
    if missing:  # the sides are random again
        return
    ensemble.shuffle()
    path.write_bytes(ensemble.regressor())
    again = import_classical(str(path), ImportOptions())
    np.testing.assert_array_equal(outputs(again.flatbuffer, x), outputs(model.flatbuffer, x))


@settings(max_examples=example_count(60), deadline=None)
@given(
    threshold=st.floats(-1e6, 1e6, width=32),
    offset=st.floats(-1e3, 1e3, width=32),
    factor=st.one_of(st.floats(-100, 100, width=32), st.just(0.0)),
    divide=st.booleans(),
)
def test_a_threshold_before_a_scaler_gives_the_same_comparison(
    threshold: float, offset: float, factor: float, divide: bool
) -> None:
    """The comparison is the same at the new threshold, at its neighbors, and at random numbers."""
    if divide and factor == 0:
        return
    step = FeatureStep(np.array([offset]), np.array([factor]), np.array([0.5]), divide)
    (new,), (swaps,) = thresholds_before([step], np.array([0]), np.array([threshold], np.float32))
    neighbors = [np.nextafter(new, np.float32(-np.inf)), new, np.nextafter(new, np.float32(np.inf))]
    rng = np.random.default_rng(0)
    x = np.array(
        [v for v in neighbors if np.isfinite(v)] + [*(rng.normal(size=50) * 1e3), 0.0, -0.0], np.float32
    )
    scaled = step.apply(x, np.zeros(len(x), int))
    with np.errstate(invalid="ignore"):
        expected = scaled <= np.float32(threshold)
    np.testing.assert_array_equal((x <= new) != swaps, expected)


@given(value=st.floats(-1e30, 1e30), strict=st.booleans())
def test_float64_thresholds_are_rounded_without_changing_a_comparison(value: float, strict: bool) -> None:
    (rounded,) = float32_at_most(np.array([value]), below=np.array([strict]))
    near = [np.nextafter(rounded, np.float32(-np.inf)), rounded, np.nextafter(rounded, np.float32(np.inf))]
    for x in near:
        holds = float(x) < value if strict else float(x) <= value
        assert (x <= rounded) == holds


def small(**changes: object) -> bytes:
    """Return an ONNX file with two small trees. ``changes`` replaces attributes."""
    return RandomTrees(np.random.default_rng(1), 3, 2, 2, 3).regressor(**changes)


def attributes() -> dict[str, np.ndarray]:
    """Return the numeric attributes of the trees of ``small``."""
    made = RandomTrees(np.random.default_rng(1), 3, 2, 2, 3).attributes("target")
    return {k: v for k, v in made.items() if isinstance(v, np.ndarray)}


def changed(name: str, value: float, where: int = 0) -> dict[str, object]:
    """Return one attribute with another value at an inner node."""
    array = attributes()[name].copy()
    modes = RandomTrees(np.random.default_rng(1), 3, 2, 2, 3).attributes("target")["nodes_modes"]
    assert isinstance(modes, list)
    inner = [k for k, mode in enumerate(modes) if mode != "LEAF"]
    array[inner[where]] = value
    return {name: array}


def cycle() -> dict[str, object]:
    """Return the child numbers of the trees, with a node whose child is its own parent."""
    made, (tree, k, yes) = (
        attributes(),
        (attributes()[f"nodes_{n}"] for n in ("treeids", "nodeids", "truenodeids")),
    )
    parent = next(i for i in range(len(k)) if yes[i] in k[tree == tree[i]] and made["nodes_falsenodeids"][i])
    array = yes.copy()
    array[parent] = k[parent]
    return {"nodes_truenodeids": array}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (changed("nodes_truenodeids", 9999), "does not exist"),
        (changed("nodes_truenodeids", -3), "does not exist"),
        (changed("nodes_falsenodeids", 1 << 62), "does not exist"),
        (changed("nodes_featureids", -1), "negative"),
        (changed("nodes_featureids", 77), "compares feature 77"),
        (changed("nodes_values", float("nan")), "NaN"),
        (changed("nodes_treeids", -5), "outside of 0"),
        (cycle(), "two parents|root|reached"),
        ({"nodes_modes": ["LEAF"]}, "nodes_modes"),
        ({"nodes_modes": ["BRANCH_MEMBER"] * len(attributes()["nodes_nodeids"])}, "BRANCH_MEMBER"),
        ({"nodes_values": np.zeros(3, np.float32)}, "3 values"),
        ({"nodes_nodeids": np.zeros(len(attributes()["nodes_nodeids"]), np.int64)}, "same number"),
        ({"target_ids": attributes()["target_ids"] + 100}, "output 10"),
        ({"target_weights": attributes()["target_weights"] * np.inf}, "not finite"),
        ({"target_nodeids": attributes()["target_nodeids"] * 0 + 12345}, "does not exist"),
        ({"n_targets": -1}, "targets"),
        ({"aggregate_function": "MAX"}, "MAX"),
        ({"post_transform": "PROBIT"}, "PROBIT"),
    ],
)
def test_attributes_of_invalid_trees_are_refused(
    changes: dict[str, object], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(small(**changes))
    with pytest.raises((ModelError, UnsupportedModelError), match=words):
        import_classical(str(path), ImportOptions())


@pytest.mark.parametrize("size", [1e-25, 1e-40, 1e30])
def test_leaves_that_no_scale_can_hold_are_refused(size: float, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(small(target_weights=(attributes()["target_weights"] * size).astype(np.float32)))
    with pytest.raises(UnsupportedModelError, match=r"need a step of .* is supported") as refusal:
        import_classical(str(path), ImportOptions())
    assert "another unit" in (refusal.value.hint or "")


def test_a_damaged_file_is_imported_or_refused_with_a_message_and_a_hint(tmp_path: Path) -> None:
    """Prefixes of a file, and files with one damaged byte, are either imported or refused."""
    data = small()
    rng = np.random.default_rng(0)
    path = tmp_path / "m.onnx"
    variants = [data[:n] for n in range(0, len(data), 37)]
    for at in rng.integers(0, len(data), 300):
        variants.append(data[:at] + bytes([int(rng.integers(256))]) + data[at + 1 :])
    for variant in variants:
        path.write_bytes(variant)
        try:
            import_classical(str(path), ImportOptions())
        except AreniteError as error:
            assert error.problem.endswith(".") and error.hint


def test_an_operator_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    node = onnx_writer.node("Imputer", ["X"], ["Z"], {"imputed_value_floats": np.ones(3, np.float32)})
    other = onnx_writer.node("LinearRegressor", ["Z"], ["Y"], {"coefficients": np.ones(3, np.float32)})
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_writer.model([node, other], 3, [onnx_writer.value_info(12, "Y", (1, 1))]))
    with pytest.raises(UnsupportedModelError, match=r"layer 'Imputer_Z' \(Imputer\)"):
        import_classical(str(path), ImportOptions())


def test_outputs_that_the_image_leaves_out_are_named(tmp_path: Path) -> None:
    linear = onnx_writer.node("LinearRegressor", ["X"], ["Z"], {"coefficients": np.ones(3, np.float32)})
    nodes = [linear, onnx_writer.node("Sigmoid", ["Z"], ["Y"], {}, "")]
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_writer.model(nodes, 3, [onnx_writer.value_info(12, name, (1, 1)) for name in "YZ"]))
    assert (
        "The image has the output 'Y'. It leaves out 'Z'."
        in import_classical(str(path), ImportOptions()).notes
    )


@pytest.mark.slow
def test_a_file_of_many_values_is_refused_before_they_take_much_memory(tmp_path: Path) -> None:
    """Each of five attributes has a million integers, of two bytes each in the file."""
    parts = [
        onnx_writer.message(1, "X"),
        onnx_writer.message(2, "Y"),
        onnx_writer.message(4, "TreeEnsembleRegressor"),
    ]
    for k in range(5):
        parts.append(onnx_writer.message(5, onnx_writer.message(1, f"a{k}"), b"\x40\x01" * (1 << 20)))
    node = onnx_writer.message(1, *parts, onnx_writer.message(7, "ai.onnx.ml"))
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_writer.model([node], 3, []))
    with pytest.raises(ModelError, match="more than 4,194,304"):
        import_classical(str(path), ImportOptions())


@pytest.mark.slow
def test_packed_integers_are_limited_too(tmp_path: Path) -> None:
    """The last attribute of a node, and a tensor, have five million integers, of one byte each in the file."""
    many = b"\x01" * 5_000_000
    attribute = onnx_writer.message(5, onnx_writer.message(1, "a"), onnx_writer.message(8, many))
    operator = onnx_writer.message(1, onnx_writer.message(4, "Scaler"), attribute)
    tensor = onnx_writer.message(5, onnx_writer.number(2, 7), onnx_writer.message(7, many))
    path = tmp_path / "m.onnx"
    for data in (onnx_writer.model([operator], 3, []), onnx_writer.model([], 3, [], [tensor])):
        path.write_bytes(data)
        with pytest.raises(ModelError, match="more than 4,194,304"):
            import_classical(str(path), ImportOptions())


def test_a_tensor_of_many_dimensions_is_refused_before_they_are_multiplied(tmp_path: Path) -> None:
    tensor = onnx_writer.message(5, onnx_writer.message(1, b"\x7f" * 1000), onnx_writer.number(2, 1))
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx_writer.model([], 3, [], [tensor]))
    with pytest.raises(ModelError, match="more than 32 dimensions"):
        import_classical(str(path), ImportOptions())
