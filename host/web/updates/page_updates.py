"""What a page needs to take newer versions of its model from a signed repository: scripts, settings, and its root.

The scripts are those of the folder ``scripts`` beside this module. The page reads ``updates.json``, which has the
trusted root of the repository, so a page trusts what was known when it was written.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from arenite.errors import UsageError
from arenite.host.update.repository.client import read_trusted_root
from arenite.host.update.repository.model_target import check_name

#: The file with the settings of the updates.
SETTINGS = "updates.json"
#: The permitted values. Browsers cannot wait longer than 24 days.
RANGES: dict[str, tuple[float, float]] = {
    "check_every_s": (1, 86_400 * 24),
    "shadow_inputs": (0, 100_000),
    "probation_inputs": (1, 100_000),
    "min_agreement": (0, 1),
    "max_latency_ms": (0.001, 60_000),
}
_FOLDER = Path(__file__).with_name("scripts")
_SECTION = "section.html"
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:]+\](:[0-9]{1,5})?")
_RELATIVE = re.compile(r"[A-Za-z0-9._~/-]+")


@dataclass(frozen=True)
class SourceDefaults:
    """What applies to a source of inputs if the user gives nothing else.

    ``latency_ms`` is the longest time per answer in milliseconds, None: no limit. ``shadow`` and ``probation`` are
    numbers of inputs.
    """

    latency_ms: float | None
    shadow: int
    probation: int


@dataclass(frozen=True)
class PageUpdates:
    """Where a page gets newer versions of its model, and what they must keep.

    Attributes:
        repository: the address of the repository: http(s)://, or relative to the page, such as ``../models``.
        trusted_root: the file ``root.json`` of the publisher.
        check_every_s: seconds between two checks.
        shadow_inputs: how many inputs (pictures or windows of sound) a new version also answers before it serves; 0:
            none; None: the default of the source.
        probation_inputs: how many inputs a new version answers while the version before stays ready; None: the default
            of the source.
        min_agreement: the lowest mean agreement of its answers with those of the version before, 0 to 1; 0: they are
            not compared.
        max_latency_ms: the longest permitted time per answer in milliseconds; None: the default of the source.

    Raises ``UsageError`` if the address or a number cannot be used.
    """

    repository: str
    trusted_root: Path
    check_every_s: float = 3600.0
    shadow_inputs: int | None = None
    probation_inputs: int | None = None
    min_agreement: float = 0.8
    max_latency_ms: float | None = None

    def __post_init__(self) -> None:
        self._check_address()
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise UsageError(f"{name} is {value}.", f"Give a number from {low} to {high}.")

    @property
    def origin(self) -> str:
        """The origin of the repository for the content security policy; empty if it is that of the page."""
        if not self._is_absolute:
            return ""
        parts = urlsplit(self.repository)
        return f"{parts.scheme}://{parts.netloc}"

    def files(self, name: str, defaults: SourceDefaults) -> dict[str, str]:
        """Return the scripts and the settings by their names in the folder of the page. ``name`` is the model's name in
        the repository.

        Raises ``UsageError`` if no repository can have a model of this name, or the trusted root cannot be used.
        """
        check_name(name)
        settings = {
            "repository": self.repository.rstrip("/"),
            "name": name,
            "root": read_trusted_root(self.trusted_root).decode("utf-8"),
            "check_every_s": self.check_every_s,
            "shadow_inputs": defaults.shadow if self.shadow_inputs is None else self.shadow_inputs,
            "probation_inputs": self.probation_inputs or defaults.probation,
            "min_agreement": self.min_agreement,
            "latency_ms": self.max_latency_ms or defaults.latency_ms,
        }
        texts = {path.name: path.read_text("utf-8") for path in sorted(_FOLDER.glob("*.js"))}
        return {**texts, SETTINGS: json.dumps(settings, indent=1) + "\n"}

    @property
    def _is_absolute(self) -> bool:
        return "://" in self.repository

    def _check_address(self) -> None:
        parts = urlsplit(self.repository)
        if self._is_absolute:
            valid = parts.scheme in ("http", "https") and _HOST.fullmatch(parts.netloc) is not None
            path = parts.path.lstrip("/")
        else:
            valid, path = not self.repository.startswith("/") and bool(self.repository), self.repository
        if not valid or (path and not _RELATIVE.fullmatch(path)) or parts.query or parts.fragment:
            raise UsageError(
                f"A page cannot read a repository at '{self.repository}'.",
                "Give https://HOST/PATH, http://HOST/PATH, or an address that is relative to the page, such as "
                "../models, without user name, query, fragment and spaces.",
            )


def section() -> str:
    """Return the part of the page that shows the updates."""
    return (_FOLDER / _SECTION).read_text("utf-8")
