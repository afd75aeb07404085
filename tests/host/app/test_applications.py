"""Shipped applications: their records fit the models of the zoo, and they hear their keywords."""

from __future__ import annotations

import io
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest

import arenite
from arenite.converters.decision.record import load_decision, recorded_decision
from arenite.converters.processing.specification.preprocessing import load_preprocessing
from arenite.errors import AreniteError, ModelError
from arenite.host.app import applications
from arenite.host.app.generate import App
from arenite.host.app.play import play
from arenite.host.app.reference import reference_events
from arenite.host.build.prepare import prepare

resample_poly = pytest.importorskip("scipy.signal", reason="needs SciPy").resample_poly

NAMES = applications.application_names()


def image(name: str) -> Path:
    try:
        return applications.application_image(name, progress=False)
    except AreniteError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")


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
    assert {"micro_speech", "wake_okay_nabu"} <= set(NAMES)
    for name in NAMES:
        record = Path(arenite.__file__).parent / "models" / "applications" / f"{name}.toml"
        assert load_decision(record)[0] is not None and load_preprocessing(record) is not None


def test_an_unknown_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="wake_up"):
        arenite.app("wake_up", tmp_path / "app", board="qemu_mps2_an386")


@pytest.mark.parametrize("name", NAMES)
def test_an_image_has_the_record_and_its_labels(name: str) -> None:
    prepared = prepare(image(name))
    decision = recorded_decision(prepared.extra)
    assert decision is not None and decision.hop in (480, 1600)
    assert "hop" in prepared.extra["decision"] and prepared.extra["labels"]


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("name", ["wake_okay_nabu", "micro_speech"])
def test_an_application_hears_its_keyword(name: str, tmp_path: Path) -> None:
    """A model with state starts anew with each application, and its events are those of the reference."""
    prepared = prepare(image(name))
    word = prepared.extra["labels"][0]
    samples = spoken(word)
    application = arenite.app(name, tmp_path / "app", board="qemu_mps2_an386")
    assert isinstance(application, App)
    playback = play(application, samples)
    assert playback.is_equal
    assert any(event.label == word and event.is_start for event in playback.events)
    assert len(list(reference_events(prepared, samples))) == len(playback.events)
