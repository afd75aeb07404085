"""Composed speech is the same for each seed, has its keywords where it says so, and is heard as by the reference."""

from __future__ import annotations

import shutil
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("scipy", reason="needs SciPy")

from arenite.converters.processing.long_sound import open_sound
from arenite.errors import AreniteError
from arenite.host.app.applications import application_image
from arenite.host.app.emulated_run import EventLine
from arenite.host.app.generate import generate_app
from arenite.host.build.prepare import prepare
from arenite.profiles.boards import load_board
from benchmarks.app_sound.__main__ import ROOT, TOLERANCE, figures, table
from benchmarks.app_sound.compose import NOISE_DB, Keyword, compose
from benchmarks.app_sound.hearing import Hearing, hear, reference_lines
from benchmarks.app_sound.speech import RATE, sentences

needs_espeak = pytest.mark.skipif(shutil.which("espeak-ng") is None, reason="espeak-ng is not installed")
COUNTS: dict[str, Any] = {"windows": 10, "late": 0, "samples": 100, "lost": 0, "dropped": 0}
COUNTS |= {"slowest_percent": 60.0, "mean_percent": 50.0}


@pytest.fixture
def people(tmp_path: Path) -> list[Path]:
    """Return two WAV files at 8 and 16 kHz, with sounds that are no speech."""
    paths = []
    for rate in (8000, 16000):
        time = np.arange(3 * rate) / rate
        tone = 8000 * np.sin(2 * np.pi * 300 * time) * np.sin(2 * np.pi * 3 * time)
        path = tmp_path / f"{rate}.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(tone.astype("<i2").tobytes())
        paths.append(path)
    return paths


@needs_espeak
def test_a_seed_gives_the_same_bytes_and_keywords_at_their_places(people: list[Path], tmp_path: Path) -> None:
    texts = sentences(ROOT)
    assert len(texts) > 100
    words = [compose(tmp_path / f"{k}.wav", 60, ["alexa"], people, texts, seed=5) for k in range(2)]
    assert words[0] == words[1] and len(words[0]) in (1, 2)
    assert (tmp_path / "0.wav").read_bytes() == (tmp_path / "1.wav").read_bytes()
    sound = open_sound(tmp_path / "0.wav", RATE).astype(float)
    assert len(sound) == 60 * RATE
    for word in words[0]:  # the pause before a keyword is quieter than the keyword
        before = sound[word.start - RATE // 5 : word.start]
        assert np.std(sound[word.start : word.end]) > 3 * np.std(before)
    # The noise of the last quarter is 44 dB louder than that of the first: look at the quietest tenths of a second.
    tenths = np.sort(sound.reshape(-1, RATE // 10).std(axis=1).reshape(4, -1), axis=1)[:, 3]
    levels = 20 * np.log10(tenths / 32768)
    assert levels == pytest.approx(NOISE_DB, abs=4)


def test_misses_and_false_accepts_are_counted_for_each_level() -> None:
    quarter = 10 * RATE
    placed = [Keyword("yes", quarter * k + 1000, quarter * k + 9000) for k in range(4)]
    found = [
        EventLine("yes", True, 90, 8000),
        EventLine("yes", False, None, 20000),
        EventLine("yes", True, 90, quarter + 500),  # before the keyword
        EventLine("no", True, 90, 2 * quarter + 5000),  # another class
        EventLine("yes", True, 90, 3 * quarter + 9000 + TOLERANCE - 1),
        EventLine("yes", True, 90, 3 * quarter + 9000 + TOLERANCE),  # too late, and the second one
    ]
    record = figures(Hearing(found, COUNTS), found, placed, 40)
    assert [(r["keywords"], r["misses"], r["false_accepts"]) for r in record["levels"]] == [
        (1, 0, 0),
        (1, 1, 1),
        (1, 1, 1),
        (1, 0, 1),
    ]
    assert record["is_exact"] and record["misses"] == 2 and record["false_accepts_per_hour"] == 3 * 90
    other = figures(Hearing(found, COUNTS), found[:-1], placed, 40)
    assert not other["is_exact"] and other["equal_events"] == len(found) - 1
    text = table({"model": "m", "board": "b", "minutes": 1, "real_s": 1, "predicted_percent": 55.0, **record})
    assert "2 of 4 keywords missed, 270.00 false accepts per hour" in text and "| -46 | 1 | 1 | 1 |" in text


@needs_espeak
@pytest.mark.slow
@pytest.mark.qemu
def test_minutes_of_speech_are_heard_as_by_the_reference(people: list[Path], tmp_path: Path) -> None:
    try:
        prepared = prepare(application_image("wake_okay_nabu", progress=False))
    except AreniteError as error:
        pytest.skip(f"needs to download from the package index once: {error.problem}")
    placed = compose(tmp_path / "sound.wav", 180, ["Okay Nabu"], people, sentences(ROOT), seed=2)
    application = generate_app(prepared, load_board("qemu_mps2_an386"), tmp_path / "app")
    hearing = hear(application, tmp_path / "sound.wav")
    assert hearing.events == reference_lines(application, tmp_path / "sound.wav")
    assert hearing.counts["late"] == 0 == hearing.counts["lost"]
    assert hearing.counts["samples"] == 180 * RATE
    assert hearing.counts["mean_percent"] <= hearing.counts["slowest_percent"] < 100
    record = figures(hearing, hearing.events, placed, 180)
    assert record["keywords"] >= 3 and record["misses"] < record["keywords"]
