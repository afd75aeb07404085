"""The model of a running loop is replaced by newer versions from a signed repository: nothing is lost, and a version
that breaks a limit is returned and not tried again."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tuf", reason="needs tuf: pip install 'arenite[update]'")
from arenite.errors import ModelError, UsageError
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.session import CameraSession
from arenite.host.camera.updates import model_updater
from arenite.host.camera.updates.candidate import Candidate, update_name
from arenite.host.governor.interface import Limits
from arenite.host.update.repository.client import cache_of
from tests.docs.schemas import problems
from tests.host.camera.updates.runs import camera_run, copy_of
from tests.host.update.repository.repositories import Publisher, client, http_server

MODEL, OTHER = "visual_wake_words", "image_classification"

pytestmark = pytest.mark.slow


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return copy_of(MODEL, tmp_path / "detector.tflite")


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Publisher]:
    """A publisher with keys of its own, so that the client has a folder of its own in the cache."""
    publisher = Publisher(tmp_path / "repository")
    yield publisher
    shutil.rmtree(cache_of(publisher.root.read_bytes()), ignore_errors=True)


def newer(model: Path, padding: int = 16) -> Path:
    """Return a file with another hash and the same answers."""
    path = model.with_name(f"newer{padding}.tflite")
    path.write_bytes(model.read_bytes() + bytes(padding))
    return path


@pytest.mark.parametrize("overlap", [False, True])
def test_a_new_version_serves_and_no_frame_is_lost(publisher: Publisher, model: Path, overlap: bool) -> None:
    publisher.add(model, "1.0.0")
    with (
        http_server(publisher.folder) as address,
        camera_run(publisher, model, address, overlap=overlap) as run,
    ):
        run.wait_for(lambda: run.updates["checks"] >= 2)
        assert run.updates["switches"] == 0  # the version in the repository serves already
        publisher.add(newer(model), "1.1.0")
        run.wait_for_event("accepted")
        run.wait_for_frames(10)
        record = run.end()
    updates, served = record["updates"], run.collector.served
    assert problems(record) == []
    assert [each[0] for each in served] == list(range(len(served)))  # every frame, once, in order
    assert record["frames"]["dropped"] == 0 and record["frames"]["served"] == len(served)
    models = [name for _, name, _ in served]
    first = models.index("detector 1.1.0")
    assert set(models[:first]) == {"detector"} and set(models[first:]) == {"detector 1.1.0"}
    assert updates["serving"]["version"] == "1.1.0" and updates["switches"] == 1 and updates["returns"] == 0
    assert [event["event"] for event in updates["events"]][-3:] == ["shadow", "switched", "accepted"]
    # The synthetic pictures repeat, so the same picture has the same answer before and after.
    answers: dict[int, Any] = {}
    for sequence, _, answer in served:
        assert answers.setdefault(sequence % 8, answer) == answer
    shadow = updates["shadow"]
    assert shadow["agreement"] == 1.0 and shadow["compared"] >= 1
    assert (
        shadow["latency_ms"]["new"]["frames"] == shadow["compared"] <= shadow["latency_ms"]["old"]["frames"]
    )
    assert updates["probation"]["broken"] is None


def test_the_next_run_takes_an_accepted_version_at_once(publisher: Publisher, model: Path) -> None:
    publisher.add(newer(model), "1.1.0")
    with camera_run(publisher, model) as run:
        run.wait_for_event("accepted")
    with camera_run(publisher, model) as run:
        run.wait_for_event("accepted")
        assert run.end()["updates"]["shadow"] is None


def test_a_version_that_disagrees_is_refused_and_not_tried_again(
    publisher: Publisher, model: Path, tmp_path: Path
) -> None:
    other = copy_of(OTHER, tmp_path / "other.tflite")
    target = publisher.add(other, "2.0.0")
    with camera_run(publisher, model) as run:
        reason = run.wait_for_event("refused")["reason"]
        assert "agreed to 0.000" in reason and "at least 0.8 is required" in reason
        checks = run.updates["checks"]
        run.wait_for(lambda: run.updates["checks"] >= checks + 2)
        record = run.end()
    assert len(run.events("found")) <= 2 and len(run.events("refused")) == 1
    assert record["updates"]["switches"] == 0 and {name for _, name, _ in run.collector.served} == {
        "detector"
    }
    assert list(client(publisher, cache_of(publisher.root.read_bytes())).state().refused) == [target.sha256]
    # A later run remembers it, and takes the next version.
    publisher.add(newer(model), "2.1.0")
    with camera_run(publisher, model) as run:
        run.wait_for_event("accepted")
        assert {event["version"] for event in run.events("found")} == {"2.1.0"} and not run.events("refused")


def test_without_shadow_a_version_that_disagrees_is_returned(
    publisher: Publisher, model: Path, tmp_path: Path
) -> None:
    other = copy_of(OTHER, tmp_path / "other.tflite")
    publisher.add(other, "2.0.0")
    with camera_run(publisher, model, shadow_s=0.0, probation_s=60.0) as run:
        assert "agreed to 0.000" in run.wait_for_event("returned")["reason"]
        run.wait_for_frames(10)
        record = run.end()
    served = run.collector.served
    assert [each[0] for each in served] == list(range(len(served)))
    assert "detector 2.0.0" in {name for _, name, _ in served} and served[-1][1] == "detector"
    assert record["updates"]["returns"] == 1 and record["updates"]["serving"]["version"] == ""


class _FailingCandidate(Candidate):
    """A version that works in its own process, and fails in the loop's after three frames."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        invoke, count = self.server.invoke, 0

        def fail(slot: int = 0) -> None:
            nonlocal count
            count += 1
            if count > 3:
                raise ModelError("The accelerator hangs.", "Restart it.")
            invoke(slot)

        self.server.invoke = fail  # type: ignore[method-assign]


