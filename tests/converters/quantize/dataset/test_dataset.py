"""Samples are loaded as real values, and data that cannot be used are an error with a reason."""

import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.converters.graph.model import Quantization, Tensor
from arenite.converters.quantize.dataset.dataset import Dataset, load_dataset
from arenite.errors import UsageError
from tests.example_count import example_count

#: A float and a quantized input tensor, and samples for them.
PLAIN = Tensor(0, "picture", (1, 4, 5, 3), "float32")
QUANTIZED = Tensor(0, "picture", (1, 4, 5, 3), "int8", Quantization((0.0078125,), (0,)))
RNG = np.random.default_rng(0)
X = RNG.random((20, 4, 5, 3)).astype(np.float32)


def saved(tmp_path: Path, **arrays: object) -> Path:
    """Write ``arrays`` to an .npz file and return its path."""
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


def error(path: Path, *tensors: Tensor, **options: object) -> str:
    """Return the error that ``load_dataset`` raises for ``path``, after checking that it has a problem and a hint."""
    with pytest.raises(UsageError) as caught:
        load_dataset(path, tensors or (PLAIN,), **options)  # type: ignore[arg-type]
    assert caught.value.problem and caught.value.hint
    return str(caught.value)


def test_samples_labels_and_slices_are_loaded(tmp_path: Path) -> None:
    room = np.array(["kitchen", "hall"] * 10)
    dataset = load_dataset(saved(tmp_path, x=X, y=np.arange(20) % 3, slice_room=room), [PLAIN])
    assert (
        len(dataset) == 20
        and dataset.inputs[3][0].shape == (1, 4, 5, 3)
        and dataset.inputs[3][0].dtype == np.float32
    )
    assert np.array_equal(dataset.inputs[3][0][0], X[3])
    assert dataset.labels is not None and dataset.labels[4] == 1
    assert dataset.slices["room"][1] == "hall"
    assert any("20 samples are few" in n for n in dataset.notes)


def test_arrays_with_a_batch_dimension_and_of_float64_are_loaded(tmp_path: Path) -> None:
    dataset = load_dataset(saved(tmp_path, x=X[:, None].astype(np.float64)), [PLAIN])
    assert np.array_equal(dataset.inputs[7][0][0], X[7])


def test_several_inputs_are_loaded(tmp_path: Path) -> None:
    ids = Tensor(1, "ids", (1, 6), "int32")
    words = RNG.integers(0, 100, (20, 6))
    dataset = load_dataset(saved(tmp_path, x0=X, x1=words), [PLAIN, ids])
    assert dataset.inputs[2][1].dtype == np.int32 and np.array_equal(dataset.inputs[2][1][0], words[2])
    assert "no array 'x1'" in error(saved(tmp_path, x0=X), PLAIN, ids)
    assert "int32" in error(saved(tmp_path, x0=X, x1=words + 0.5), PLAIN, ids)
    assert "int32" in error(saved(tmp_path, x0=X, x1=words + 2**40), PLAIN, ids)


def test_class_names_become_numbers(tmp_path: Path) -> None:
    dataset = load_dataset(saved(tmp_path, x=X, y=np.array(["yes", "no"] * 10)), [PLAIN])
    assert (
        dataset.classes == ("no", "yes")
        and dataset.labels is not None
        and dataset.labels[:2].tolist() == [1, 0]
    )


def test_integers_are_quantized_values_pixels_or_an_error(tmp_path: Path) -> None:
    integers = RNG.integers(-128, 128, X.shape)
    int8_values = integers.astype(np.int8)
    assert "are these quantized?" in error(saved(tmp_path, x=int8_values))
    assert "are these quantized?" in error(saved(tmp_path, x=int8_values.astype(np.int16)))
    real = np.float32(0.5) * (integers - 3).astype(np.float32)
    stated = load_dataset(saved(tmp_path, x=int8_values, scale=0.5, zero_point=3), [PLAIN])
    given = load_dataset(saved(tmp_path, x=int8_values), [PLAIN], quantized=(0.5, 3))
    assert np.array_equal(stated.inputs[1][0][0], real[1]) and np.array_equal(given.inputs[1][0][0], real[1])
    as_input = load_dataset(saved(tmp_path, x=int8_values), [QUANTIZED])
    assert np.array_equal(as_input.inputs[1][0][0], integers[1].astype(np.float32) * np.float32(0.0078125))
    pixels = load_dataset(saved(tmp_path, x=(integers + 128).astype(np.uint8)), [PLAIN])
    assert np.array_equal(pixels.inputs[1][0][0], (integers[1] + 128).astype(np.float32))
    assert any("used as pixels from 0 to 255" in n for n in pixels.notes)
    wide = load_dataset(saved(tmp_path, x=integers.astype(np.int64)), [PLAIN])
    assert np.array_equal(wide.inputs[1][0][0], integers[1].astype(np.float32))


