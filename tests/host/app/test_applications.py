"""Shipped applications: their records fit the models of the zoo, and they hear their keywords."""

from __future__ import annotations

import io
import subprocess
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import arenite
from arenite.converters.anomaly.head import load_anomaly_head
from arenite.converters.decision.record import load_decision, recorded_decision
from arenite.converters.processing.specification.preprocessing import load_preprocessing, read_record
from arenite.errors import ModelError, UsageError
from arenite.host.app import applications
from arenite.host.app.camera.frames import read_frames
from arenite.host.app.camera.generate import CameraApp
from arenite.host.app.camera.play import play_frames
from arenite.host.app.generate import App
from arenite.host.app.play import play
from arenite.host.app.reference import reference_events
from arenite.host.app.trained_applications import RECIPES
from arenite.host.build.prepare import prepare
from arenite.host.camera.sources.photos import photographs
from arenite.host.cli.firmware.app import app
from tests.host.app.shipped import shipped_image

resample_poly = pytest.importorskip("scipy.signal", reason="needs SciPy").resample_poly

NAMES = applications.application_names()
CAMERAS = ("person_detect", "vww01")
TRAINED = tuple(RECIPES)
DOWNLOADED = [name for name in NAMES if name not in TRAINED]


def spoken(text: str) -> np.ndarray:
    """Return int16 samples of three voices of espeak-ng that say ``text``, with faint noise."""
    parts = [np.zeros(16000)]
    for voice in ("en-us", "en-gb", "en-us+f3"):
        command = ["espeak-ng", "-v", voice, "-s", "140", "--stdout", text]
        data = subprocess.run(command, capture_output=True, check=True).stdout
        with wave.open(io.BytesIO(data[:40] + (len(data) - 44).to_bytes(4, "little") + data[44:])) as file:
            samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(float)
        parts += [resample_poly(samples, 320, 441) * 12000 / np.abs(samples).max(), np.zeros(16000)]
    sound = np.concatenate(parts)
    return np.round(sound + np.random.default_rng(0).normal(0, 20, len(sound))).astype(np.int16)


def test_every_record_can_be_read() -> None:
    assert {"micro_speech", "sww01", "wake_okay_nabu", *CAMERAS, *TRAINED} <= set(NAMES)
    sensors = dict.fromkeys(CAMERAS, "camera") | {"gestures": "imu"}
    for name in NAMES:
        record = Path(arenite.__file__).parent / "models" / "applications" / f"{name}.toml"
        sensor = sensors.get(name, "microphone")
        assert applications.application_sensor(name) == sensor
        if name == "machine_sounds":
            assert load_anomaly_head(record).hop
        else:
            assert load_decision(record)[0] is not None
        if name not in CAMERAS:
            assert load_preprocessing(record).source.kind == ("imu" if sensor == "imu" else "audio")


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="wake_up is no file") as caught:
        arenite.app("wake_up", tmp_path / "app", board="qemu_mps2_an386")
    assert all(name in str(caught.value.hint) for name in NAMES)
    with pytest.raises(ModelError, match=r"wake_up\.tflite"):
        arenite.app("wake_up.tflite", tmp_path / "app", board="qemu_mps2_an386")


def test_the_help_tells_what_every_application_does() -> None:
    text = CliRunner().invoke(app, ["--help"], terminal_width=200).output
    for name in NAMES:
        line = next(line for line in text.splitlines() if line.split()[:1] == [name])
        title, sensor = applications.application_summaries()[name]
        assert title in line and sensor in line


def test_the_help_reads_each_record_once(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = []

    def counted(path: Path) -> Any:
        paths.append(path)
        return read_record(path)

    monkeypatch.setattr(applications, "read_record", counted)
    assert len(applications.application_summaries()) == len(paths) == len(set(paths)) == len(NAMES)


def test_a_folder_may_have_the_name_of_an_application(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`arenite app gestures -o gestures` can be called again; a file of this name is an image."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gestures").mkdir()
    assert applications.is_application("gestures")
    (tmp_path / "other").mkdir()
    assert not applications.is_application("other")
    (tmp_path / "sww01").write_bytes(b"")
    assert not applications.is_application("sww01")


@pytest.mark.parametrize("name", ["sww01", "person_detect"])
def test_only_trained_applications_have_an_example(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"{name} has no example for --play") as caught:
        applications.example_samples(name)
    assert all(trained in caught.value.problem for trained in TRAINED)
    command = [name, "--board", "qemu_mps2_an386", "-o", str(tmp_path / "app"), "--play", "example"]
    assert isinstance(CliRunner().invoke(app, command).exception, UsageError)
    assert not (tmp_path / "app").exists()


def test_another_sensor_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="person_detect has the sensor 'camera', not 'microphone'") as caught:
        arenite.app("person_detect", tmp_path / "app", board="qemu_mps2_an386", sensor="microphone")
    assert "--sensor camera" in str(caught.value.hint)


@pytest.mark.parametrize("name", DOWNLOADED)
def test_an_image_has_the_record_and_its_labels(name: str) -> None:
    prepared = prepare(shipped_image(name))
    decision = recorded_decision(prepared.extra)
    assert decision is not None and decision.hop in (1, 480, 1600, 2048)
    assert (decision.hop == 1) == (name in CAMERAS)
    assert "decision" in prepared.extra and prepared.extra["labels"]


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", ["wake_okay_nabu", "micro_speech", "sww01"])
def test_an_application_hears_its_keyword(name: str, tmp_path: Path) -> None:
    """A model with state starts anew with each application, and its events are those of the reference."""
    prepared = prepare(shipped_image(name))
    word = prepared.extra["labels"][0]
    samples = spoken(word)
    application = arenite.app(name, tmp_path / "app", board="qemu_mps2_an386")
    assert isinstance(application, App)
    playback = play(application, samples)
    assert playback.is_equal
    assert any(event.label == word and event.is_start for event in playback.events)
    assert len(list(reference_events(prepared, samples))) == len(playback.events)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", CAMERAS)
def test_a_person_detector_sees_a_person(name: str, tmp_path: Path) -> None:
    """The first photograph is an astronaut. The application needs no frame in memory."""
    shipped_image(name)
    astronaut = photographs()[0]
    empty = np.full((96, 96, 3), 90, np.uint8)
    for number in range(6):
        Image.fromarray(astronaut if number >= 3 else empty).save(tmp_path / f"{number}.png")
    application = arenite.app(name, tmp_path / "app", board="qemu_mps2_an386")
    assert isinstance(application, CameraApp) and not application.held_bytes
    playback = play_frames(application, read_frames([str(tmp_path)], application.pictures.plan))
    assert playback.is_equal
    assert [event.label for event in playback.events if event.is_start] == ["person"]
