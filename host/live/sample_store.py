"""Store recorded samples as a data set: a sub-folder for each label, and a record of all files and gaps.

``arenite convert --calibration``, ``--check-data``, ``arenite bench --data`` and ``arenite tune`` read such folders. A
file appears completely or not at all, and no file is ever replaced.
"""

from __future__ import annotations

import io
import json
import re
import time
import wave
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import UsageError
from arenite.files import replace_file
from arenite.host.live.continuous_samples import Gap
from arenite.host.live.messages import Hello, Sensor
from arenite.input_files import parse_json, read_text

#: One line of JSON for each file, gap and run.
RECORD = "recorded.jsonl"
_NO_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f]')


def folder_name(label: str) -> str:
    """Return the name of the sub-folder of ``label``: the label, without characters that a path cannot have."""
    return _NO_NAME.sub("_", label).strip(" .")[:100] or "_"


class SampleStore:
    """A folder of recorded samples. A later run adds files to it.

    Raises ``UsageError`` if the folder has recordings of another sensor, or cannot be written.
    """

    def __init__(self, folder: Path, hello: Hello) -> None:
        self.folder = folder
        self.counts: dict[str, int] = {}
        self.gaps: list[Gap] = []
        self._hello = hello
        self._stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        run: dict[str, Any] = {
            "sensor": hello.sensor.name.lower(),
            "rate": hello.rate,
            "channels": hello.channels,
        }
        try:
            earlier = [entry["run"] for entry in _entries(folder / RECORD) if "run" in entry]
        except (OSError, ValueError, UnicodeDecodeError) as error:
            raise UsageError(
                f"Cannot read the record {folder / RECORD}: {error}.", "Give a new folder."
            ) from error
        for known in earlier:
            if known != run:
                raise UsageError(
                    f"{folder} has recordings of another sensor: {known}. This one is {run}.",
                    "Give a new folder.",
                )
        self._append({"run": run})

    @property
    def unit(self) -> str:
        """What is counted in gaps: samples or pictures."""
        return "pictures" if self._hello.sensor == Sensor.PICTURES else "samples"

    def add(self, samples: np.ndarray, label: str, at: int) -> Path:
        """Store int16 ``samples`` [samples, channels] under ``label``; ``at`` is the index of the first one. Return the
        path of the file. Raises ``UsageError`` if it cannot be written."""
        content, suffix = self._file(samples)
        return self._store(content, suffix, label, {"at": at, "samples": len(samples)})

    def add_picture(self, png: bytes, label: str, number: int) -> Path:
        """Store a picture as a PNG file, as :meth:`add` does."""
        return self._store(png, ".png", label, {"picture": number})

    def add_gap(self, gap: Gap) -> None:
        """Record that samples are missing."""
        self.gaps.append(gap)
        self._append({"gap": asdict(gap)})

    def _store(self, content: bytes, suffix: str, label: str, entry: dict[str, Any]) -> Path:
        folder = self.folder / folder_name(label)
        place = entry.get("at", entry.get("picture", 0))
        number = 0
        while (path := folder / f"{self._stamp}-{place:09d}{f'-{number}' * (number > 0)}{suffix}").exists():
            number += 1
        try:
            replace_file(path, content, durable=False)
        except OSError as error:
            raise UsageError(
                f"Cannot write {path}: {error.strerror or error}.", "Give a folder that you may write to."
            ) from error
        self.counts[label] = self.counts.get(label, 0) + 1
        self._append({"file": path.relative_to(self.folder).as_posix(), "label": label, **entry})
        return path

    def _file(self, samples: np.ndarray) -> tuple[bytes, str]:
        stream = io.BytesIO()
        if self._hello.sensor != Sensor.SOUND:
            np.save(stream, np.ascontiguousarray(samples, np.int16))
            return stream.getvalue(), ".npy"
        with wave.open(stream, "wb") as file:
            file.setnchannels(samples.shape[1])
            file.setsampwidth(2)
            file.setframerate(self._hello.rate)
            file.writeframes(samples.astype("<i2").tobytes())
        return stream.getvalue(), ".wav"

    def _append(self, entry: dict[str, Any]) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / RECORD).open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise UsageError(
                f"The folder {self.folder} cannot be used: {error.strerror or error}.",
                "Give a folder that you may write to.",
            ) from error


def _entries(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a record. A run that was interrupted may have left half a line."""
    entries = []
    for line in read_text(path).splitlines() if path.is_file() else ():
        try:
            entry = parse_json(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            entries.append(entry)
    return entries