def test_an_invalid_scale_is_an_error(tmp_path: Path) -> None:
    small = RNG.integers(-128, 128, X.shape).astype(np.int8)
    assert "positive" in error(saved(tmp_path, x=small, scale=0.0))
    assert "positive" in error(saved(tmp_path, x=small), quantized=(-1.0, 0))
    assert "one number per input" in error(saved(tmp_path, x=small, scale=np.ones(3)))
    assert "is an integer" in error(saved(tmp_path, x=small, scale=1.0, zero_point=0.5))
    assert "without 'scale'" in error(saved(tmp_path, x=small, zero_point=1))
    assert "need no scale" in error(saved(tmp_path, x=X, scale=1.0))


def test_values_outside_the_range_of_a_quantized_input_give_a_note(tmp_path: Path) -> None:
    notes = load_dataset(saved(tmp_path, x=X * 255), [QUANTIZED]).notes
    note = next(n for n in notes if "will clip" in n)
    assert "-1 to 0.992188" in note and "99." in note and "divided by 255" in note
    notes = load_dataset(saved(tmp_path, x=X / 255), [QUANTIZED]).notes
    assert any("less than 2%" in n for n in notes)
    assert not any("clip" in n for n in load_dataset(saved(tmp_path, x=X * 0.99), [QUANTIZED]).notes)


def test_samples_that_cannot_calibrate_are_an_error(tmp_path: Path) -> None:
    assert "at least 10" in error(saved(tmp_path, x=X[:3]))
    assert len(load_dataset(saved(tmp_path, x=X[:3]), [PLAIN], calibration=False)) == 3
    assert "at least 10" in error(saved(tmp_path, x=X), limit=5)
    assert "are the same" in error(saved(tmp_path, x=np.repeat(X[:1], 20, axis=0)))
    constant = np.ones_like(X) * np.arange(20, dtype=np.float32)[:, None, None, None]
    assert "all values are equal" in error(saved(tmp_path, x=constant))
    bad = X.copy()
    bad[7, 1, 1, 1] = np.nan
    assert "NaN" in error(saved(tmp_path, x=bad)) and "sample 7" in error(saved(tmp_path, x=bad))
    bad[7, 1, 1, 1] = -np.inf
    assert "infinite" in error(saved(tmp_path, x=bad))
    assert "infinite" in error(saved(tmp_path, x=X.astype(np.float64) * 1e300))
    mixed = X.copy()
    mixed[4] = 0.5
    mixed[10:] = X[10]
    notes = load_dataset(saved(tmp_path, x=mixed), [PLAIN]).notes
    assert any("in 1 of 20 samples of 'x' all values are equal; the first is sample 4" in n for n in notes)
    assert any("only 11 of 20 samples" in n for n in notes)


def test_a_constant_input_beside_others_gives_a_note(tmp_path: Path) -> None:
    mode = Tensor(1, "mode", (1, 2), "float32")
    dataset = load_dataset(saved(tmp_path, x0=X, x1=np.ones((20, 2))), [PLAIN, mode])
    assert any("'x1' is the same in all 20 samples" in n for n in dataset.notes)
    assert "are the same" in error(saved(tmp_path, x0=X[:1].repeat(20, 0), x1=np.ones((20, 2))), PLAIN, mode)


def test_the_error_of_a_wrong_shape_suggests_a_fix(tmp_path: Path) -> None:
    assert "transpose(0, 2, 3, 1)" in error(saved(tmp_path, x=X.transpose(0, 3, 1, 2)))
    assert "transpose(0, 2, 1, 3)" in error(saved(tmp_path, x=X.transpose(0, 2, 1, 3)))
    first = Tensor(0, "x", (1, 3, 4, 5), "float32")
    assert "has them first: transpose with x.transpose(0, 3, 1, 2)" in error(saved(tmp_path, x=X), first)
    assert "reshape((-1, 4, 5, 3))" in error(saved(tmp_path, x=X.reshape(20, 60)))
    assert "a single sample" in error(saved(tmp_path, x=X[0]))
    assert "Give 'x' as (samples, 4, 5, 3)" in error(saved(tmp_path, x=X[:, :3]))
    assert "single number" in error(saved(tmp_path, x=np.float32(1)))
    assert "type <U1" in error(
        saved(tmp_path, x=np.array(["a"] * 20)[:, None, None, None].repeat(60).reshape(X.shape))
    )


