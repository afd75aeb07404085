"""Find out whether the device throttles now, with the evidence.

The evidence is a cooling device (``/sys/class/thermal/cooling_device*/{type,cur_state,max_state}``) that reduces speed
and is not at state 0, a frequency cap below the highest frequency, or the Raspberry Pi firmware's own report.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from arenite.host.energy.sysfs import children, read_number, read_text

#: Cooling devices that do not reduce speed.
IGNORED_COOLING_DEVICES = (
    "fan",
    "lcd",
    "backlight",
    "display",
    "charge",
    "battery",
    "intel_powerclamp",
    "wifi",
    "iwlwifi",
    "modem",
)
#: The bits of get_throttled that describe the present state (Raspberry Pi documentation, vcgencmd).
PI_BITS = ((0, "under-voltage"), (1, "frequency capped"), (2, "throttled"), (3, "soft temperature limit"))


@dataclass(frozen=True, slots=True)
class ThrottlingState:
    """The present throttling of the device. ``now``: the device throttles. ``evidence``: a text for each piece of
    evidence."""

    now: bool
    evidence: tuple[str, ...]


def read_throttling(root: str | Path = "/", own_cap_khz: float | None = None) -> ThrottlingState:
    """Return the present throttling. ``own_cap_khz`` is a frequency cap that was set on purpose, so it is not evidence
    of throttling."""
    base = Path(root)
    evidence = []
    for folder in children(base / "sys/class/thermal", "cooling_device*"):
        kind, state = read_text(folder / "type") or folder.name, read_number(folder / "cur_state")
        if state is None or state <= 0 or any(word in kind.lower() for word in IGNORED_COOLING_DEVICES):
            continue
        maximum = read_number(folder / "max_state")
        evidence.append(f"{kind} at state {state:g}" + (f" of {maximum:g}" if maximum else ""))
    caps = set()
    for folder in children(base / "sys/devices/system/cpu", "cpu[0-9]*/cpufreq"):
        cap, maximum = read_number(folder / "scaling_max_freq"), read_number(folder / "cpuinfo_max_freq")
        if (
            cap is not None
            and maximum
            and cap < 0.99 * maximum
            and (own_cap_khz is None or cap < 0.99 * own_cap_khz)
        ):
            caps.add((cap, maximum))
    evidence += [f"CPU capped at {cap / 1e3:.0f} of {maximum / 1e3:.0f} MHz" for cap, maximum in sorted(caps)]
    word = read_text(base / "sys/devices/platform/soc/soc:firmware/get_throttled")
    try:
        bits = int(word, 16) if word else 0
    except ValueError:
        bits = 0
    evidence += [f"firmware: {meaning}" for bit, meaning in PI_BITS if bits >> bit & 1]
    return ThrottlingState(bool(evidence), tuple(evidence))
