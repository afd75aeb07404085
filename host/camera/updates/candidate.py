"""Open a new version of the model that serves, in this process or in one of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from arenite.errors import ModelError
from arenite.host.camera.frames.frame import CropWindow, Format
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.options import CameraOptions, UpdateOptions
from arenite.host.camera.server_setup import ModelServers
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.camera.serving.warm_up import warm_up

#: The longest time in seconds that a thread runs Python code while the loop's thread waits for its turn.
_TURN_S = 0.00005


def update_name(model: str) -> str:
    """Return the name in a repository of the model that ``--model`` has: the name without folder and suffix."""
    path = Path(model)
    return path.stem if path.suffix.lower() in (".tflite", ".onnx") or path.is_file() else model


def candidate_options(options: CameraOptions, path: Path, runtime: str, serving: Path) -> CameraOptions:
    """Return the options for the model ``path``, which replaces the model ``serving`` on the runtime ``runtime``. Steps
    and labels that the user gave apply to every version. A model of another format chooses its runtime itself."""
    same_format = (path.suffix == ".onnx") == (serving.suffix == ".onnx")
    name = options.model.runtime
    if name == "auto" or not same_format:
        name = runtime if same_format else "auto"
    model = replace(options.model, name=str(path), runtime=name, measure_runtimes=False)
    return replace(options, model=model, updates=UpdateOptions())


def check_facts(
    facts: dict[str, Any], serving: CameraModel, kind: str | None, slots: int, warm_model: bool
) -> list[str]:
    """Check that a model may replace the model ``serving``, whose answers have ``kind``. ``facts`` are those of
    ``ShadowProcess``. Return sentences about differences that are allowed. Raises ``ModelError``."""
    problem = None
    if kind is not None and facts["kind"] != kind:
        problem = f"Its answers are {facts['kind']}, and those of the present model are {kind}."
    elif facts["inputs"] != len(serving.inputs):
        problem = f"It has {facts['inputs']} inputs, and the present model has {len(serving.inputs)}."
    elif facts["slots"] < slots:
        problem = f"Its runtime processes {facts['slots']} frames at a time, and {slots} are in use."
    elif facts["keeps_state"] and warm_model:
        problem = "It keeps state between frames, so --warm-model would change its answers."
    if problem is not None:
        raise ModelError(problem, "Publish a model that fits this command.")
    notes = []
    labels = tuple(facts["labels"])
    if labels != tuple(serving.labels):
        notes.append(f"It has {len(labels)} labels, not the {len(serving.labels)} of the present model.")
    if tuple(facts["input"]) != tuple(serving.inputs[0].shape):
        shapes = ("x".join(map(str, shape)) for shape in (facts["input"], serving.inputs[0].shape))
        notes.append("Its input is {}, and that of the present model {}.".format(*shapes))
    return notes


class Candidate:
    """A new version in this process, warmed up and ready to serve."""

    def __init__(
        self,
        options: CameraOptions,
        previous: CameraModel,
        slots: int,
        label: str,
        format: Format,
        window: CropWindow | None,
    ) -> None:
        """``previous`` is the model that serves, and ``label`` the name for display. Raises ``AreniteError``."""
        self.options = options
        with short_turns():
            self._servers = ModelServers(options, slots, previous)
            server = self._servers.warm[0]
            assert isinstance(server, ModelServer)
            self.server = server
            self.model = self._servers.models[0]
            try:
                server.name = label
                warm_up(server, format, window)
            except BaseException:
                self._servers.close()
                raise


@contextmanager
def short_turns() -> Iterator[None]:
    """Let threads give way to each other after 50 µs of Python code, instead of 5 ms."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
