"""Tests of the command ``arenite convert``: errors for invalid input, interruptions, and reproducible images."""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from arenite.converters.quantize.recipes.recipe import load_recipe
from arenite.converters.quantize.recipes.recipe_toml import to_toml
from tests.converters.quantize import trained_models
from tests.host.cli.conftest import Arenite

FEATURES, CLASSES = trained_models.FEATURES, trained_models.CLASSES
COMMAND = [sys.executable, "-m", "arenite.host.cli.main", "convert"]


def write(path: Path, **arrays: object) -> Path:
    """Write the arrays to the .npz file ``path`` and return ``path``."""
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a trained float classifier."""
    path = tmp_path_factory.mktemp("source") / "trained.tflite"
    path.write_bytes(trained_models.classifier())
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of a file with 400 labelled samples. The array ``slice_room`` assigns each sample to one of two
    rooms."""
    x, y = trained_models.samples(400, 5)
    return write(
        tmp_path_factory.mktemp("data") / "data.npz",
        x=x,
        y=y,
        slice_room=np.array(["attic", "cellar"])[y % 2],
    )


def x_with(index: int, value: float) -> np.ndarray:
    """Return 40 samples with ``value`` in the sample ``index``."""
    x, _ = trained_models.samples(40, 5)
    x[index, 3] = value
    return x


#: Maps a name to (function that returns the arrays of an unusable calibration file, texts that the error contains).
BAD_SAMPLES: dict[str, tuple[Callable[[], dict[str, object]], tuple[str, ...]]] = {
    "NaN": (lambda: {"x": x_with(17, np.nan)}, ("1 NaN values in 1 of 40 samples", "sample 17")),
    "infinity": (lambda: {"x": x_with(3, np.inf)}, ("infinite values", "sample 3")),
    "too few": (lambda: {"x": trained_models.samples(9, 5)[0]}, ("has 9 samples", "at least 10")),
    "none": (lambda: {"x": np.zeros((0, FEATURES), np.float32)}, ("has no samples",)),
    "one sample again and again": (
        lambda: {"x": np.repeat(trained_models.samples(1, 5)[0], 40, axis=0)},
        ("all 40 samples of 'x' are the same",),
    ),
    "constant samples": (
        lambda: {"x": np.repeat(np.arange(40, dtype=np.float32)[:, None], FEATURES, axis=1)},
        ("in every sample of 'x' all values are equal",),
    ),
    "another shape": (
        lambda: {"x": np.random.default_rng(0).random((40, FEATURES + 1))},
        (f"shape (40, {FEATURES + 1})", f"({FEATURES},)"),
    ),
    "integers without a scale": (
        lambda: {"x": np.random.default_rng(0).integers(-128, 128, (40, FEATURES)).astype(np.int8)},
        ("is int8 (-128 to 127)", "are these quantized?", "scale and zero_point"),
    ),
    "a scale of zero": (
        lambda: {
            "x": np.random.default_rng(0).integers(-128, 128, (40, FEATURES)).astype(np.int8),
            "scale": 0.0,
            "zero_point": 0,
        },
        ("'scale' is 0.0", "positive number"),
    ),
    "texts": (lambda: {"x": np.full((40, FEATURES), "loud")}, ("'x' is of type <U4",)),
    "Python objects": (
        lambda: {"x": np.array([{"a": 1}] * 40, dtype=object)},
        ("pickled Python objects", "numpy.savez"),
    ),
    "another name": (
        lambda: {"data": trained_models.samples(40, 5)[0]},
        ("has no array 'x'; it has 'data'",),
    ),
    "labels of other samples": (
        lambda: {"x": trained_models.samples(40, 5)[0], "y": np.zeros(39, np.int64)},
        ("'x' has 40 samples and 'y' has 39",),
    ),
    "classes that the model does not have": (
        lambda: {"x": trained_models.samples(40, 5)[0], "y": np.arange(40)},
        ("labels from 0 to 39", f"classes 0 to {CLASSES - 1}"),
    ),
}


@pytest.mark.parametrize("defect", BAD_SAMPLES)
def test_unusable_calibration_samples_raise_an_error(
    defect: str, arenite: Arenite, source: Path, tmp_path: Path
) -> None:
    arrays, texts_of_error = BAD_SAMPLES[defect]
    bad_file = write(tmp_path / "bad.npz", **arrays())
    run = arenite("convert", source, "--calibration", bad_file, "-o", tmp_path / "image.tflite")
    run.refused(2, str(bad_file), *texts_of_error)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.npz"]


