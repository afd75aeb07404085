"""Tests of the trial run: a model first runs in a separate process, so a model that crashes its runtime raises an
error."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from arenite.converters.graph.model import Model
from arenite.errors import ModelError
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.runtimes.trial_run import require_trial_run
from arenite.host.camera.session import CameraSession
from tests.converters.small_models import Net
from tests.fuzz.hostile_graphs import hostile_graph
from tests.host.camera.runtimes.child_process import RAN, REJECTED, run_in_a_child
from tests.host.camera.runtimes.small_models import picture_net, saved


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache, in which no trial run is recorded, and return its path."""
    monkeypatch.setenv("ARENITE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def crashing_model() -> Model:
    """Return a well-formed model that crashes LiteRT 2.1: a dilated int8 depthwise convolution without a bias."""
    net = Net(1)
    x = net.input((1, 3, 12, 8))
    w = net.weights((1, 3, 4, 8), 3)
    y = net.op(
        "DEPTHWISE_CONV_2D", [x, w], (1, 3, 6, 8), options="DepthwiseConv2DOptions",
        stride_w=2, stride_h=1, depth_multiplier=1, dilation_w_factor=3, dilation_h_factor=1,
    )  # fmt: skip
    return net.model([y])


def test_a_model_that_crashes_the_runtime_is_an_error(tmp_path: Path, empty_cache: Path) -> None:
    path = saved(crashing_model(), tmp_path)
    with pytest.raises(ModelError, match=r"model\.tflite crashed litert-cpu in a trial run \(SIG"):
        open_runtime(path, "litert-cpu", trial=True)
    assert not list(empty_cache.glob("trials/*"))


def test_the_camera_reports_a_model_that_crashes_its_runtime(tmp_path: Path) -> None:
    path = saved(crashing_model(), tmp_path)
    options = CameraOptions.of(sources=("synthetic",), model=str(path), frames=1)
    with pytest.raises(ModelError, match="crashed"), CameraSession(options) as session:
        session.run()


def test_a_model_that_runs_is_tried_once(tmp_path: Path, empty_cache: Path) -> None:
    path = saved(picture_net(), tmp_path)
    require_trial_run(path, "litert-cpu", 1, {})
    (marker,) = empty_cache.glob("trials/*")
    first = marker.stat().st_mtime_ns
    require_trial_run(path, "litert-cpu", 1, {})
    assert marker.stat().st_mtime_ns == first
    other = saved(replace(picture_net(), description="another file"), tmp_path, "other.tflite")
    require_trial_run(other, "litert-cpu", 1, {})
    assert len(list(empty_cache.glob("trials/*"))) == 2


def test_an_error_of_the_runtime_is_reported_as_without_a_trial(tmp_path: Path, empty_cache: Path) -> None:
    net = Net(2)
    x = net.input((5, 4), "float32")
    path = saved(
        net.model([net.op("GATHER", [x, net.ints([77])], (1, 4), "float32", options="GatherOptions")]),
        tmp_path,
    )
    runtime = open_runtime(path, "litert-cpu", trial=True)
    with pytest.raises(ModelError, match="failed"):
        runtime.invoke()
    assert not list(empty_cache.glob("trials/*"))


def _try_and_run(path: Path) -> None:
    """Run a model after a trial run."""
    open_runtime(path, "litert-cpu", trial=True).invoke()


@pytest.mark.slow
@pytest.mark.parametrize("first_seed", [0, 20])
def test_hostile_graphs_never_crash_the_caller(first_seed: int, tmp_path: Path) -> None:
    """A child process makes a trial run of each graph and then runs it. The child never crashes: the graph runs or
    raises an error."""
    statuses = []
    for seed in range(first_seed, first_seed + 20):
        try:
            path = saved(hostile_graph(seed), tmp_path)
        except (TypeError, ValueError):
            continue  # the value does not fit into its field in the file
        statuses.append(run_in_a_child(partial(_try_and_run, path)))
    assert set(statuses) <= {RAN, REJECTED}, statuses
    assert min(statuses.count(RAN), statuses.count(REJECTED)) >= 3
