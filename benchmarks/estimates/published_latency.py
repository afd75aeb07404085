"""Read the published times of published_latency.toml: how long networks took on real chips, measured by others."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PUBLISHED = Path(__file__).with_name("published_latency.toml")


@dataclass(frozen=True)
class PublishedSystem:
    """The published times of one engine on one board. ``cycles`` has the clock cycles of one inference for each
    network, such as vww01: the published time multiplied by the clock frequency. ``round`` is the round of MLPerf
    Tiny, "" for another source. ``kernels``: "cmsis-nn" if the engine ran the kernels of CMSIS-NN, else ""."""

    core: str
    board: str
    mhz: float
    engine: str
    round: str
    source: str
    kernels: str
    cycles: Mapping[str, float]

    def ms(self, network: str) -> float:
        """The published time of an inference of ``network``, in milliseconds."""
        return self.cycles[network] / self.mhz / 1e3


def published_systems(path: Path = PUBLISHED) -> list[PublishedSystem]:
    """Return the systems of the file at ``path``, in its order."""
    systems = []
    for row in tomllib.loads(path.read_text("utf-8"))["systems"]:
        seconds = {network: ms / 1e3 for network, ms in row.get("ms", {}).items()}
        seconds |= {network: 1 / rate for network, rate in row.get("inferences_per_s", {}).items()}
        systems.append(
            PublishedSystem(
                row["core"],
                row["board"],
                row["mhz"],
                row["engine"],
                row.get("round", ""),
                row["source"],
                row.get("kernels", ""),
                {network: s * row["mhz"] * 1e6 for network, s in seconds.items()},
            )
        )
    return systems
