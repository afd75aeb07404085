"""The interface of a server of frames: one model, variants of a model, or several models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame


class FrameServer(Protocol):
    """Turns a frame into an answer in one call, ``serve``."""

    @property
    def name(self) -> str:
        """The name of the model that serves now, for people."""
        ...

    @property
    def slots(self) -> int:
        """The number of frames that can be in progress at once, each in memory of its own."""
        ...

    @property
    def bytes_written(self) -> int:
        """Bytes that preprocessing and reading the answer wrote for the last frame."""
        ...

    @property
    def labels(self) -> Sequence[str]:
        """The labels that the answers may have; empty when they have numbers only."""
        ...

    @property
    def staged(self) -> StagedServer | None:
        """This server when a frame can also be taken through it stage by stage, else None."""
        ...

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        """Get ready for frames of ``format``. Raises ``UsageError`` when they cannot be served."""
        ...

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        """Serve ``frame``, or only ``window`` of it. The frame stays the caller's."""
        ...

    def close(self) -> None: ...


class StagedServer(FrameServer, Protocol):
    """Also takes a frame through its stages one by one: ``prepare``, ``invoke``, ``answer``.

    Stages of different slots may overlap; two threads must not use the same slot at once.
    """

    @property
    def preprocessing_code(self) -> str:
        """What runs the preprocessing (``FramePreprocessor.code``); empty before the first ``bind``."""
        ...

    def prepare(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> None:
        """Write the pixels of ``frame`` into the model's input of ``slot``."""
        ...

    def invoke(self, slot: int = 0) -> None:
        """Run the model on the input of ``slot``."""
        ...

    def answer(self, slot: int = 0) -> Answer:
        """Read the answer from the outputs of ``slot``."""
        ...

    def input(self, slot: int = 0) -> np.ndarray:
        """The prepared input of ``slot`` as bytes, shape (n,), uint8: a view."""
        ...

    def model_of(self, slot: int = 0) -> str:
        """The name of the model that the frame in ``slot`` was prepared for."""
        ...
