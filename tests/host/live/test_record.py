"""Samples of an emulated board become a data set, and with it a better model: record, convert and bench."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.generate import generate_app
from arenite.host.app.sensor_file import LOST, Fault
from arenite.host.cli.main import main
from arenite.host.live.connection import Ended
from arenite.host.live.continuous_samples import CONNECTION, SENSOR, ContinuousSamples, Gap
from arenite.host.live.emulated import emulated_app, emulated_messages
from arenite.host.live.messages import ClassName, EventMessage, Hello, Lost, Row, Samples, Sensor
from arenite.host.live.recorder import Recorder
from arenite.profiles.boards import load_board
from tests.host.app.sound_models import BINS, LENGTH, RATE, ROWS, STEP, sound_model, sounds
from tests.host.live.recorded_data import write_float_model, write_wav

BOARD = "qemu_mps2_an386"
LABELS = ["hiss", "tone", "quiet"]
HELLO = Hello(Sensor.SOUND, 1, 2, 16000, 100, 50, 25_000_000, 1000)
PREPROCESSING = f"""
[source]
kind = "audio"
rate = {RATE}
samples = {LENGTH + (ROWS - 1) * STEP}
[[steps]]
do = "frame"
length = {LENGTH}
step = {STEP}
[[steps]]
do = "window"
[[steps]]
do = "fft"
length = {LENGTH}
[[steps]]
do = "mel"
bins = {BINS}
low = 100
high = 7000
[[steps]]
do = "log"
offset = 1e-6
"""


def _samples(at: int, count: int) -> Samples:
    return Samples(at, np.arange(at, at + count, dtype=np.int16)[:, None])


def _wav(path: Path) -> np.ndarray:
    with wave.open(str(path), "rb") as file:
        assert file.getframerate() == RATE
        return np.frombuffer(file.readframes(file.getnframes()), "<i2")


def test_clips_have_no_gap_and_gaps_are_recorded(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "yes")
    for message in (HELLO, _samples(64, 250), Lost(314, 30), _samples(344, 120), _samples(500, 100)):
        recorder.take(message)
    clips = {int(_wav(path)[0]): _wav(path) for path in (tmp_path / "yes").iterdir()}
    assert sorted(clips) == [64, 164, 344, 500]
    assert all(clip.tolist() == list(range(at, at + 100)) for at, clip in clips.items())
    assert recorder.check().gaps == [Gap(314, 30, SENSOR), Gap(464, 36, CONNECTION)]
    entries = [json.loads(line) for line in (tmp_path / "recorded.jsonl").read_text().splitlines()]
    assert [entry["gap"]["count"] for entry in entries if "gap" in entry] == [30, 36]


def test_the_window_of_an_event_has_the_label_of_its_class(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, None, per_event=True)
    messages = (
        HELLO,
        ClassName(1, "stop/go"),
        _samples(0, 220),
        EventMessage(249, 1, True, 90, 100),  # its last samples arrive later
        _samples(220, 60),
        EventMessage(269, 1, False, 10, -100),
        EventMessage(50, 1, True, 90, 100),  # its first samples are before the start
    )
    for message in messages:
        recorder.take(message)
    (path,) = (tmp_path / "stop_go").iterdir()
    assert _wav(path).tolist() == list(range(150, 250))


def test_a_later_run_adds_files_and_another_sensor_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # in the same second
        recorder = Recorder(tmp_path, "yes")
        for message in (HELLO, _samples(0, 100)):
            recorder.take(message)
    assert len(list((tmp_path / "yes").iterdir())) == 2
    with pytest.raises(Exception, match="another sensor"):
        Recorder(tmp_path, "yes").take(Hello(Sensor.MOTION, 3, 2, 100, 50, 25, 25_000_000, 1000))


def test_motion_becomes_numpy_files_and_rows_become_pictures(tmp_path: Path) -> None:
    motion = Recorder(tmp_path / "motion", "wave")
    motion.take(Hello(Sensor.MOTION, 3, 2, 100, 4, 2, 25_000_000, 1000))
    values = np.arange(-12, 12, dtype=np.int16).reshape(8, 3)
    motion.take(Samples(0, values))
    files = sorted((tmp_path / "motion" / "wave").iterdir())
    assert [np.load(file).tolist() for file in files] == [values[:4].tolist(), values[4:].tolist()]
    camera = Recorder(tmp_path / "camera", "person")
    camera.take(Hello(Sensor.PICTURES, 1, 2, 1, 1, 1, 25_000_000, 1000, 6, 2))
    pixels = np.arange(24, dtype=np.uint8).reshape(2, 2, 6)
    for number in (0, 1):
        for row in (0, 1):
            if (number, row) != (0, 1):  # a row of the first picture is missing
                for start in (0, 4):
                    data = pixels[number, row, start : start + 4].tobytes()
                    camera.take(Row(number, row, start, "grey", data))
    (file,) = (tmp_path / "camera" / "person").iterdir()
    from PIL import Image

    assert (np.asarray(Image.open(file)) == pixels[1]).all()


def test_samples_of_a_device_that_started_again_are_not_joined() -> None:
    joined = ContinuousSamples(1, 1000)
    joined.add(_samples(500, 10))
    assert joined.add(_samples(0, 10)) is None
    assert joined.between(0, 10) is not None and joined.between(500, 510) is None


@pytest.mark.slow
@pytest.mark.qemu
def test_record_convert_and_bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    generate_app(sound_model(tmp_path / "ear.tflite", labels=LABELS), load_board(BOARD), tmp_path / "app")
    write_wav(tmp_path / "street.wav", sounds(12), RATE)
    write_float_model(tmp_path / "float.tflite", (1, ROWS * BINS), len(LABELS))
    Path("steps.toml").write_text(PREPROCESSING)
    Path("labels.txt").write_text("\n".join(LABELS) + "\n")
    assert (
        main(["record", "app", "--board", BOARD, "--play", "street.wav", "-o", "field", "--per-event"]) == 0
    )
    recorded = sorted(Path("field").rglob("*.wav"))
    assert len(recorded) > 10
    played = sounds(12)
    for file in recorded:
        at = int(file.stem.split("-")[1])
        clip = _wav(file)
        assert (clip == played[at : at + len(clip)]).all()
    convert = ["convert", "float.tflite", "--calibration", "field", "--preprocessing", "steps.toml"]
    assert main([*convert, "--labels", "labels.txt", "-o", "better.tflite"]) == 0
    capsys.readouterr()
    assert (
        main(["bench", "better.tflite", "--board", BOARD, "--data", "field", "--samples", "5", "--json"]) == 0
    )
    result = json.loads(capsys.readouterr().out)
    assert result["samples"]["bit_exact"] == result["samples"]["count"] == 5
    assert result["samples"]["accuracy"] is not None


@pytest.mark.slow
@pytest.mark.qemu
def test_samples_that_the_sensor_loses_are_told(tmp_path: Path) -> None:
    generate_app(sound_model(tmp_path / "ear.tflite"), load_board(BOARD), tmp_path / "app")
    samples = sounds(3)
    write_wav(tmp_path / "street.wav", samples, RATE)
    recorder = Recorder(tmp_path / "field", "street", clip_s=0.5)
    messages = emulated_messages(
        emulated_app(tmp_path / "app", BOARD),
        [tmp_path / "street.wav"],
        lambda: False,
        is_real_time=False,
        faults=[Fault(LOST, RATE, 777)],
    )
    last = None
    for last in messages:
        recorder.take(last)
    assert isinstance(last, Ended)
    assert recorder.check().gaps == [Gap(RATE, 777, SENSOR)]
    for file in (tmp_path / "field" / "street").iterdir():
        at, clip = int(file.stem.split("-")[1]), _wav(file)
        assert (clip == samples[at : at + len(clip)]).all()