class _SlowCandidate(Candidate):
    """A version that takes three seconds in the loop."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        invoke = self.server.invoke

        def slow(slot: int = 0) -> None:
            time.sleep(3.0)
            invoke(slot)

        self.server.invoke = slow  # type: ignore[method-assign]


def test_a_version_that_fails_is_returned_without_losing_the_frame(
    publisher: Publisher, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_updater, "Candidate", _FailingCandidate)
    publisher.add(newer(model), "1.1.0")
    with camera_run(publisher, model, probation_s=60.0) as run:
        assert "The accelerator hangs" in run.wait_for_event("returned")["reason"]
        run.wait_for_frames(10)
        record = run.end()
    served = run.collector.served
    assert [each[0] for each in served] == list(range(len(served)))
    assert [name for _, name, _ in served].count("detector 1.1.0") == 3
    assert record["updates"]["returns"] == 1 and record["updates"]["switches"] == 2


def test_a_version_that_is_too_slow_is_returned(
    publisher: Publisher, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_updater, "Candidate", _SlowCandidate)
    publisher.add(newer(model), "1.1.0")
    limits = Limits(latency_ms=2000.0)
    with camera_run(publisher, model, limits=limits, pace="live", fps=10.0, min_agreement=0.0) as run:
        reason = run.wait_for_event("returned")["reason"]
        assert "after the capture" in reason and "the limit is" in reason
        run.wait_for_frames(3)
        assert run.collector.served[-1][1] == "detector"
        run.end()


def test_a_damaged_model_is_refused(
    publisher: Publisher, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A publisher without Arenite may sign a damaged model. Arenite's own check is left out here."""
    bad = model.with_name("bad.tflite")
    bad.write_bytes(model.read_bytes()[:5000])
    monkeypatch.setattr("arenite.host.update.repository.publisher._kind", lambda path, data: "tflite")
    publisher.add(bad, "1.1.0")
    with camera_run(publisher, model) as run:
        run.wait_for_event("refused")
        run.wait_for_frames(10)
        assert run.end()["updates"]["switches"] == 0


def test_the_loop_goes_on_without_the_repository(publisher: Publisher, model: Path) -> None:
    with http_server(publisher.folder) as address:
        pass
    with camera_run(publisher, model, address) as run:
        assert "cannot be read now" in run.wait_for_event("failed")["reason"]
        run.wait_for(lambda: run.updates["failed_checks"] >= 2)
        assert len(run.events("failed")) == 1  # the same failure is reported once
        run.wait_for_frames(10)
        run.end()


def test_a_run_may_end_at_any_time(publisher: Publisher, model: Path) -> None:
    publisher.add(newer(model), "1.1.0")
    for kind in ("found", "shadow", "switched"):
        with camera_run(publisher, model, shadow_s=1.0, probation_s=60.0) as run:
            run.wait_for_event(kind)
            record = run.end()
        served = run.collector.served
        assert [each[0] for each in served] == list(range(len(served)))
        assert not [
            event for event in record["updates"]["events"] if event["event"] in ("accepted", "refused")
        ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"trusted_root": None}, "needs the trusted root"),
        ({"variants": ("other.tflite",)}, "does not work with --ladder"),
        ({"memory_mb": 10.0}, "does not work with --memory-budget"),
        ({"scenario": "offline"}, "does not work with --scenario"),
        ({"repository": "nowhere"}, "no folder nowhere"),
        ({"repository": "."}, "has no repository: the folder metadata is missing"),
        ({"trusted_root": Path(__file__)}, "is not the root metadata"),
    ],
)
def test_options_that_do_not_go_together(
    publisher: Publisher, model: Path, options: dict[str, Any], words: str
) -> None:
    settings = {
        "sources": ("synthetic",), "model": str(model), "repository": str(publisher.folder),
        "trusted_root": publisher.root,
    }  # fmt: skip
    with pytest.raises(UsageError, match=words), CameraSession(CameraOptions.of(**{**settings, **options})):
        pass


def test_the_name_in_the_repository() -> None:
    assert update_name("blazeface") == "blazeface"
    assert update_name("models/detector.tflite") == "detector"
    assert update_name("models/detector.v2.onnx") == "detector.v2"
