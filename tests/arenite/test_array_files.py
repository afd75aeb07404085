"""NumPy files are refused if their stated sizes cannot be true or would exhaust the memory."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from arenite.array_files import read_array, read_arrays
from arenite.converters.importers import source_kinds
from arenite.converters.importers.outline.read_outline import read_outline
from arenite.converters.quantize.dataset.sample_files import read_file
from arenite.errors import ToolError, UsageError
from arenite.host.bench.samples import load_samples
from arenite.host.camera.model.tflite_metadata import archived_text
from arenite.models.archive_members import read_member
from arenite.models.datasets.user_data import user_data


def _header(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    """Return the header of a .npy file that states ``shape`` and ``dtype``."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _archive(path: Path, member: bytes) -> Path:
    """Write a .npz file whose only array is the .npy file ``member``, and return ``path``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", member)
    return path


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of an archive of 1 MB that unpacks to 1 GB of zeros."""
    path = tmp_path_factory.mktemp("bomb") / "bomb.npz"
    size = 1 << 30
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(_header((size // 4,)))
        for _ in range(size >> 24):
            member.write(bytes(1 << 24))
    return path


def test_arrays_are_read_as_numpy_reads_them(tmp_path: Path) -> None:
    expected = {"x": np.arange(12.0).reshape(3, 4), "name": np.array(["a", "bc"]), "n": np.array(7)}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "some.npz", **expected)  # type: ignore[arg-type]
        arrays = read_arrays(tmp_path / "some.npz")
        assert {k: v.tolist() for k, v in arrays.items()} == {k: v.tolist() for k, v in expected.items()}
    np.save(tmp_path / "one.npy", np.asfortranarray(expected["x"]))
    assert np.array_equal(read_array(tmp_path / "one.npy"), expected["x"])


@pytest.mark.slow
def test_an_archive_that_expands_to_a_gigabyte_is_refused_before_it_does(bomb: Path) -> None:
    assert bomb.stat().st_size < 8 << 20
    with pytest.raises(ValueError, match="expand to 1,073,741,"):
        read_arrays(bomb)
    # The archive is read in a separate process, because the maximum memory of this one includes that of other tests.
    # VmHWM counts from the start of the program; ru_maxrss begins with the memory of the process that started it.
    code = "import sys\nfrom arenite.array_files import read_arrays\ntry: read_arrays(sys.argv[1])\n"
    code += "except ValueError: print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    run = subprocess.run([sys.executable, "-c", code, str(bomb)], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 300_000  # KiB


@pytest.mark.parametrize("shape", [(1 << 38,), (2**40, 2**40), (3, 2**62)])
def test_a_shape_larger_than_the_file_is_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    path = _archive(tmp_path / "claim.npz", _header(shape))
    assert path.stat().st_size < 400
    with pytest.raises(ValueError, match="states the shape"):
        read_arrays(path)
    (tmp_path / "claim.npy").write_bytes(_header(shape))
    with pytest.raises(ValueError, match="states the shape"):
        read_array(tmp_path / "claim.npy")


def test_a_damaged_archive_raises_only_value_errors(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "good.npz", x=np.arange(1000))
    good = (tmp_path / "good.npz").read_bytes()
    for at in range(0, len(good), 7):
        (tmp_path / "bad.npz").write_bytes(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :])
        try:
            read_arrays(tmp_path / "bad.npz")
        except ValueError as error:
            assert str(error)
        (tmp_path / "bad.npz").write_bytes(good[:at])
        with pytest.raises(ValueError, match=r"\w"):
            read_arrays(tmp_path / "bad.npz")


def test_a_damaged_compression_is_a_damaged_archive(tmp_path: Path) -> None:
    """The settings of LZMA follow the name of the file and four bytes."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name in ("config.json", "x.npy"):
            archive.writestr(name, b"{}" * 100)
    data = bytearray(path.read_bytes())
    for written in (b"config.json", b"x.npy"):
        data[data.index(written) + len(written) + 4] = 255
    path.write_bytes(data)
    with pytest.raises(ValueError, match="Invalid or unsupported options"):
        read_arrays(path)
    assert read_outline(str(path), source_kinds.KERAS) is None
    assert archived_text(path, bytes(data), ("config.json",)) == ""
    with pytest.raises(ToolError, match="no readable member"):
        read_member(path.rename(tmp_path / "a.zip"), ["config.json"])


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "objects.npz", x=np.array([{}, []], dtype=object))
    with pytest.raises(ValueError, match="Object arrays"):
        read_arrays(tmp_path / "objects.npz")


def test_every_reader_of_samples_checks_sizes(bomb: Path) -> None:
    for read in (
        lambda: read_file(bomb, []),
        lambda: load_samples(bomb, []),
        lambda: user_data(bomb),
    ):
        with pytest.raises(UsageError, match="expand to"):
            read()
