"""The page of ``arenite demo --web`` gives the answers of the camera loop for the same frames of a video."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import arenite
from arenite.errors import AreniteError
from arenite.host.bench.reference import Reference
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.frames.frame import Format, Frame
from arenite.host.camera.frames.preprocessor import FramePreprocessor
from arenite.host.camera.model.camera_model import open_model
from arenite.host.camera.runtimes.base import TensorSlot
from arenite.host.interface.web import web
from arenite.host.web.serving.serve_page import ServingOptions, open_page
from tests.browser import BROWSER, Browser
from tests.host.camera.answers.interpreter_runs import memory
from tests.host.camera.frames.photo_frames import photograph
from tests.host.camera.sources.recordings import y4m_of_pictures

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("h11", reason="needs h11")
Image = pytest.importorskip("PIL.Image", reason="needs Pillow")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]

WIDTH, HEIGHT = 640, 480
FRAMES = 20


@pytest.fixture(scope="module")
def image() -> Path:
    """The face detector of the demo: a TFLite file with Arenite's plan."""
    from arenite.host.web.face_demo import face_detector

    try:
        return face_detector()
    except AreniteError as error:
        pytest.skip(error.problem)


def write_video(path: Path) -> None:
    """Write a video: a window that moves over the photograph of a face."""
    photo = photograph(0, WIDTH + 4 * FRAMES, HEIGHT)
    windows = [np.ascontiguousarray(photo[:, 4 * k : 4 * k + WIDTH]) for k in range(FRAMES)]
    path.write_bytes(y4m_of_pictures(windows, "30:1"))


def test_the_page_answers_as_the_camera_loop(image: Path, tmp_path: Path) -> None:
    package = web({"face": image}, tmp_path / "page", page="camera", page_collects=True)
    write_video(tmp_path / "video.y4m")
    data = tmp_path / "data"
    flags = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
    server = open_page(package, ServingOptions(collect=data), print)
    with (
        contextlib.closing(server),
        Browser(
            tmp_path / "profile", *flags, f"--use-file-for-fake-video-capture={tmp_path / 'video.y4m'}"
        ) as browser,
    ):
        browser.open(server.url)
        browser.until("document.getElementById('status').textContent === 'Ready'")
        browser.value("document.getElementById('consent').click()")
        browser.value("document.getElementById('start').click()")
        for _ in range(5):
            browser.until("!document.getElementById('save').disabled")
            browser.value("document.getElementById('saved').textContent = ''")
            browser.value("document.getElementById('save').click()")
            browser.until("document.getElementById('saved').textContent.startsWith('Saved as ')")
        assert browser.errors == []
    records = {
        record["file"]: record["answer"]
        for record in map(json.loads, (data / "collected.jsonl").read_text().splitlines())
    }
    assert len(records) == 5 and all(records.values())  # every frame shows the face
    names = sorted(records)
    for name in names:
        pixels = np.asarray(Image.open(data / name))
        assert records[name] == [page_row(box) for box in exact_answer(image, pixels)], name
    # The camera loop runs LiteRT's optimized kernels. In this model, one quantization step of an output moves a side of
    # a box by 2 % of the picture.
    with arenite.Camera(model=str(image), source=str(data / "*.png"), pace="file") as camera:
        answers = [served.to_json()["answer"]["boxes"] for served in camera]
    for name, boxes in zip(names, answers, strict=True):
        pixels = np.asarray(Image.open(data / name))
        exact = [box["box"] for box in exact_answer(image, pixels)]
        np.testing.assert_allclose([box["box"] for box in boxes], exact, atol=0.04)


def exact_answer(image: Path, pixels: np.ndarray) -> list[dict[str, Any]]:
    """Return the boxes in the picture ``pixels``, computed by the steps of the camera loop, but with LiteRT's reference
    kernels."""
    model = open_model(str(image))
    height, width, _ = pixels.shape
    format = Format("rgb", width, height, (3 * width,))
    picture = np.ascontiguousarray(pixels)
    filled = np.zeros(model.inputs[0].shape, np.int8)
    preprocessor = FramePreprocessor(model.preprocessing, format, memory(model.inputs[0], filled))
    preprocessor.run(Frame(format, (picture.ctypes.data,), picture, 0, 0))
    outputs = Reference(image.read_bytes()).run([filled])
    slot = TensorSlot(
        (memory(model.inputs[0], filled),),
        tuple(memory(tensor, output) for tensor, output in zip(model.outputs, outputs, strict=True)),
    )
    answer = AnswerReader(model.postprocessing, slot, model.labels, preprocessor.geometry).read()
    boxes: list[dict[str, Any]] = answer.to_json()["boxes"]
    return boxes


def page_row(box: dict[str, Any]) -> list[str]:
    """Return the texts that the page shows for a box of ``arenite camera``."""
    sides = zip(("left", "top", "right", "bottom"), box["box"], strict=True)
    place = ", ".join(f"{name} {100 * side:.1f} %" for name, side in sides)
    return [f"{box['label']}: {place}", f"{100 * box['score']:.1f} %"]
