"""A language model as a file describes it: its architecture, and how many bytes its weights take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.host.llm.architecture import Architecture


@dataclass(frozen=True)
class LanguageModel:
    """A model. ``weight_bytes``: all tensors. ``active_bytes``: the tensors that are read for each token: without the
    embedding unless it is the output too, and with only the experts that run. ``active_parameters``: the elements of
    the latter. ``exact``: the bytes are those of a file, else they are computed for the quantization."""

    path: Path
    architecture: Architecture
    quantization: str
    parameters: int
    active_parameters: int
    weight_bytes: int
    active_bytes: int
    exact: bool
