"""Read labelled samples from an .npz or .npy file. ``sample_values`` interprets their numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from arenite.array_files import read_array, read_arrays
from arenite.converters.graph.model import Tensor
from arenite.errors import UsageError

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp"})
RECORDINGS = frozenset({".wav"})
ARRAYS = frozenset({".npz", ".npy"})

#: Converts a picture or recording to one float32 array per model input, in the shape of the input.
Preprocessing = Callable[[Path], Sequence[np.ndarray]]


@dataclass(frozen=True)
class RawData:
    """The arrays of sample files. ``columns[i]`` has all samples of input ``i``; its first dimension is the number of
    samples.

    ``stated[i]`` is the (scale, zero point) that the file states for input ``i``, or None. ``classes`` has the names of
    the classes if they are known. ``labels`` are the labels of the first output, and ``more_labels[k]`` those
    of output ``k``.
    """

    columns: list[np.ndarray]
    labels: np.ndarray | None
    slices: Mapping[str, np.ndarray]
    sha256: str
    stated: list[tuple[float, int] | None]
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())
    more_labels: Mapping[int, np.ndarray] = field(default_factory=dict)


def evenly_spread_indices(count: int, limit: int | None) -> np.ndarray:
    """Return ``limit`` of the indices 0 to ``count`` - 1 at even distances. If samples are sorted by class, this
    selects samples of all classes. Return all indices if ``limit`` is None."""
    if limit is None or limit >= count:
        return np.arange(count)
    return np.arange(limit) * count // limit


def read_file(path: Path, tensors: Sequence[Tensor]) -> RawData:
    """Return the samples in the .npz or .npy file ``path``. Raises ``UsageError`` if it cannot be read or does not
    fit the inputs ``tensors``."""
    suffix = path.suffix.lower()
    if suffix in PICTURES | RECORDINGS:
        raise UsageError(f"{path} is a single file.", "Give the folder that contains it and others like it.")
    if suffix == ".npy":
        return _npy_samples(path, _load(path)[""], tensors)
    return _npz_samples(path, _load(path), len(tensors))


def _load(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an .npz file by name. The array of an .npy file has the name ""."""
    try:
        if path.suffix.lower() == ".npy":
            return {"": read_array(path)}
        return read_arrays(path)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError | ValueError) -> UsageError:
    """Return the error for a sample file that ``array_files`` cannot read because of ``error``."""
    text = str(error)
    if "pickle" in text.lower() or "Object arrays" in text:
        return UsageError(
            f"{path} holds pickled Python objects, which are not read: they can run any program.",
            "Save plain arrays of numbers, with numpy.savez(path, x=..., y=...); samples of different lengths must "
            "be cut or padded to one shape.",
        )
    return UsageError(f"Cannot read {path}: {text}.", "Write it with numpy.savez(path, x=..., y=...).")


def _npz_samples(path: Path, arrays: Mapping[str, np.ndarray], inputs: int) -> RawData:
    """Return the samples, labels and slices of an .npz file. The names of its arrays say what they hold."""
    names = ["x"] if inputs == 1 and "x0" not in arrays else [f"x{i}" for i in range(inputs)]
    columns = []
    for name in names:
        if name not in arrays:
            raise UsageError(
                f"{path} has no array '{name}'; it has {', '.join(map(repr, arrays)) or 'none'}.",
                "One input is called x; several are called x0, x1, ...; labels are called y.",
            )
        if arrays[name].ndim == 0:
            raise UsageError(
                f"{path}: '{name}' is a single number.", "Its first dimension must count the samples."
            )
        columns.append(arrays[name])
    count = len(columns[0])
    slices = {n.removeprefix("slice_"): a for n, a in arrays.items() if n.startswith("slice_")}
    labels, more_labels = _labels(path, arrays)
    others = dict(zip(names, columns, strict=True)) | {f"slice_{n}": a for n, a in slices.items()}
    others |= {f"y{k}": array for k, array in more_labels.items()}
    for name, array in (others | ({} if labels is None else {"y": labels})).items():
        if array.shape[:1] != (count,):
            other_count = f"{len(array):,} samples" if array.ndim else "no dimension"
            raise UsageError(
                f"{path}: '{names[0]}' has {count:,} samples and '{name}' has {other_count}.",
                "Write one entry per sample in every array.",
            )
    stated = [_stated_quantization(path, arrays, i) for i in range(inputs)]
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return RawData(columns, labels, slices, sha256, stated, more_labels=more_labels)


