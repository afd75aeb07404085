"""An application takes updates on an emulated board: a retrained model, a wrong one, one of another graph, and a
firmware that hangs."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from arenite.host.app.emulated_run import END, parse_event
from arenite.host.app.generate import generate_app
from arenite.host.app.play import expected_events
from arenite.host.app.reference_model import ReferenceModel
from arenite.host.app.updates import AppUpdates
from arenite.host.live.connection import receive
from arenite.host.live.messages import EventMessage, Text, WindowScores
from arenite.host.update.coded_frames import encode_coded
from arenite.host.update.keys import generate_key
from tests.firmware.update.image_check import HAS_IMGTOOL, NO_IMGTOOL, library_or_skip
from tests.firmware.update.smp_device import run_smpmgr
from tests.host.app.sound_models import RATE as RATE_OF_SOUND
from tests.host.app.sound_models import sound_model, sounds
from tests.host.app.updates.device import (
    BOARD,
    NEW,
    OLD,
    RATE,
    Bench,
    Device,
    Signed,
    features,
    motions,
    signed,
    signed_app,
)
from tests.host.cli.conftest import Arenite, arenite

pytest.importorskip("smpmgr", reason="smpmgr is not installed (pip install smpmgr)")
pytest.importorskip("reedsolo", reason="needs reedsolo: pip install 'arenite[update]'")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.qemu,
    pytest.mark.skipif(not HAS_IMGTOOL, reason=NO_IMGTOOL),
    pytest.mark.skipif(
        shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed"
    ),
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed"),
]
__all__ = ["arenite"]
SAMPLES = motions(120)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("key") / "release.pem"
    generate_key(path)
    return path


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Signed:
    return signed_app(tmp_path_factory.mktemp("old"), key, OLD, "1.0.0")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory, key: Path) -> Signed:
    """The application with a retrained model, whose self-test has 100 windows of the recording."""
    folder, golden = tmp_path_factory.mktemp("new"), tmp_path_factory.mktemp("golden") / "windows.npz"
    np.savez(golden, x=features(NEW, folder, SAMPLES)[:100])
    return signed_app(folder, key, NEW, "1.1.0", golden)


@pytest.fixture
def bench(tmp_path: Path, key: Path, old: Signed) -> Bench:
    library_or_skip("ed25519")
    made = Bench(tmp_path, key)
    made.program(old)
    return made


def _model_of(device: Device) -> str:
    """Return the hash of the model that runs, and what happened to the last update."""
    device.text.send("update")
    report = device.text.read_until("self-test")
    model, update = re.search(r"model (\w+) wrist\n", report), re.search(r"update (.+)\n", report)
    assert model is not None and update is not None
    return f"{model[1]} {update[1]}"


def _id(application: Signed, outcome: str) -> str:
    return f"{application.app.image_sha256[:8].hex()} {outcome}"


def _check_scores(bench: Bench, application: Signed) -> None:
    """Switch the device on again. All windows of the recording have the scores of LiteRT's reference, and all events
    are those of this computer."""
    reference, scores = ReferenceModel(application.app.prepared), application.app.scores
    expected = {}
    for window in reference.stream.feed(SAMPLES):
        _, (values,) = reference.run(window.features)
        expected[window.position - 1] = tuple(scores.percent(int(v)) for v in values.reshape(-1))
    found, events = {}, []
    with bench.run(SAMPLES, skip_sleep=True) as device:
        device.text.read_until("Started")
        for message in receive(device.emulator.machine.transport, "binary hold", lambda: False):
            if isinstance(message, WindowScores):
                found[message.at] = message.percent
            elif isinstance(message, EventMessage):
                events.append((message.at, scores.names[message.index], message.is_start))
            elif message == Text(END):
                break
    # The first window may have ended before the device got the command.
    assert len(found) > 500 and found.items() <= expected.items()
    wanted = [(e.sample, e.label, e.is_start) for e in expected_events(application.app, SAMPLES)]
    assert len(wanted) > 4 and events == wanted


def test_the_firmware_is_the_same_for_a_retrained_model(old: Signed, new: Signed) -> None:
    assert old.images.abi == new.images.abi
    assert old.app.image_sha256 != new.app.image_sha256
    assert expected_events(old.app, SAMPLES) != expected_events(new.app, SAMPLES)


def test_a_retrained_model_is_pushed_while_the_application_runs(
    arenite: Arenite, bench: Bench, old: Signed, new: Signed
) -> None:
    _check_scores(bench, old)
    with bench.run(SAMPLES) as device:
        report = device.text.read_until("Started")
        assert "\nupdate none\nself-test 3 samples passed\n" in report
        device.wait_for_samples(100)
        pushed = arenite("update", "push", new.images.model, device.port, "--json").json
        assert pushed["outcome"] == "confirmed"
        assert [image["version"] for image in pushed["images"]] == ["1.0.0", "1.1.0", "1.0.0"]
        assert _model_of(device) == _id(new, "confirmed")
        device.wait_for_samples(100)
    _check_scores(bench, new)
    with bench.run(SAMPLES) as device:
        device.text.read_until("self-test 100 samples passed")
        back = arenite("update", "rollback", device.port, "--json").json
        assert back["outcome"] == "confirmed"
        assert _model_of(device) == _id(old, "confirmed")
    _check_scores(bench, old)


def test_an_upload_does_not_stop_the_application(bench: Bench, new: Signed) -> None:
    expected = expected_events(new.app, SAMPLES)  # not those that run
    with bench.run(SAMPLES) as device:
        device.text.read_until("Started")
        before = device.wait_for_samples(RATE)
        run_smpmgr(device.port, "image", "upload", "--slot", "1", str(new.images.model))
        after = device.status()
        assert after["samples"] >= before["samples"] + RATE // 2
        assert (after["lost"], after["late"], after["lines"]) == (0, 0, 0)
        assert "version='1.1.0'" in run_smpmgr(device.port, "image", "state-read")
        lines = device.text.read_until_match(r"\[\d+\.\d+ s\] ").splitlines()
        event = parse_event(lines[-1])
        assert event is not None and event not in expected


def test_a_model_that_fails_its_self_test_is_put_back(
    arenite: Arenite, bench: Bench, old: Signed, tmp_path: Path, key: Path
) -> None:
    wrong = signed_app(tmp_path / "wrong", key, NEW, "1.2.0")
    golden = wrong.app.directory / "lib/model/golden.c"
    text = golden.read_text()
    crc = re.findall(r"0x[0-9a-f]{8}", text)[1]  # of the second sample
    golden.write_text(text.replace(crc, f"{int(crc, 16) ^ 1:#010x}"))
    wrong = signed(wrong.app)
    assert wrong.images.abi == old.images.abi
    with bench.run(SAMPLES) as device:
        device.text.read_until("Started")
        pushed = arenite("update", "push", wrong.images.model, device.port)
        assert pushed.code == 1 and "failed their self-test with reason 2" in pushed.out
        assert _model_of(device) == _id(old, "returned, reason 2")
        device.wait_for_samples(100)
    _check_scores(bench, old)


def test_a_command_behind_coded_frames_is_a_line_of_its_own(
    arenite: Arenite, bench: Bench, old: Signed
) -> None:
    """A device that restarts loses the beginning of a frame, and the rest of it is text without an end."""
    with bench.run(SAMPLES) as device:
        device.text.read_until("Started")
        device.emulator.machine.transport.write(encode_coded(b"status")[2:])
        assert arenite("update", "status", device.port, "--fec").code == 0
        assert _model_of(device) == _id(old, "none")


def test_a_model_of_another_graph_is_refused_before_it_is_sent(
    arenite: Arenite, bench: Bench, old: Signed, tmp_path: Path, key: Path
) -> None:
    other = signed_app(tmp_path / "other", key, NEW, "2.0.0", is_raw=True)
    assert other.images.abi != old.images.abi
    with bench.run(SAMPLES) as device:
        device.text.read_until("Started")
        arenite("update", "push", other.images.model, device.port).refused(1, "another graph")
        assert "2.0.0" not in run_smpmgr(device.port, "image", "state-read")
        assert _model_of(device) == _id(old, "none")
        assert arenite("update", "push", other.images.firmware, other.images.model, device.port).code == 0
        assert _model_of(device) == _id(other, "confirmed")


def test_a_program_that_hangs_is_put_back(
    arenite: Arenite, bench: Bench, old: Signed, tmp_path: Path, key: Path
) -> None:
    hanging = signed_app(tmp_path / "hanging", key, OLD, "1.3.0")
    main = hanging.app.directory / "src/main.c"
    main.write_text(main.read_text().replace("    app_start();\n", "    for (;;) {\n    }\n"))
    hanging = signed(hanging.app)
    assert hanging.images.has_old_firmware is False
    with bench.run(SAMPLES[:100]) as device:
        device.text.read_until("Started")
        begin = time.monotonic()
        pushed = arenite("update", "push", hanging.images.firmware, hanging.images.model, device.port)
        assert pushed.code == 1 and "returned to the old ones" in pushed.out, pushed
        assert time.monotonic() - begin < 120
        assert _model_of(device).startswith(_id(old, "returned"))


def test_an_upload_takes_the_time_between_samples(tmp_path: Path, key: Path) -> None:
    """Sound has 16,000 samples per second, and its buffer is full after 32 ms. The hash of an uploaded firmware takes
    200 ms of computation."""
    library_or_skip("ed25519")
    prepared = sound_model(tmp_path / "ear.tflite")
    app = signed(generate_app(prepared, BOARD, tmp_path / "app", updates=AppUpdates(key, "1.0.0")))
    bench = Bench(tmp_path, key)
    bench.program(app)
    with bench.run(np.tile(sounds(60), 30), skip_sleep=True, rate=RATE_OF_SOUND) as device:
        device.text.read_until("Started")
        run_smpmgr(device.port, "image", "upload", str(app.images.firmware))
        counts = device.status()
    assert counts["samples"] > RATE_OF_SOUND and (counts["lost"], counts["late"]) == (0, 0)


def test_a_loop_that_never_sleeps_takes_updates(arenite: Arenite, tmp_path: Path, key: Path) -> None:
    library_or_skip("ed25519")
    busy = []
    for version, seed in (("1.0.0", OLD), ("1.1.0", NEW)):
        app = signed_app(tmp_path / version, key, seed, version).app
        main = app.directory / "src/main.c"
        main.write_text(main.read_text().replace("        app_sleep();\n", ""))
        busy.append(signed(app))
    assert busy[0].images.abi == busy[1].images.abi
    bench = Bench(tmp_path, key)
    bench.program(busy[0])
    with bench.run(SAMPLES) as device:
        device.text.read_until("Started")
        assert arenite("update", "push", busy[1].images.model, device.port).code == 0
        assert _model_of(device) == _id(busy[1], "confirmed")
