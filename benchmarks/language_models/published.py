"""Read the published rates of published.toml, and make the predictions for them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from arenite.host.llm.architecture import Architecture, AttentionLayer, window_pattern
from arenite.host.llm.kv_cache import kv_read_bytes
from arenite.host.llm.language_model import LanguageModel
from arenite.host.llm.quantizations import quantized_model
from arenite.host.llm.speed import GPU_LAYER_S, Speed, predict_speed, prompt_parameters
from arenite.profiles.hosts import HostProfile, load_host

PUBLISHED = Path(__file__).with_name("published.toml")
CACHE_TYPE = "f16"


@dataclass(frozen=True)
class PublishedRun:
    """A run of ``model`` on ``host`` at ``tokens_s`` decoded tokens per second with about ``context`` tokens in the
    cache. ``prefill_tokens_s`` and ``watts`` are None if they were not published. ``source``: the address, or "" if it
    is not known."""

    host: HostProfile
    name: str
    model: LanguageModel
    runtime: str
    context: int
    tokens_s: float
    prefill_tokens_s: float | None
    watts: float | None
    source: str

    @property
    def prediction(self) -> Speed:
        return predict_speed(self.model, self.host, self.context, CACHE_TYPE)

    @property
    def is_held(self) -> bool:
        """Whether the measured rate is in the predicted range."""
        return self.prediction.decode_low <= self.tokens_s <= self.prediction.decode_high

    @property
    def bandwidth_part(self) -> float:
        """The reached part of the memory's bandwidth."""
        return self.tokens_s / self.prediction.decode_bound

    @property
    def slow_bandwidth_part(self) -> float:
        """The reached part of the bandwidth, without the time for starting the work on a GPU."""
        if self.host.compute.processor == "cpu":
            return self.bandwidth_part
        start_s = GPU_LAYER_S * len(self.model.architecture.layers)
        return 1 / self.prediction.decode_bound / (1 / self.tokens_s - start_s)

    @property
    def compute_part(self) -> float:
        """The reached part of the peak of computation in decoding."""
        return 2 * self.model.active_parameters * self.tokens_s / (self.host.compute.peak_gops * 1e9)

    @property
    def prefill_part(self) -> float | None:
        """The reached part of the peak of computation in reading the prompt."""
        if self.prefill_tokens_s is None:
            return None
        return 2 * prompt_parameters(self.model) * self.prefill_tokens_s / (self.host.compute.peak_gops * 1e9)

    @property
    def read_bytes(self) -> int:
        """The bytes that are read per token."""
        cache = kv_read_bytes(self.model.architecture, self.context, CACHE_TYPE)
        return self.model.active_bytes + cache


def published_runs(path: Path = PUBLISHED) -> list[PublishedRun]:
    """Return the runs of the file at ``path``, in its order."""
    data = tomllib.loads(path.read_text("utf-8"))
    architectures = {name: _architecture(fields) for name, fields in data["models"].items()}
    return [
        PublishedRun(
            host=load_host(run["host"]),
            name=run["model"].replace("_", "."),
            model=quantized_model(path, architectures[run["model"]], run["quantization"]),
            runtime=run["runtime"],
            context=run["context"],
            tokens_s=run["tokens_s"],
            prefill_tokens_s=run.get("prefill_tokens_s"),
            watts=run.get("watts"),
            source=run["source"],
        )
        for run in data["runs"]
    ]


def _architecture(fields: dict[str, int | str | bool]) -> Architecture:
    name = str(fields["architecture"])
    has_window = window_pattern(name, PUBLISHED.name)
    head_dim, window = int(fields["head_dim"]), int(fields.get("window", 0))
    return Architecture(
        name=name,
        hidden=int(fields["hidden"]),
        heads=int(fields["heads"]),
        feed_forward=int(fields["feed_forward"]),
        vocabulary=int(fields["vocabulary"]),
        context=int(fields["context"]),
        layers=tuple(
            AttentionLayer(
                int(fields["kv_heads"]), head_dim, head_dim, window if window and has_window(layer) else None
            )
            for layer in range(int(fields["layers"]))
        ),
        tied=bool(fields["tied"]),
    )
