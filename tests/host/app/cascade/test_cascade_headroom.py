"""The predicted instructions of cascades are those that the running device measures, within two percent."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.host.app.cascade.generate import generate_cascade
from arenite.host.app.cascade.reference import ReferenceCascade
from arenite.host.app.measured_time import time_lines
from arenite.host.app.play import play
from arenite.host.app.sensor_stream import IMU, MICROPHONE
from arenite.profiles.boards import load_board
from tests.docs.schemas import problems
from tests.host.app.cascade.cascade_models import motion_pair, sound_pair
from tests.host.app.motion_models import motions
from tests.host.app.sound_models import MICRO, SOUND, sounds

#: The largest relative error of the prediction.
TOLERANCE = 0.02


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps2_an386", "qemu_mps2_an500"])
@pytest.mark.parametrize("is_shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("kind", ["sound", "micro", "motion", "every"])
def test_a_cascade_takes_the_predicted_time(kind: str, is_shared: bool, board: str, tmp_path: Path) -> None:
    every = 2 if kind == "every" else 1
    if kind == "motion":
        models, samples, sensor = motion_pair(tmp_path, is_shared), motions(40), IMU
    else:
        sound = MICRO if kind == "micro" else SOUND
        models, samples, sensor = (
            sound_pair(tmp_path, is_shared, sound=sound, every=every),
            sounds(4),
            MICROPHONE,
        )
    application = generate_cascade(*models, load_board(board), tmp_path / "app", sensor=sensor)
    playback = play(application, samples)
    headroom, measured = application.headroom, playback.measured
    assert headroom is not None and measured is not None and not headroom.unmeasured
    assert headroom.asleep is not None and application.cascade is not None
    reference = ReferenceCascade(application.cascade)
    list(reference.feed(samples.reshape(len(samples), -1)))
    assert reference.large_runs > 2 and reference.large_slept > 2
    awake = reference.large_runs / (reference.large_runs + reference.large_slept)
    mean = (awake * headroom.mean + (1 - awake) * headroom.asleep) / headroom.per_hop
    assert 100 * mean == pytest.approx(measured.mean_percent, rel=TOLERANCE)
    assert 100 * headroom.share(measured.lines, measured.samples) == pytest.approx(
        measured.worst_percent, rel=TOLERANCE
    )
    assert 100 * headroom.share() >= measured.worst_percent * (1 - TOLERANCE)
    assert not problems({**application.to_json(), "playback": playback.to_json()})
    told = time_lines(headroom, measured)
    assert any(line.startswith("Predicted while the large model sleeps: a window takes ") for line in told)
    assert not any(line.startswith("Duty") for line in told)