def test_files_without_samples_are_an_error(tmp_path: Path) -> None:
    assert "does not exist" in error(tmp_path / "none.npz")
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"PK\x03\x04 not a zip")
    assert "Cannot read" in error(broken)
    valid = saved(tmp_path, x=X).read_bytes()
    broken.write_bytes(valid[: len(valid) // 2])
    assert "Cannot read" in error(broken)
    pickled = tmp_path / "pickled.npz"
    pickled.write_bytes(pickle.dumps({"x": X}))
    error(pickled)
    ragged = np.empty(2, object)
    ragged[:] = [X[0], X[1, :2]]
    assert "pickled Python objects" in error(saved(tmp_path, x=ragged))
    np.save(tmp_path / "ragged.npy", ragged)
    assert "pickled Python objects" in error(tmp_path / "ragged.npy")
    assert "no array 'x'" in error(saved(tmp_path, images=X)) and "'images'" in error(
        saved(tmp_path, images=X)
    )
    assert "no samples" in error(saved(tmp_path, x=X[:0]))
    picture = tmp_path / "one.png"
    picture.write_bytes(b"")
    assert "single file" in error(picture)


def test_invalid_labels_and_slices_are_an_error(tmp_path: Path) -> None:
    assert "'y' has 19 samples" in error(saved(tmp_path, x=X, y=np.zeros(19)))
    assert "'slice_a' has 3 samples" in error(saved(tmp_path, x=X, slice_a=np.zeros(3)))
    assert "no labels" in error(saved(tmp_path, x=X), labels=True)
    assert "'y' has NaN" in error(saved(tmp_path, x=X, y=np.full(20, np.nan)))
    assert "slice_a" in error(saved(tmp_path, x=X, slice_a=np.zeros((20, 2), int)))


def test_a_limit_selects_evenly_spaced_samples_and_changes_the_hash(tmp_path: Path) -> None:
    path = saved(tmp_path, x=X, y=np.repeat([0, 1], 10))
    complete, limited = load_dataset(path, [PLAIN]), load_dataset(path, [PLAIN], limit=10)
    assert limited.labels is not None and limited.labels.tolist() == [0] * 5 + [1] * 5
    assert np.array_equal(limited.inputs[1][0][0], X[2])
    assert limited.sha256 != complete.sha256 and limited.sha256 == complete.limited(10).sha256
    assert any("10 of 20 samples are used" in n for n in limited.notes)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 60), st.data())
def test_a_split_is_a_partition(count: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, count - 1))
    dataset = Dataset([[np.array([k])] for k in range(count)], np.arange(count), {}, "00" * 32, Path("x"))
    a, b = dataset.split(first)
    assert a.labels is not None and b.labels is not None
    assert len(a) == first and sorted([*a.labels, *b.labels]) == list(range(count))
    assert [int(s[0][0]) for s in a.inputs] == a.labels.tolist()


def test_folders_of_arrays_are_loaded(tmp_path: Path) -> None:
    for k, name in enumerate(["cat", "dog"]):
        (tmp_path / "data" / name).mkdir(parents=True)
        for j in range(6):
            np.save(tmp_path / "data" / name / f"{j}.npy", X[6 * k + j])
    dataset = load_dataset(tmp_path / "data", [PLAIN])
    assert (
        dataset.labels is not None
        and dataset.labels.tolist() == [0] * 6 + [1] * 6
        and dataset.classes == ("cat", "dog")
    )
    assert np.array_equal(dataset.inputs[8][0][0], X[8])
    (tmp_path / "data" / "labels.txt").write_text("dog\ncat\n")
    swapped = load_dataset(tmp_path / "data", [PLAIN])
    assert swapped.labels is not None and swapped.labels[0] == 1
    (tmp_path / "data" / "labels.txt").write_text("dog\n")
    assert "does not list the folder 'cat'" in error(tmp_path / "data")
    np.save(tmp_path / "data" / "stray.npy", X[0])
    (tmp_path / "data" / "labels.txt").unlink()
    assert "is not in a sub-folder" in error(tmp_path / "data")
    (tmp_path / "empty").mkdir()
    assert "has no samples" in error(tmp_path / "empty")


