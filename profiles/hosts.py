"""Read host profiles: one TOML file per kind of computer in ``profiles/hosts/``.

A profile describes the computer's power (when idle, per busy core, and of the accelerator), its frequency steps, its
thermal model, how its firmware reacts to heat, and its memory and peak of computation, which bound language models.
Each figure has its source, or the word "assumed". To add a host, add a file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from arenite.errors import ProfileError
from arenite.profiles.profile_tables import ProfileTable, profile_names, profile_path, read_profile

HOST_DIRECTORY = Path(__file__).parent / "hosts"

#: The ways in which firmware reacts if the temperature is above the trip point. ``step`` lowers the frequency by one
#: step per second, and raises it by one step per second below the trip point (as Linux's step_wise governor does).
#: ``cap`` immediately sets the frequency to ``throttled_fraction`` of the highest frequency, until the temperature is
#: ``hysteresis_c`` below the trip point.
POLICIES = ("step", "cap")


@dataclass(frozen=True)
class Thermal:
    """A thermal model of two nodes: heat flows from the junction (chip) to the case (heat sink, or surface of a
    phone), and from the case to the air.

    Names with ``_k_w`` are thermal resistances in K/W, and names with ``_j_k`` are heat capacities in J/K.
    """

    junction_case_k_w: float
    junction_j_k: float
    case_ambient_k_w: float
    case_j_k: float
    trips_on: str  # the node whose temperature is compared with trip_c: "junction" or "case"
    trip_c: float
    hysteresis_c: float
    policy: str
    throttled_fraction: float  # the lowest fraction of the frequency that throttling sets

    @property
    def resistance_k_w(self) -> float:
        """The thermal resistance from the node ``trips_on`` to the air, in K per watt of the device's power."""
        return self.case_ambient_k_w + (self.junction_case_k_w if self.trips_on == "junction" else 0.0)


@dataclass(frozen=True)
class Memory:
    """The main memory of a host, which processor and GPU share. ``size_gib``: as sold, in GiB. ``bandwidth_gb_s``: the
    theoretical bandwidth of the bus in 10⁹ bytes per second. ``reserved_gib``: what the operating system and other
    programs hold, in GiB."""

    size_gib: float
    bandwidth_gb_s: float
    reserved_gib: float


@dataclass(frozen=True)
class Compute:
    """The part of a host that runs language models: ``processor`` is "cpu" or "gpu", and ``peak_gops`` is its peak of
    dense operations in 10⁹ per second (a multiply-add is two), in int8 on a CPU and in fp16 on a GPU, which is what
    runtimes compute in."""

    processor: str
    peak_gops: float


@dataclass(frozen=True)
class HostProfile:
    """The data of one kind of host. Powers are powers of the complete device in W. Frequencies are in MHz, in ascending
    order."""

    name: str
    title: str
    cores: int
    steps_mhz: tuple[float, ...]
    idle_w: float
    core_w: float  # additional power of one busy core at the highest frequency
    voltage_floor: float  # lowest core voltage divided by the highest core voltage
    accelerator_w: float  # additional power of the busy GPU or NPU; 0 if there is none
    accelerator_steps_mhz: tuple[float, ...]
    leakage_per_k: float  # relative growth of the chip's power per K of junction temperature
    thermal: Thermal
    memory: Memory
    compute: Compute
    #: Parts of the device tree's model or of DMI's product name; an empty tuple matches no computer.
    models: tuple[str, ...]
    sources: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def max_power_w(self) -> float:
        """The power in W when every core and the accelerator are busy."""
        return self.idle_w + self.cores * self.core_w + self.accelerator_w

    def voltage(self, ratio: float) -> float:
        """Return the core voltage at the frequency ``ratio`` times the highest frequency, as a fraction of the highest
        voltage. It is approximated as linear from ``voltage_floor`` at 0 to 1 at the highest frequency."""
        return self.voltage_floor + (1 - self.voltage_floor) * min(max(ratio, 0.0), 1.0)

    def relative_power(self, ratio: float) -> float:
        """Return the dynamic power of CMOS (frequency times voltage squared) at the frequency ``ratio`` times the
        highest frequency, as a fraction of the power at the highest frequency."""
        return ratio * self.voltage(ratio) ** 2

    def core_watts(self, ratio: float = 1.0) -> float:
        """Return the additional power in W of one busy core at the frequency ``ratio`` times the highest frequency."""
        return self.core_w * self.relative_power(ratio)


