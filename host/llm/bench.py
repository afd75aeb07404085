"""The result of measuring a language model on this computer, beside its prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from arenite.host.llm.budget.result import BudgetResult
from arenite.host.llm.calibration import Calibration
from arenite.host.llm.language_model import LanguageModel
from arenite.host.llm.measurement import DecodeRun, Measurement
from arenite.host.llm.memory import MemoryNeed, predict_memory
from arenite.host.llm.speed import Speed, predict_speed
from arenite.profiles.hosts import HostProfile

SCHEMA = "arenite.lm-bench/1"


@dataclass(frozen=True)
class LanguageModelBench:
    """``model`` with a context of ``context`` tokens in a cache of type ``cache_type``, measured on this computer,
    whose profile is ``host``. ``calibration``: None if this computer has none for this model. ``budget``: None without
    a budget."""

    model: LanguageModel
    host: HostProfile
    context: int
    cache_type: str
    measurement: Measurement
    calibration: Calibration | None
    budget: BudgetResult | None = None

    @property
    def run(self) -> DecodeRun:
        return self.measurement.runs[0]

    @property
    def need(self) -> MemoryNeed:
        """The predicted memory."""
        return predict_memory(self.model, self.host, self.context, self.cache_type)

    @property
    def speed(self) -> Speed:
        """The predicted rates with as many tokens in the cache as there were in the middle of the measurement."""
        return predict_speed(self.model, self.host, round(self.run.depth), self.cache_type)

    @property
    def tokens_s(self) -> float:
        """The measured rate after the first token, in tokens per second."""
        return len(self.run.token_s) / sum(self.run.token_s)

    @property
    def undisturbed_tokens_s(self) -> float:
        """The rate that the measured processor time permits without other programs."""
        return 1 / self.run.undisturbed_s(self.measurement.threads, self.host.compute.processor)

    @property
    def calibrated_tokens_s(self) -> float | None:
        """The rate without other programs that the calibration predicts."""
        return None if self.calibration is None else 1 / self.calibration.token_s(self.model, self.run.depth)

    @property
    def joules_per_token(self) -> float | None:
        """The energy per token in J, or None if the power is not known."""
        return None if self.run.power is None else self.run.power.watts / self.tokens_s

    def percentile_s(self, percent: int) -> float:
        """Return the seconds per token that ``percent`` % of the tokens after the first one did not exceed."""
        times = sorted(self.run.token_s)
        return times[max(math.ceil(percent / 100 * len(times)) - 1, 0)]

    def to_json(self) -> dict[str, Any]:
        model, run, speed, need, calibrated = (
            self.model,
            self.run,
            self.speed,
            self.need,
            self.calibrated_tokens_s,
        )
        measured = self.undisturbed_tokens_s
        return {
            "schema": SCHEMA,
            "model": {
                "path": str(model.path),
                "runtime": model.runtime,
                "architecture": model.architecture.name,
                "parameters": model.parameters,
                "quantization": model.quantization,
                "weights": model.weight_bytes,
            },
            "host": self.host.name,
            "context": self.context,
            "cache_type": self.cache_type,
            "threads": self.measurement.threads,
            "prompt": run.prompt,
            "tokens": len(run.token_s) + 1,
            "first_token_s": {
                "value": run.first_s,
                "kind": "measured",
                "predicted": speed.first_token_s(run.prompt),
            },
            "token_s": {
                **{f"p{percent}": self.percentile_s(percent) for percent in (50, 90, 99)},
                "kind": "measured",
            },
            "decode_tokens_s": {
                "value": self.tokens_s,
                "undisturbed": measured,
                "kind": "measured",
                "bound": speed.decode_bound,
                "predicted_low": speed.decode_low,
                "predicted_high": speed.decode_high,
            },
            "calibrated_tokens_s": None
            if self.calibration is None or calibrated is None
            else {
                "value": calibrated,
                "kind": "estimated",
                "difference": calibrated / measured - 1,
                "calibration": self.calibration.to_json(),
            },
            "memory": {
                "resident": self.measurement.resident_bytes,
                "kind": "measured",
                "predicted": need.total,
                "difference": need.total / self.measurement.resident_bytes - 1,
            },
            "kv": {
                "predicted": need.kv,
                "allocated_mib": round(sum(self.measurement.kv_mib), 2) if self.measurement.kv_mib else None,
                "exact": self.measurement.kv_matches(need.kv) if self.measurement.kv_mib else None,
            },
            "joules_per_token": None
            if run.power is None
            else {
                "value": self.joules_per_token,
                "watts": run.power.watts,
                "kind": run.power.kind,
                "source": run.power.source,
            },
            "budget": None if self.budget is None else self.budget.to_json(),
        }