def _labels(path: Path, arrays: Mapping[str, np.ndarray]) -> tuple[np.ndarray | None, dict[int, np.ndarray]]:
    """Return the labels of the first output (array y or y0), and the labels of the other outputs (arrays y1, y2,
    ...) by output index."""
    if "y" in arrays and "y0" in arrays:
        raise UsageError(
            f"{path} has both 'y' and 'y0'; both are the labels of the first output.",
            "Leave out one of them.",
        )
    numbered = {
        int(name[1:]): array for name, array in arrays.items() if name[:1] == "y" and name[1:].isdecimal()
    }
    first = numbered.pop(0, None)
    return arrays.get("y", first), numbered


def _npy_samples(path: Path, array: np.ndarray, tensors: Sequence[Tensor]) -> RawData:
    """Return the samples of an .npy file. If its array has the shape of the input, it is a single sample."""
    if len(tensors) != 1:
        raise UsageError(
            f"{path} holds one array; the model has {len(tensors)} inputs.",
            "Write an .npz with numpy.savez(path, x0=..., x1=...).",
        )
    shape = tensors[0].shape
    if array.shape in (shape, shape[1:]):
        array = array[np.newaxis]
    if array.ndim == 0:
        raise UsageError(
            f"{path} holds a single number.", f"Samples of this model have shape {tuple(shape)}."
        )
    return RawData([array], None, {}, hashlib.sha256(path.read_bytes()).hexdigest(), [None])


def _stated_quantization(
    path: Path, arrays: Mapping[str, np.ndarray], index: int
) -> tuple[float, int] | None:
    """Return the (scale, zero point) that the file states for input ``index``, or None. The arrays are named ``scale``
    and ``zero_point``, or ``scale0`` and ``zero_point0`` for input 0 and so on."""
    scale = arrays.get(f"scale{index}", arrays.get("scale"))
    zero = arrays.get(f"zero_point{index}", arrays.get("zero_point"))
    if scale is None:
        if zero is not None:
            raise UsageError(f"{path} has 'zero_point' without 'scale'.", "Write both, or neither.")
        return None
    if scale.size != 1 or (zero is not None and zero.size != 1):
        raise UsageError(
            f"{path}: 'scale' has shape {scale.shape}; one number per input is expected.",
            f"Write 'scale{index}' and 'zero_point{index}' as single numbers.",
        )
    if scale.dtype.kind not in "fiu" or not np.isfinite(scale).all() or not scale.item() > 0:
        raise UsageError(f"{path}: 'scale' is {scale.item()!r}.", "A scale is a positive number.")
    if zero is not None and (zero.dtype.kind not in "fiu" or zero.item() != int(zero.item())):
        raise UsageError(f"{path}: 'zero_point' is {zero.item()!r}.", "A zero point is an integer.")
    return float(scale.item()), 0 if zero is None else int(zero.item())


def limited(raw: RawData, path: Path, limit: int | None) -> RawData:
    """Return at most ``limit`` samples of ``raw``, taken at even distances. Raises ``UsageError`` if there are none."""
    count = len(raw.columns[0])
    if count == 0:
        raise UsageError(f"{path} has no samples.", "Write at least one.")
    if limit is None or limit >= count:
        return raw
    chosen = evenly_spread_indices(count, limit)
    labels = None if raw.labels is None else raw.labels[chosen]
    slices = {n: a[chosen] for n, a in raw.slices.items()}
    note = f"{path}: {limit:,} of {count:,} samples are used, evenly spread."
    return RawData(
        [c[chosen] for c in raw.columns],
        labels,
        slices,
        sample_subset_hash(raw.sha256, chosen),
        raw.stated,
        raw.classes,
        (*raw.notes, note),
        {k: a[chosen] for k, a in raw.more_labels.items()},
    )


def sample_subset_hash(sha256: str, chosen: np.ndarray) -> str:
    """Return the hash of a selection of samples: the hash of all samples, ``sha256``, and the selected indices."""
    return hashlib.sha256(bytes.fromhex(sha256) + np.asarray(chosen, "<i8").tobytes()).hexdigest()