def test_a_folder_of_npz_files_is_one_data_set(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    np.savez(folder / "a.npz", x=X[:12], y=np.arange(12))
    np.savez(folder / "b.npz", x=X[12:], y=np.arange(12, 20))
    dataset = load_dataset(folder, [PLAIN])
    assert dataset.labels is not None and dataset.labels.tolist() == list(range(20))
    np.savez(folder / "b.npz", x=X[12:])
    assert "other labels" in error(folder)
    np.savez(folder / "b.npz", x=X[12:, :2], y=np.arange(12, 20))
    assert "one shape" in error(folder)


def test_folders_of_images_need_the_preprocessing(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    for name, shade in (("3", 0), ("7", 100)):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        for j in range(6):
            pixels = RNG.integers(shade, shade + 100, (4, 5, 3)).astype(np.uint8)
            image.fromarray(pixels).save(tmp_path / "pictures" / name / f"{j}.png")
    assert "preprocessing is not known" in error(tmp_path / "pictures")

    def read(path: Path) -> list[np.ndarray]:
        """Return the inputs of the model for one file."""
        return [np.asarray(image.open(path), np.float32)[None] / 255]

    dataset = load_dataset(tmp_path / "pictures", [PLAIN], preprocessing=read)
    assert dataset.labels is not None and dataset.labels.tolist() == [3] * 6 + [7] * 6
    assert (
        dataset.inputs[0][0].shape == (1, 4, 5, 3)
        and dataset.inputs[11][0].mean() > dataset.inputs[0][0].mean()
    )
    (tmp_path / "pictures" / "3" / "sound.wav").write_bytes(b"")
    assert "mixes pictures and recordings" in error(tmp_path / "pictures", preprocessing=read)


@settings(max_examples=example_count(60), deadline=None)
@given(st.data())
def test_any_archive_gives_samples_or_an_error(data: st.DataObject) -> None:
    """The arrays have many types and shapes, and some have NaN or infinite values."""
    kind = data.draw(
        st.sampled_from(["f4", "f8", "f2", "i1", "i2", "i8", "u1", "u8", "?", "U3", "S2", "c8", "M8[s]", "O"])
    )
    shape = data.draw(
        st.sampled_from(
            [(20, 4, 5, 3), (20, 1, 4, 5, 3), (20, 3, 4, 5), (4, 5, 3), (0, 4, 5, 3), (), (20,), (20, 60)]
        )
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = (rng.normal(size=shape) * 50).astype("f8")
    array = x.astype(kind) if kind not in ("M8[s]",) else x.astype("i8").astype(kind)
    if kind.startswith("f") and array.size and data.draw(st.booleans()):
        array.flat[0] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, 6e4]))
    more = (
        {"y": rng.integers(0, 3, data.draw(st.sampled_from([20, 19, 0])))} if data.draw(st.booleans()) else {}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any.npz"
        np.savez(path, x=array, **more)  # type: ignore[arg-type]
        try:
            dataset = load_dataset(path, [data.draw(st.sampled_from([PLAIN, QUANTIZED]))])
        except UsageError as caught:
            assert caught.hint
        else:
            assert len(dataset) == 20 and dataset.inputs[0][0].shape == (1, 4, 5, 3)
            assert all(np.isfinite(s[0]).all() for s in dataset.inputs)


def test_pixels_in_an_array_are_an_error_if_the_model_has_preprocessing(tmp_path: Path) -> None:
    pixels = RNG.integers(0, 256, (20, 4, 5, 3), dtype=np.uint8)

    def preprocess(path: Path) -> list[np.ndarray]:
        raise AssertionError("arrays are not preprocessed")

    path = saved(tmp_path, x=pixels)
    assert "preprocessing" in error(path, preprocessing=preprocess)
    assert len(load_dataset(path, [PLAIN])) == 20
    stated = saved(tmp_path, x=pixels, scale=0.5, zero_point=3)
    assert len(load_dataset(stated, [PLAIN], preprocessing=preprocess)) == 20
