"""How fast this computer reads weights and the cache, found by decoding once, and what follows for other contexts.

The time of a token is a straight line over the tokens in the cache: bytes of the active weights / rate of the weights +
bytes of the cache / rate of the cache. Two runs, with few and with many tokens, give both rates. They hold for the
quantization, the type of the cache and the number of threads that were measured: on a processor that computes slower
than it reads, the rates are those of the computation.
"""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from arenite.errors import ToolError
from arenite.files import cache_directory, cache_error, replace_file
from arenite.host.llm.kv_cache import kv_read_bytes
from arenite.host.llm.language_model import LanguageModel

#: The format of the file, which only this module reads.
_FORMAT = 1
#: The prompts of the two runs, in tokens, and the tokens that are decoded after each.
_SHORT, _LONG, _TOKENS = 128, 4096, 32


@dataclass(frozen=True)
class Calibration:
    """The rates of this computer in GB/s (10⁹ bytes per second), measured with the file ``model``."""

    model: str
    quantization: str
    cache_type: str
    threads: int
    weights_gb_s: float
    cache_gb_s: float

    @property
    def key(self) -> tuple[str, str, int]:
        """For what the rates hold: the quantization, the type of the cache and the number of threads."""
        return self.quantization, self.cache_type, self.threads

    def token_s(self, model: LanguageModel, depth: float) -> float:
        """Return the predicted seconds per token with ``depth`` tokens in the cache."""
        cache_bytes = _cache_bytes(model, depth, self.cache_type)
        return model.active_bytes / (self.weights_gb_s * 1e9) + cache_bytes / (self.cache_gb_s * 1e9)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def calibration_runs(model: LanguageModel) -> tuple[tuple[int, int], ...]:
    """Return the runs of a calibration: for each the tokens of the prompt, and how many to decode."""
    longest = min(_LONG, model.architecture.context - _TOKENS)
    return ((min(_SHORT, longest // 4), _TOKENS), (longest, _TOKENS))


def calibrate(
    model: LanguageModel,
    cache_type: str,
    threads: int,
    points: tuple[tuple[float, float], tuple[float, float]],
) -> Calibration:
    """Return the rates that follow from two ``points``, each the tokens in the cache and the seconds per token.

    Raises ``ToolError`` if the times are too disturbed: more tokens must take longer, and the weights must take time.
    """
    (low, low_s), (high, high_s) = points
    low_bytes, high_bytes = _cache_bytes(model, low, cache_type), _cache_bytes(model, high, cache_type)
    per_byte = (high_s - low_s) / (high_bytes - low_bytes)
    weights_s = low_s - per_byte * low_bytes
    if per_byte <= 0 or weights_s <= 0:
        raise ToolError(
            f"The calibration failed: a token took {1e3 * low_s:.2f} ms after {low:.0f} others and "
            f"{1e3 * high_s:.2f} ms after {high:.0f}, which no memory explains.",
            "End other programs, and try again.",
        )
    rates = model.active_bytes / weights_s / 1e9, 1 / per_byte / 1e9
    return Calibration(model.path.name, model.quantization, cache_type, threads, *rates)


def _cache_bytes(model: LanguageModel, depth: float, cache_type: str) -> int:
    return kv_read_bytes(model.architecture, round(depth), cache_type)


def load_calibration(quantization: str, cache_type: str, threads: int) -> Calibration | None:
    """Return the stored calibration of this computer, or None if it has none for these."""
    return next((known for known in _stored() if known.key == (quantization, cache_type, threads)), None)


def store_calibration(calibration: Calibration) -> Path:
    """Store ``calibration`` in the cache folder, in place of the one for the same quantization, type and threads.
    Return the path. Raises ``ToolError`` if it cannot be written."""
    others = [one for one in _stored() if one.key != calibration.key]
    content = {"format": _FORMAT, "calibrations": [one.to_json() for one in (*others, calibration)]}
    path = _file()
    try:
        replace_file(path, (json.dumps(content, indent=2) + "\n").encode())
    except OSError as error:
        raise cache_error(error) from error
    return path


def _stored() -> list[Calibration]:
    """Return the calibrations in the file. One that another version wrote counts as missing: it can be made again."""
    try:
        content = json.loads(_file().read_text("utf-8"))
        return [Calibration(**one) for one in content["calibrations"]] if content["format"] == _FORMAT else []
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _file() -> Path:
    """Return the path for this computer: several computers may share the folder."""
    machine = f"{platform.node()} {platform.machine()} {_processor()}"
    name = hashlib.sha256(machine.encode()).hexdigest()[:12]
    return cache_directory() / "language-models" / f"calibration-{name}.json"


def _processor() -> str:
    """Return the name of the processor as Linux tells it, or ""."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
