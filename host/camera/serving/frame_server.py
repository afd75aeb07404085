"""The interface of servers. A server computes answers from frames with one model, its variants, or several models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.frames.frame import CropWindow, Format, Frame
from arenite.host.camera.frames.served_frame import ServedFrame


class FrameServer(Protocol):
    """Computes the answer to a frame in one call, ``serve``. ``slot`` is the index of the memory that a frame uses."""

    @property
    def name(self) -> str:
        """The name of the current model, for display."""
        ...

    @property
    def slots(self) -> int:
        """The number of frames that can be processed at the same time. Each slot has its own memory."""
        ...

    @property
    def bytes_written(self) -> int:
        """Bytes that the preprocessing wrote for the last frame."""
        ...

    @property
    def labels(self) -> Sequence[str]:
        """The labels that answers can contain; empty if answers contain only class numbers."""
        ...

    @property
    def staged(self) -> StagedServer | None:
        """This server if it can also run the stages of a frame one by one, else None."""
        ...

    def bind(self, format: Format, window: CropWindow | None = None) -> None:
        """Prepare for frames of ``format``. Raises ``UsageError`` if the model cannot take them."""
        ...

    def serve(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> ServedFrame:
        """Return the answer to ``frame``, or to the part ``window`` of it. The caller still has to release the
        frame."""
        ...

    def close(self) -> None: ...


class StagedServer(FrameServer, Protocol):
    """A server that can also run the stages of a frame one by one: ``prepare``, ``invoke``, ``answer``.

    Stages of different slots may overlap; two threads must not use the same slot at once.
    """

    @property
    def preprocessing_code(self) -> str:
        """The implementation of the preprocessing (``FramePreprocessor.code``); empty before the first ``bind``."""
        ...

    def prepare(self, frame: Frame, slot: int = 0, window: CropWindow | None = None) -> None:
        """Write the pixels of ``frame`` into the model's input of ``slot``."""
        ...

    def invoke(self, slot: int = 0) -> None:
        """Run the model on the input of ``slot``."""
        ...

    def warm(self) -> None:
        """Run the model on the previous input of the first slot, between two frames, only to warm it up."""
        ...

    def answer(self, slot: int = 0) -> Answer:
        """Read the answer from the outputs of ``slot``."""
        ...

    def input(self, slot: int = 0) -> np.ndarray:
        """Return a view of the prepared input of ``slot`` as bytes: uint8, shape (n,)."""
        ...

    def model_of(self, slot: int = 0) -> str:
        """Return the name of the model that the frame in ``slot`` was prepared for."""
        ...
