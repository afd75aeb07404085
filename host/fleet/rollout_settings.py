"""The settings of a rollout: its waves, and the limits of its gates."""

from __future__ import annotations

import dataclasses
from dataclasses import asdict, dataclass
from typing import Any

from arenite.errors import UsageError


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Raises ``UsageError`` for values out of range."""

    #: The share of the group's devices that have been chosen after each wave, in thousandths.
    waves: tuple[int, ...] = (10, 100, 1000)
    #: A wave is over at the earliest this number of seconds after most of its devices installed the release.
    soak_s: int = 4 * 3600
    #: The share of a wave's devices that must have installed the release.
    completion: float = 0.9
    #: The number of heartbeats and of inferences that the new release needs on each kind of board.
    min_heartbeats: int = 4
    min_inferences: int = 200
    #: A rollout pauses if a wave is not over after this number of seconds.
    max_wave_s: int = 3 * 24 * 3600
    #: Only devices that were seen within this number of seconds are chosen before the last wave.
    seen_s: int = 3600
    #: A device is silent after this number of seconds without an event.
    silence_s: int = 3600
    #: The rollout stops if crashes are this many times as frequent as before,
    crash_ratio: float = 2.0
    #: the 99th percentile of the latency is this many times that of the other releases,
    latency_ratio: float = 1.3
    #: the population stability index of inputs or classes is above this limit, and that of the other releases is not,
    drift_psi: float = 0.25
    #: more golden self-tests than this fail,
    golden_failures: int = 0
    #: more than this share of the installations fails,
    failed_share: float = 0.05
    #: or the share of silent devices is larger than elsewhere by more than this.
    silent_share: float = 0.2

    def __post_init__(self) -> None:
        if not self.waves or list(self.waves) != sorted(set(self.waves)) or not self.waves[0] > 0:
            raise UsageError(
                f"The waves {list(self.waves)} do not grow.",
                "Give growing shares in thousandths, such as 10,100,1000.",
            )
        if self.waves[-1] != 1000:
            raise UsageError(
                f"The last wave ends at {self.waves[-1]}, not at 1000.", "Let it reach all devices."
            )
        for name in (
            "soak_s",
            "max_wave_s",
            "seen_s",
            "silence_s",
            "min_heartbeats",
            "min_inferences",
            "golden_failures",
        ):
            _check_range(name, getattr(self, name), 0, 10**9)
        for name in ("completion", "failed_share", "silent_share"):
            _check_range(name, getattr(self, name), 0, 1)
        for name in ("crash_ratio", "latency_ratio"):
            _check_range(name, getattr(self, name), 1, 1000)
        _check_range("drift_psi", self.drift_psi, 0, 1000)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "waves": list(self.waves)}


def settings_from_json(fields: dict[str, Any]) -> RolloutSettings:
    """Raises ``UsageError`` for unknown fields, and values of other types."""
    types = {field.name: field.type for field in dataclasses.fields(RolloutSettings)}
    for name, value in fields.items():
        if name not in types:
            raise UsageError(f"A rollout has no setting '{name}'.", f"Its settings are {', '.join(types)}.")
        if name == "waves":
            is_right = isinstance(value, list) and all(type(share) is int for share in value)
        else:
            is_right = type(value) is int or (types[name] == "float" and type(value) is float)
        if not is_right:
            raise UsageError(f"The setting '{name}' has the value {value!r}.", f"Its type is {types[name]}.")
    return RolloutSettings(**{**fields, **({"waves": tuple(fields["waves"])} if "waves" in fields else {})})


def _check_range(name: str, value: float, minimum: float, maximum: float) -> None:
    if not minimum <= value <= maximum:
        raise UsageError(f"The setting '{name}' has the value {value}.", f"Give {minimum} to {maximum}.")
