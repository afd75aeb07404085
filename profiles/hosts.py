"""Host profiles: one TOML file per kind of computer in ``profiles/hosts/``, read into frozen values.

A profile describes a computer's power (idle, per core, accelerator), its frequency steps, its thermal model, and its
firmware's reaction to heat. Each figure has its source, or the word "assumed". To add a host, add a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from arenite.errors import ProfileError
from arenite.profiles.profile_tables import ProfileTable, profile_names, profile_path, read_profile

HOST_DIRECTORY = Path(__file__).parent / "hosts"

#: Reactions of firmware above the trip point. ``step``: one frequency step down per second above it, one up per second
#: below (the kernel's step_wise governor); ``cap``: at once to ``throttled_fraction`` of the frequency, until
#: ``hysteresis_c`` below the trip point.
POLICIES = ("step", "cap")


@dataclass(frozen=True)
class Thermal:
    """A thermal model of two nodes: junction (chip) and case (heat sink, or skin of a phone), in series to the air."""

    junction_case_k_w: float
    junction_j_k: float
    case_ambient_k_w: float
    case_j_k: float
    trips_on: str  # junction or case
    trip_c: float
    hysteresis_c: float
    policy: str
    throttled_fraction: float  # the least share of the frequency that throttling goes down to

    @property
    def resistance_k_w(self) -> float:
        """Thermal resistance from the tripping node to the air, in K per watt of the device."""
        return self.case_ambient_k_w + (self.junction_case_k_w if self.trips_on == "junction" else 0.0)


@dataclass(frozen=True)
class HostProfile:
    """The data of one kind of host. Powers are in W of the whole device, frequencies in MHz, ascending."""

    name: str
    title: str
    cores: int
    steps_mhz: tuple[float, ...]
    idle_w: float
    core_w: float  # one busy core at the highest step, above idle
    voltage_floor: float  # lowest core voltage over the highest
    accelerator_w: float  # GPU or NPU, busy, above idle; 0 where there is none
    accelerator_steps_mhz: tuple[float, ...]
    leakage_per_k: float  # relative growth of the chip's power per K of the junction
    thermal: Thermal
    models: tuple[
        str, ...
    ]  # parts of the device tree's model or DMI's product name; the empty tuple matches nothing
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def most_w(self) -> float:
        """W with every core and the accelerator busy."""
        return self.idle_w + self.cores * self.core_w + self.accelerator_w

    def voltage(self, ratio: float) -> float:
        """Relative core voltage at ``ratio`` of the highest frequency: linear down to the floor (an approximation)."""
        return self.voltage_floor + (1 - self.voltage_floor) * min(max(ratio, 0.0), 1.0)

    def relative_power(self, ratio: float) -> float:
        """Dynamic power of CMOS, f·V², relative to the highest frequency."""
        return ratio * self.voltage(ratio) ** 2

    def core_watts(self, ratio: float = 1.0) -> float:
        """W of one busy core at ``ratio`` of the highest frequency, above idle."""
        return self.core_w * self.relative_power(ratio)


class _Table(ProfileTable):
    folder = "profiles/hosts"

    def text(self, key: str, allowed: tuple[str, ...] | None = None) -> str:
        value = self._data.pop(key, None)
        if not isinstance(value, str) or (allowed is not None and value not in allowed):
            form = f"one of {', '.join(allowed)}" if allowed else "text"
            raise ProfileError(f"{self._where}: '{key}' must be {form}, not {value!r}.")
        return value

    def values(self, key: str, kind: type) -> tuple[Any, ...]:
        value = self._data.pop(key, [])
        kinds = (int, float) if kind is float else (kind,)
        if not isinstance(value, list) or not all(isinstance(v, kinds) for v in value):
            raise ProfileError(f"{self._where}: '{key}' must be a list of {kind.__name__}, not {value!r}.")
        return tuple(kind(v) for v in value)


def parse_host(text: str, where: str) -> HostProfile:
    """Read one profile from TOML ``text``; ``where`` names it in errors.

    Raises:
        ProfileError: malformed TOML, or a field that is missing, misspelt or out of range.
    """
    top = _Table.parse(text, where)
    cpu, accelerator, heat = top.table("cpu"), top.table("accelerator", {}), top.table("thermal")
    thermal = Thermal(
        junction_case_k_w=heat.number("junction_case_k_w", 0, 100),
        junction_j_k=heat.number("junction_j_k", 0, 1e5),
        case_ambient_k_w=heat.number("case_ambient_k_w", 0, 100),
        case_j_k=heat.number("case_j_k", 0, 1e6),
        trips_on=heat.text("trips_on", ("junction", "case")),
        trip_c=heat.number("trip_c", 0, 150),
        hysteresis_c=heat.number("hysteresis_c", 0, 50),
        policy=heat.text("policy", POLICIES),
        throttled_fraction=heat.number("throttled_fraction", 0, 1),
    )
    profile = HostProfile(
        name=top.text("name"),
        title=top.text("title"),
        cores=int(cpu.number("cores", 0, 1024)),
        steps_mhz=cpu.values("steps_mhz", float),
        idle_w=top.number("idle_w", 0, 1000),
        core_w=cpu.number("core_w", 0, 200),
        voltage_floor=cpu.number("voltage_floor", 0, 1),
        accelerator_w=accelerator.number("busy_w", 0, 500, 0.0),
        accelerator_steps_mhz=accelerator.values("steps_mhz", float),
        leakage_per_k=heat.number("leakage_per_k", 0, 0.1),
        thermal=thermal,
        models=top.values("models", str),
        sources={key: str(value) for key, value in top.table("sources", {}).rest().items()},
    )
    for table in (cpu, accelerator, heat, top):
        table.finish()
    for steps in (profile.steps_mhz, profile.accelerator_steps_mhz):
        if list(steps) != sorted(set(steps)) or any(step <= 0 for step in steps):
            raise ProfileError(f"{where}: steps_mhz must ascend from above 0.")
    if not profile.steps_mhz or not profile.cores or min(thermal.junction_j_k, thermal.case_j_k) <= 0:
        raise ProfileError(f"{where}: cores, steps_mhz and heat capacities must be above 0.")
    return profile


@cache
def _load(path: Path) -> HostProfile:
    return read_profile(path, "host", parse_host)


def host_names() -> list[str]:
    """Names of all hosts with a profile, sorted."""
    return profile_names(HOST_DIRECTORY)


def load_host(name: str) -> HostProfile:
    """The profile called ``name``. Raises ``ProfileError`` when there is none, or it is malformed."""
    return _load(profile_path(name, "host", HOST_DIRECTORY))


def detect_host(root: str | Path = "/") -> HostProfile:
    """The profile of this computer, by the device tree's model, DMI's product name, or the kind of chassis.

    An unknown computer is a laptop when it has a battery of its own, a phone when it is Android, else generic_x86.
    """
    base = Path(root)
    names = [
        _text(base / path)
        for path in (
            "proc/device-tree/model",
            "sys/firmware/devicetree/base/model",
            "sys/class/dmi/id/product_name",
        )
    ]
    matches = [
        (len(part), profile)
        for profile in map(load_host, host_names())
        for part in profile.models
        if any(part.lower() in name.lower() for name in names)
    ]
    if matches:
        return max(matches, key=lambda match: match[0])[1]
    if (base / "system/build.prop").exists() or (base / "data/data/com.termux").exists():
        return load_host("phone")
    batteries = (base / "sys/class/power_supply").glob("*/type")
    portable = _text(base / "sys/class/dmi/id/chassis_type") in ("8", "9", "10", "14", "31", "32")
    if portable or any(
        _text(path) == "Battery" and _text(path.parent / "scope") != "Device" for path in batteries
    ):
        return load_host("laptop")
    return load_host("generic_x86")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace").strip("\0 \t\r\n")
    except OSError:
        return ""
