"""Tests of the host profiles: each one is complete and has sources, and computers are recognized."""

from __future__ import annotations

from pathlib import Path

import pytest

from arenite.errors import ProfileError
from arenite.profiles.hosts import HOST_DIRECTORY, detect_host, host_names, load_host, parse_host
from tests.host.energy.sysfs_trees import put

REQUIRED = {
    "jetson_nano",
    "jetson_orin_nano",
    "jetson_orin_nano_super",
    "jetson_orin_nx",
    "jetson_agx_orin",
    "phone",
    "raspberry_pi_4",
    "raspberry_pi_5",
    "orange_pi_5",
    "laptop",
    "intel_n150",
    "generic_x86",
}


@pytest.mark.parametrize("name", host_names())
def test_each_profile_is_plausible_and_has_sources(name: str) -> None:
    profile = load_host(name)
    heat = profile.thermal
    assert profile.sources and all(profile.sources.values())
    assert 0 < profile.idle_w < profile.max_power_w < 300
    assert profile.relative_power(1.0) == pytest.approx(1.0)
    assert profile.core_watts(0.5) < 0.5 * profile.core_w  # the voltage is lower at half the frequency
    assert 0 < heat.throttled_fraction < 1 and 30 < heat.trip_c < 110
    # Memory is read in less than a few seconds, and the peak of computation is above one operation per byte read.
    memory, compute = profile.memory, profile.compute
    assert 0 < memory.reserved_gib < memory.size_gib
    assert memory.size_gib * 2**30 / (memory.bandwidth_gb_s * 1e9) < 2
    assert compute.peak_gops > memory.bandwidth_gb_s
    assert compute.processor == "cpu" or profile.accelerator_w > 0
    assert {"bandwidth", "reserved", "peak_gops"} <= profile.sources.keys() or "all" in profile.sources
    # An idle device at 25 °C must not throttle.
    assert 25 + profile.idle_w * heat.resistance_k_w < heat.trip_c - 10


def test_all_required_hosts_have_a_profile() -> None:
    assert set(host_names()) >= REQUIRED


@pytest.mark.parametrize(
    ("files", "name"),
    [
        ({"proc/device-tree/model": "NVIDIA Jetson Nano Developer Kit\0"}, "jetson_nano"),
        ({"proc/device-tree/model": "NVIDIA Jetson Orin Nano Developer Kit\0"}, "jetson_orin_nano"),
        (
            {"proc/device-tree/model": "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super\0"},
            "jetson_orin_nano_super",
        ),
        ({"proc/device-tree/model": "NVIDIA Jetson Orin NX Engineering Reference Developer Kit\0"}, "jetson_orin_nx"),
        ({"proc/device-tree/model": "Radxa ROCK 5B\0"}, "orange_pi_5"),
        ({"proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0"}, "jetson_agx_orin"),
        ({"proc/device-tree/model": "Raspberry Pi 5 Model B Rev 1.0\0"}, "raspberry_pi_5"),
        ({"system/build.prop": "ro.build.id=X"}, "phone"),
        ({"sys/class/dmi/id/chassis_type": "10"}, "laptop"),
        ({"sys/class/power_supply/BAT0/type": "Battery"}, "laptop"),
        ({"sys/class/power_supply/hid/type": "Battery", "sys/class/power_supply/hid/scope": "Device"}, "generic_x86"),
        ({"proc/device-tree/model": "Some Unknown Board\0"}, "generic_x86"),
    ],
)  # fmt: skip
def test_a_computer_is_recognized(tmp_path: Path, files: dict[str, object], name: str) -> None:
    assert detect_host(put(tmp_path, files)).name == name


def edited_profile(old: str, new: str) -> str:
    """Return the text of the profile laptop.toml with ``old`` replaced by ``new``."""
    text = (HOST_DIRECTORY / "laptop.toml").read_text("utf-8")
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("idle_w = 5.0", "idle_w = -1", "'idle_w' must be a number from 0"),
        ("idle_w = 5.0", "", "'idle_w'"),
        ("idle_w = 5.0", "idle_w = 5.0\nidel_w = 2", "unknown field 'idel_w'"),
        ('policy = "step"', 'policy = "panic"', "one of step, cap"),
        ("steps_mhz = [400,", "steps_mhz = [4000,", "ascend"),
        ("3600]", "inf]", "ascend"),
        ("[400, 800, 1200, 1600, 2000, 2400, 2800, 3200, 3600]", "[nan]", "ascend"),
        ("3600]", f"{10**400}]", "has too many digits"),
        ("bandwidth_gb_s = 51.2", "bandwidth_gb_s = 0", "'bandwidth_gb_s' must be a number from 0.1"),
        ("size_gib = 16", "size_gib = 2", "reserved_gib must be below size_gib"),
        ('processor = "cpu"', 'processor = "npu"', "one of cpu, gpu"),
        ("[thermal]", "[thermal", "not valid TOML"),
        ("case_j_k = 250", "case_j_k = 0", "heat capacities"),
        ("[thermal]", "[heat]", r"\[thermal\]"),
    ],
)
def test_an_invalid_profile_raises_an_error_that_names_the_field(old: str, new: str, message: str) -> None:
    with pytest.raises(ProfileError, match=message):
        parse_host(edited_profile(old, new), "laptop.toml")


def test_an_unknown_host_suggests_similar_names() -> None:
    with pytest.raises(ProfileError, match="jetson_nan") as error:
        load_host("jetson_nan")
    assert "jetson_nano" in error.value.hint