def texts(folder: Path) -> dict[str, Path]:
    """Write files that an option cannot use. Return a map from their names in ``REFUSED`` to their paths."""
    x, y = trained_models.samples(60, 6)
    (folder / "empty").mkdir()
    (folder / "pictures" / "cat").mkdir(parents=True)
    # The smallest PNG header is enough: without preprocessing no picture is opened.
    (folder / "pictures" / "cat" / "1.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (folder / "no_arrays.npz").write_text("x = [1, 2, 3]")
    with zipfile.ZipFile(folder / "broken.npz", "w") as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape'")
    write(folder / "pixels.npz", x=(255 * x).astype(np.float32), y=y)
    write(folder / "unlabelled.npz", x=x)
    write(folder / "tiny.npz", x=(x / 255).astype(np.float32), y=y)
    contents = {
        "unknown_key.toml": 'activations = "int8"\nweigths = "int4"\n',
        "unknown_value.toml": 'activations = "int7"\n',
        "no.toml": "activations = int8 =\n",
        "bad_rule.toml": '[[layers]]\nmatch = "["\nweights = "int4"\n',
        "labels.txt": "one\ntwo\nthree\n",
        "blank.txt": "\n \n",
        "steps.toml": '[source]\nkind = "smell"\n',
        "study.db": "not a database\n",
        "weights.pt": "PK",
        "model.onnx": "",
        "model.keras": "PK\x03\x04 and no more",
        "text.tflite": "a letter",
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    return {p.stem if p.suffix == ".npz" else p.name: p for p in folder.iterdir()}


#: Maps the arguments of a command to the texts that its error contains. SOURCE, DATA and INT8 are valid files; the
#: other names are files of ``texts``.
REFUSED: dict[str, tuple[str, ...]] = {
    "SOURCE": ("is a float model", "--calibration"),
    "SOURCE --calibration absent.npz": ("absent.npz does not exist", ".npz"),
    "SOURCE --calibration DATA --test absent.npz": ("absent.npz does not exist",),
    "SOURCE --calibration DATA --check-data absent.npz": ("absent.npz does not exist",),
    "SOURCE --calibration <no_arrays>": ("Cannot read", "numpy.savez"),
    "SOURCE --calibration <broken>": ("Cannot read", "numpy.savez"),
    "SOURCE --calibration <empty>": ("has no samples", "pictures"),
    "SOURCE --calibration <pictures>": ("has pictures", "--pixels", "preprocessing"),
    "SOURCE --calibration DATA --test <pixels>": ("255 times as large", "divided by 255", "Scale samples"),
    "SOURCE --calibration DATA --test <tiny>": ("less than 2%", "already scaled", "Scale samples"),
    "INT8 --test <pixels_int8>": ("times as large", "Scale samples"),
    "SOURCE --calibration DATA --recipe int3": ("no recipe 'int3'", "int16x8", "w4"),
    "SOURCE --calibration DATA --recipe absent.toml": ("Cannot read the recipe absent.toml",),
    "SOURCE --calibration DATA --recipe <unknown_key.toml>": ("unknown key 'weigths'", "weights"),
    "SOURCE --calibration DATA --recipe <unknown_value.toml>": ("activations is 'int7'", "'int16'"),
    "SOURCE --calibration DATA --recipe <no.toml>": ("is not TOML", "docs/recipes.md"),
    "SOURCE --calibration DATA --recipe <bad_rule.toml>": ("is not a regular expression",),
    "SOURCE --calibration DATA --recipe float16 --board qemu_microbit": ("float activations", "--board"),
    "SOURCE --calibration DATA --board qemu_microbit --budget ram=12q": ("'ram=12q'", "k (1024)"),
    "SOURCE --calibration DATA --board qemu_microbit --budget RAM": ("has no value", "drop=1%"),
    "SOURCE --calibration DATA --board qemu_microbit --budget size=3k": ("no 'size'", "flash (bytes"),
    "SOURCE --calibration DATA --board qemu_microbit --budget drop=0.01": ("not a percentage", "drop=1%"),
    "SOURCE --calibration DATA --board qemu_microbit --budget ram=1k,ram=2k": ("ram twice",),
    "SOURCE --calibration DATA --budget flash=8k": ("A budget needs a board", "--board"),
    "SOURCE --board qemu_microbit --budget flash=8k": ("need calibration samples",),
    "SOURCE --check-data DATA": ("need calibration samples",),
    "SOURCE --calibration DATA --board qemu_microbit --budget flash=8k --study <study.db>": (
        "study.db is not a file that --study wrote",
    ),
    "SOURCE --calibration <unlabelled> --metric mse --board qemu_microbit --budget drop=1%": (
        "has no targets",
        "leave out --max-drop, --auto and the drop",
    ),
    "SOURCE --calibration DATA --metric f1": ("no metric 'f1'", "accuracy"),
    "SOURCE --calibration <unlabelled> --metric accuracy": ("has no labels", "array y"),
    "SOURCE --calibration DATA --labels <labels.txt>": ("There are 3 labels", f"has {CLASSES} values"),
    "SOURCE --calibration DATA --labels <blank.txt>": ("has no labels", "one label per line"),
    "SOURCE --calibration DATA --labels absent.txt": ("Cannot read the labels",),
    "SOURCE --calibration DATA --preprocessing <steps.toml>": ("steps.toml", "smell"),
    "SOURCE --calibration DATA --preprocessing absent.toml": ("absent.toml",),
    "SOURCE --calibration DATA --board micro_bit": ("micro_bit", "qemu_microbit"),
    "SOURCE --calibration DATA --input-shape 1,a": ("'1,a' is not an input shape", "1,3,96,96"),
    "SOURCE --calibration DATA -o SOURCE": ("is the source itself", "-o"),
    "SOURCE --calibration DATA -o <empty>": ("empty is a folder",),
    "SOURCE --calibration DATA --html <empty>": ("empty is a folder",),
    ". --calibration DATA": ("has no saved_model.pb",),
    "SOURCE --calibration DATA -o /proc/arenite/image.tflite": ("/proc/arenite",),
    "INT8 --recipe w4": ("is quantized already", "--recipe"),
    "INT8 --calibration INT8DATA --board qemu_microbit --budget flash=1k": (
        "is quantized already",
        "--budget",
    ),
    "absent.keras --calibration DATA": ("no file or folder absent.keras", "module:function"),
    "<empty> --calibration DATA": ("has no saved_model.pb",),
    "<weights.pt> --calibration DATA": ("weights but no graph", "module:function"),
    "<model.onnx> --calibration DATA": ("model.onnx is empty",),
    "<model.keras> --calibration DATA": ("model.keras is a damaged archive",),
    "<text.tflite> --calibration DATA": ("text.tflite is not a TensorFlow Lite file",),
    "<no_arrays> --calibration DATA": ("is a NumPy archive, not a model", "--calibration"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command_line", REFUSED)
def test_invalid_arguments_raise_an_error(
    command_line: str, arenite: Arenite, source: Path, data: Path, model: Path, tmp_path: Path
) -> None:
    """The exit code is 2, the error has two sentences, and no file is created."""
    files = texts(tmp_path)
    shape = (20, 12, 12, 3)  # the input of the int8 model, whose values are at most 2.6
    rng = np.random.default_rng(0)
    files["pixels_int8"] = write(tmp_path / "p.npz", x=(255 * rng.random(shape)).astype(np.float32))
    files["INT8DATA"] = write(tmp_path / "q.npz", x=rng.random(shape).astype(np.float32))
    files |= {"SOURCE": source, "DATA": data, "INT8": model}
    files_before = sorted(tmp_path.rglob("*"))
    words = [str(files.get(w.strip("<>"), w)) for w in command_line.split()]
    if "-o" not in words:
        words += ["-o", str(tmp_path / "image.tflite")]
    arenite("convert", *words).refused(2, *REFUSED[command_line])
    assert sorted(tmp_path.rglob("*")) == files_before


def test_an_invalid_option_value_raises_an_error(arenite: Arenite, source: Path, data: Path) -> None:
    for option in (("--calibration-samples", "0"), ("--trials", "none"), ("--jobs", "-1")):
        run = arenite("convert", source, "--calibration", data, *option)
        assert (run.code, run.out) == (2, "") and option[0] in run.err


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment with further variables."""
    return {**os.environ, **more}


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(source: Path, data: Path, tmp_path: Path) -> None:
    """The bytes do not depend on hash seeds or on the folder of the files."""
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "copy.npz"
    moved.write_bytes(data.read_bytes())
    written = []
    for seed, samples_path in (("1", data), ("2", moved)):
        image, page = tmp_path / f"{seed}.tflite", tmp_path / f"{seed}.html"
        command_arguments = [
            str(source),
            "--calibration",
            str(samples_path),
            "--calibration-samples",
            "100",
            "--recipe",
            "w4",
        ]
        process = subprocess.run(
            [*COMMAND, *command_arguments, "-o", str(image), "--html", str(page), "--json"],
            env=environment(PYTHONHASHSEED=seed),
            capture_output=True,
            text=True,
        )
        assert process.returncode == 0, process.stderr
        written.append((image.read_bytes(), json.loads(process.stdout)["score"]["image"]))
    assert written[0] == written[1]


def test_the_image_records_its_source_and_recipe(
    arenite: Arenite, source: Path, data: Path, tmp_path: Path
) -> None:
    image = tmp_path / "image.tflite"
    result = arenite(
        "convert", source, "--calibration", data, "-o", image, "--recipe", "int8_mse", "--json"
    ).json
    record = arenite("inspect", image, "--json").json["made_from"]
    assert record["kind"] == "tflite-float32" and record["sha256"] == result["source"]["sha256"]
    assert record["recipe"] == load_recipe("int8_mse").to_json() and record["calibration"]["samples"] == 400
    text = arenite("inspect", image).out
    assert f"made from tflite-float32 {record['sha256'][:16]}" in text and "recipe int8_mse" in text
    assert str(tmp_path) not in image.read_bytes().decode("latin-1")
    second_run = arenite("convert", image, "-o", tmp_path / "again.tflite")
    assert second_run.code == 0
    assert arenite("inspect", tmp_path / "again.tflite", "--json").json["made_from"] == record


def test_a_recipe_file_gives_the_same_image(
    arenite: Arenite, source: Path, data: Path, tmp_path: Path
) -> None:
    recipe = load_recipe("w4_mixed")
    (tmp_path / "mine.toml").write_text(to_toml(recipe))
    for name, out in (("w4_mixed", "a.tflite"), (tmp_path / "mine.toml", "b.tflite")):
        run = arenite("convert", source, "--calibration", data, "--recipe", name, "-o", tmp_path / out)
        assert run.code == 0, run.err
    assert (tmp_path / "a.tflite").read_bytes() == (tmp_path / "b.tflite").read_bytes()


def test_the_command_on_the_page_reproduces_the_image(
    arenite: Arenite, source: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, page = tmp_path / "an image.tflite", tmp_path / "page.html"
    command_arguments = (
        source,
        "--calibration",
        data,
        "--calibration-samples",
        50,
        "--recipe",
        "int8_mse",
        "-o",
        image,
    )
    assert (
        arenite("convert", *command_arguments, "--board", "qemu_microbit", "--html", page, "--json").code == 0
    )
    first_image = image.read_bytes()
    image.unlink()
    match = re.search(r"Command that creates this image</h2>\n<pre>(.*?)</pre>", page.read_text(), re.DOTALL)
    assert match is not None
    words = shlex.split(html.unescape(match[1]))
    assert words[0] == "arenite" and "--html" not in words
    assert arenite(*words[1:]).code == 0
    assert image.read_bytes() == first_image


class RunningConversion:
    """A conversion that runs in another process and takes several seconds."""

    def __init__(self, source: Path, data: Path, image: Path) -> None:
        words = [str(source), "--calibration", str(data), "--sensitivity", "-o", str(image)]
        self.process = subprocess.Popen(
            [*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def wait_until_it_runs_the_model(self) -> None:
        """Wait until LiteRT is loaded. At that time most of the work is still to be done."""
        maps = Path(f"/proc/{self.process.pid}/maps")
        deadline = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < deadline:
            try:
                if "litert" in maps.read_text().lower():
                    return
            except OSError:
                pass
            time.sleep(0.02)
        pytest.fail(f"the process never ran the model: {self.process.communicate()}")


@pytest.mark.slow
@pytest.mark.parametrize("older_file", [False, True], ids=["no file", "an older file"])
@pytest.mark.parametrize("delay_s", [0.0, 0.4])
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGKILL], ids=lambda s: s.name)
def test_an_interruption_leaves_no_partial_image(
    signal_number: signal.Signals, delay_s: float, older_file: bool, source: Path, tmp_path: Path
) -> None:
    if not Path("/proc/self/maps").exists():
        pytest.skip("needs /proc")
    x, y = trained_models.samples(30_000, 9)
    data, folder = write(tmp_path / "many.npz", x=x, y=y), tmp_path / "out"
    folder.mkdir()
    if older_file:
        (folder / "image.tflite").write_bytes(b"older")
    running = RunningConversion(source, data, folder / "image.tflite")
    running.wait_until_it_runs_the_model()
    time.sleep(delay_s)
    running.process.send_signal(signal_number)
    out, err = running.process.communicate(timeout=60)
    # If SIGINT arrives while Python executes generated code (dataclasses), Python ends by the signal, not with 130.
    expected = {signal.SIGINT: (130, -signal.SIGINT), signal.SIGKILL: (-signal.SIGKILL,)}
    assert running.process.returncode in expected[signal_number], (out, err)
    assert out == "" and "Traceback" not in err
    files_left = {p.name: p.read_bytes() for p in folder.iterdir()}
    assert files_left == ({"image.tflite": b"older"} if older_file else {})