class _Table(ProfileTable):
    folder = "profiles/hosts"

    def text(self, key: str, allowed: tuple[str, ...] | None = None) -> str:
        value = self._data.pop(key, None)
        if not isinstance(value, str) or (allowed is not None and value not in allowed):
            expected = f"one of {', '.join(allowed)}" if allowed else "text"
            raise ProfileError(f"{self._location}: '{key}' must be {expected}, not {value!r}.")
        return value

    def values(self, key: str, kind: type) -> tuple[Any, ...]:
        value = self._data.pop(key, [])
        kinds = (int, float) if kind is float else (kind,)
        if not isinstance(value, list) or not all(isinstance(v, kinds) for v in value):
            raise ProfileError(f"{self._location}: '{key}' must be a list of {kind.__name__}, not {value!r}.")
        return tuple(kind(v) for v in value)


def parse_host(text: str, location: str) -> HostProfile:
    """Return the host that the TOML text ``text`` describes. Errors begin with ``location``, the name of the file.

    Raises:
        ProfileError: The TOML is malformed, or a field is missing, misspelt or out of range.
    """
    top = _Table.parse(text, location)
    cpu, accelerator, thermal_table = top.table("cpu"), top.table("accelerator", {}), top.table("thermal")
    memory, compute = top.table("memory"), top.table("compute")
    thermal = Thermal(
        junction_case_k_w=thermal_table.number("junction_case_k_w", 0, 100),
        junction_j_k=thermal_table.number("junction_j_k", 0, 1e5),
        case_ambient_k_w=thermal_table.number("case_ambient_k_w", 0, 100),
        case_j_k=thermal_table.number("case_j_k", 0, 1e6),
        trips_on=thermal_table.text("trips_on", ("junction", "case")),
        trip_c=thermal_table.number("trip_c", 0, 150),
        hysteresis_c=thermal_table.number("hysteresis_c", 0, 50),
        policy=thermal_table.text("policy", POLICIES),
        throttled_fraction=thermal_table.number("throttled_fraction", 0, 1),
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
        leakage_per_k=thermal_table.number("leakage_per_k", 0, 0.1),
        thermal=thermal,
        memory=Memory(
            size_gib=memory.number("size_gib", 0.125, 4096),
            bandwidth_gb_s=memory.number("bandwidth_gb_s", 0.1, 10_000),
            reserved_gib=memory.number("reserved_gib", 0, 64),
        ),
        compute=Compute(
            processor=compute.text("processor", ("cpu", "gpu")), peak_gops=compute.number("peak_gops", 1, 1e7)
        ),
        models=top.values("models", str),
        sources={key: str(value) for key, value in top.table("sources", {}).rest().items()},
    )
    for table in (cpu, accelerator, thermal_table, memory, compute, top):
        table.finish()
    for steps in (profile.steps_mhz, profile.accelerator_steps_mhz):
        if list(steps) != sorted(set(steps)) or not all(0 < step < math.inf for step in steps):
            raise ProfileError(f"{location}: steps_mhz must ascend from above 0.")
    if profile.memory.reserved_gib >= profile.memory.size_gib:
        raise ProfileError(f"{location}: reserved_gib must be below size_gib.")
    if not profile.steps_mhz or not profile.cores or min(thermal.junction_j_k, thermal.case_j_k) <= 0:
        raise ProfileError(f"{location}: cores, steps_mhz and heat capacities must be above 0.")
    return profile


@cache
def _load(path: Path) -> HostProfile:
    return read_profile(path, "host", parse_host)


def host_names() -> list[str]:
    """Return the names of all hosts with a profile, sorted."""
    return profile_names(HOST_DIRECTORY)


def load_host(name: str) -> HostProfile:
    """Return the profile of host ``name``. Raises ``ProfileError`` if it does not exist or is malformed."""
    return _load(profile_path(name, "host", HOST_DIRECTORY))


def detect_host(root: str | Path = "/") -> HostProfile:
    """Return the profile of this computer, which is found by the model in the device tree or by the product name in
    DMI. ``root`` is the root of the file system.

    If no profile matches, the result is the profile ``phone`` on Android, ``laptop`` if the chassis type in DMI is
    portable or there is a battery, and ``generic_x86`` otherwise.
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
    is_portable = _text(base / "sys/class/dmi/id/chassis_type") in ("8", "9", "10", "14", "31", "32")
    if is_portable or any(
        _text(path) == "Battery" and _text(path.parent / "scope") != "Device" for path in batteries
    ):
        return load_host("laptop")
    return load_host("generic_x86")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace").strip("\0 \t\r\n")
    except OSError:
        return ""
