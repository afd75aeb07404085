"""Read the labelled recordings on which a decision is tuned: long WAV files with label files, and folders of clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arenite.converters.processing.long_sound import open_sound
from arenite.converters.processing.media_files import SOUND_SUFFIXES
from arenite.errors import UsageError
from arenite.host.tune.label_files import SUFFIXES, label_file_of, read_label_file

#: Names of sub-folders without events, besides those of ignored classes.
BACKGROUND_FOLDERS = ("background", "_background_noise_", "noise")


@dataclass(frozen=True)
class Span:
    """An event of a class in a recording. ``start`` and ``end`` are indices of samples; ``end`` is behind the last."""

    start: int
    end: int
    index: int


@dataclass(frozen=True)
class Recording:
    """One stream of int16 ``samples``.

    ``spans`` are its events. ``heard`` are the parts that were recorded, as (start, end); clips of a folder have gaps
    between them, in which no model runs.
    """

    name: str
    samples: np.ndarray
    spans: tuple[Span, ...]
    heard: tuple[tuple[int, int], ...]

    @property
    def recorded_samples(self) -> int:
        """The number of samples without the gaps."""
        return sum(end - start for start, end in self.heard)


@dataclass(frozen=True)
class ClassNames:
    """The classes of a model: their names (labels or numbers), and the numbers of those that never have events."""

    names: tuple[str, ...]
    ignored: frozenset[int]

    def index_of(self, name: str) -> int | None:
        """Return the number of the class ``name``, or None."""
        return self.names.index(name) if name in self.names else None


def read_recordings(
    paths: Sequence[Path], classes: ClassNames, rate: int, gap: int
) -> tuple[list[Recording], dict[str, int]]:
    """Return the recordings in ``paths``, and how often each label occurs that is no class.

    Args:
        paths: WAV files with a label file beside them, or folders of such files, or folders whose sub-folders have
            clips of one class each, or of none.
        classes: the classes of the model.
        rate: samples per second of the model's preprocessing.
        gap: samples of silence between clips.

    Raises:
        UsageError: a file or folder is missing, has no labels, or cannot be read.
    """
    recordings: list[Recording] = []
    unknown: dict[str, int] = {}
    for path in paths:
        if path.is_file():
            recordings.append(_stream(path, classes, rate, unknown))
        elif path.is_dir():
            recordings += _folder(path, classes, rate, gap, unknown)
        else:
            raise UsageError(
                f"The file or folder {path} does not exist.", "Give a WAV file, or a folder of WAV files."
            )
    return recordings, unknown


def _stream(path: Path, classes: ClassNames, rate: int, unknown: dict[str, int]) -> Recording:
    """Return a WAV file with the events of its label file."""
    label_file = label_file_of(path)
    if label_file is None:
        raise UsageError(
            f"{path} has no label file: {', '.join(path.with_suffix(s).name for s in SUFFIXES)} do not exist.",
            "Write when its events start and end (docs/events.md), or an empty file if it has none.",
        )
    samples = _samples_of(path, rate)
    spans = []
    for span in read_label_file(label_file):
        index = classes.index_of(span.label)
        if span.start_s * rate >= len(samples):
            raise UsageError(
                f"{label_file}: an event starts at {span.start_s:g} s, but {path.name} has only "
                f"{len(samples) / rate:.3f} s.",
                "Give the label file of this recording.",
            )
        if index is None:
            unknown[span.label] = unknown.get(span.label, 0) + 1
        elif index not in classes.ignored:
            spans.append(Span(round(span.start_s * rate), round(span.end_s * rate), index))
    return Recording(str(path), samples, tuple(spans), ((0, len(samples)),))


def _samples_of(path: Path, rate: int) -> np.ndarray:
    """Return the samples of a WAV file. Raises ``UsageError`` if it cannot be read or has none."""
    samples = open_sound(path, rate)
    if len(samples) == 0:
        raise UsageError(f"The sound {path} has no samples.", "Record it again, or remove the file.")
    return samples


def _folder(
    folder: Path, classes: ClassNames, rate: int, gap: int, unknown: dict[str, int]
) -> list[Recording]:
    """Return the WAV files of a folder, and one recording for each of its sub-folders."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    files = [entry for entry in entries if entry.suffix.lower() in SOUND_SUFFIXES and entry.is_file()]
    recordings = [_stream(path, classes, rate, unknown) for path in files]
    for sub_folder in (entry for entry in entries if entry.is_dir()):
        clips = sorted(f for f in sub_folder.rglob("*") if f.suffix.lower() in SOUND_SUFFIXES and f.is_file())
        if clips:
            index = classes.index_of(sub_folder.name)
            if index is None and sub_folder.name not in BACKGROUND_FOLDERS:
                raise UsageError(
                    f"{sub_folder} is named after no class of the model: {', '.join(classes.names)[:200]}.",
                    "Rename it to a class, or to 'background' if its recordings have no events.",
                )
            event = None if index in classes.ignored else index
            recordings.append(_clips(sub_folder, clips, event, rate, gap))
    if not recordings:
        raise UsageError(
            f"{folder} contains no WAV files.",
            "Give a folder with one sub-folder per class, or with WAV files and their label files.",
        )
    return recordings


def _clips(folder: Path, clips: Sequence[Path], index: int | None, rate: int, gap: int) -> Recording:
    """Return clips one after the other, with gaps. Each is an event of class ``index``, or none."""
    parts: list[np.ndarray] = []
    spans: list[Span] = []
    heard: list[tuple[int, int]] = []
    at = 0
    for clip in clips:
        samples = _samples_of(clip, rate)
        parts += [samples, np.zeros(gap, np.int16)]
        heard.append((at, at + len(samples)))
        if index is not None:
            spans.append(Span(at, at + len(samples), index))
        at += len(samples) + gap
    return Recording(str(folder), np.concatenate(parts), tuple(spans), tuple(heard))
