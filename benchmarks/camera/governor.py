"""Run the governor on simulated devices at 35 °C, half an hour each: ``python -m benchmarks.camera.governor [--json]``.

Each device and limit is run without the governor (full quality, as fast as it can, throttled by its own firmware), with
all levers, and with each lever alone. The real sensor code reads power and temperature from files that the simulated
device writes with noise and rounding. Limits are checked against the true values of every second. The exit code is 1 if
a target is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arenite.host.energy.power_sources import open_power, open_thermometer
from arenite.host.energy.simulated_device import FrameWork, SimulatedDevice
from arenite.host.governor.governor import Governor
from arenite.host.governor.interface import Lever, Limits, Observation
from arenite.host.governor.levers import CpufreqLever, DevfreqLever, StepLever, fps_lever
from arenite.profiles.hosts import HostProfile, load_host

AMBIENT_C, MINUTES = 35.0, 30.0
#: The targets: the minimum number of frames as a multiple of the frames without the governor, and the maximum relative
#: difference of the mean power from a power limit that limits the quality.
MIN_FRAME_RATIO, BUDGET_BAND = 1.25, 0.03


@dataclass(frozen=True)
class Scenario:
    """A simulated device (``host`` names its profile), its work per frame at full quality, the limits, and the levels
    of resolution and precision that the governor may choose: (name, work as a fraction of full quality)."""

    name: str
    host: str
    work: FrameWork
    limits: Limits
    resolutions: tuple[tuple[str, float], ...]
    precisions: tuple[tuple[str, float], ...]
    box_k_w: float = 0.0  # additional thermal resistance from case to air of a closed housing, in K/W
    fps: float = 30.0


#: The additional thermal resistance of a closed camera housing without a fan, in K/W. It is an assumption: about half
#: the resistance of the bare heat sink.
BOX_K_W = 4.0
#: SSD MobileNet-V2 on the Jetson Nano's GPU. NVIDIA's published figures with float16 (recalled, not looked up) are 27
#: fps at 480x272 and 39 fps at 300x300, which is 37 and 26 ms. float32 takes nearly twice as long on this GPU. Capture,
#: pre- and postprocessing take 6 ms.
NANO = {
    "host": "jetson_nano",
    "work": FrameWork(fixed_s=0.006, accelerator_s=0.061),
    "resolutions": (("480x272", 1.0), ("300x300", 0.69)),
    "precisions": (("float32", 1.0), ("float16", 0.55)),
}
#: A detector that takes 30 ms per frame on four big cores in float32. int8 with dot product instructions is a bit more
#: than twice as fast. These figures are assumptions.
PHONE = {
    "host": "phone",
    "work": FrameWork(fixed_s=0.003, core_s=0.12, threads=4),
    "resolutions": (("320x320", 1.0), ("256x256", 0.64), ("192x192", 0.36)),
    "precisions": (("float32", 1.0), ("int8", 0.45)),
}
SCENARIOS = (
    Scenario("Nano in a box, 4.5 W", limits=Limits(power_w=4.5), box_k_w=BOX_K_W, **NANO),  # type: ignore[arg-type]
    Scenario("Nano in a box, 85 °C", limits=Limits(temperature_c=85.0), box_k_w=BOX_K_W, **NANO),  # type: ignore[arg-type]
    Scenario("Nano, 5 W, 70 °C, 50 ms", limits=Limits(5.0, 70.0, 50.0), **NANO),  # type: ignore[arg-type]
    Scenario("phone, 1.3 W", limits=Limits(power_w=1.3), **PHONE),  # type: ignore[arg-type]
    Scenario("phone, 43 °C", limits=Limits(temperature_c=43.0), **PHONE),  # type: ignore[arg-type]
)
ALL = ("fps", "resolution", "precision", "frequency")


@dataclass
class GovernorRun:
    """The result of one simulated run. ``mean_w`` is the mean power over the run. ``worst_w`` and ``worst_c`` are the
    highest true power and temperature of any second. ``busiest_minute`` is the largest number of actions in a
    minute."""

    scenario: str
    levers: tuple[str, ...]  # the names of the governor's levers; empty: without the governor
    frames: float
    mean_w: float
    worst_w: float
    worst_c: float
    throttled_s: float
    latency_ms: float  # the longest latency of the last minute
    actions: int
    busiest_minute: int
    last_w: float  # the mean power of the last ten minutes
    asked: float  # the full frame rate, in frames per second
    minutes: float
    settings: dict[str, Any] = field(default_factory=dict)
    log: list[dict[str, Any]] = field(default_factory=list)


def make_levers(plant: SimulatedDevice, scenario: Scenario, root: Path, names: Sequence[str]) -> list[Lever]:
    """Return the governor's levers with the names ``names``, which control the simulated device ``plant``. ``root`` is
    the folder of the device's files."""
    factors = {"resolution": 1.0, "precision": 1.0}

    def work(kind: str, ladder: tuple[tuple[str, float], ...]) -> StepLever:
        costs = dict(ladder)

        def apply(label: float | int | str) -> None:
            factors[kind] = costs[str(label)]
            plant.load.factor = factors["resolution"] * factors["precision"]

        return StepLever(kind, list(costs), list(costs.values()), apply)

    def fps(label: float | int | str) -> None:
        plant.load.fps = float(label)

    selected: list[Lever] = []
    for name in names:
        if name == "fps":
            selected.append(fps_lever(scenario.fps, fps))
        elif name == "resolution":
            selected.append(work("resolution", scenario.resolutions))
        elif name == "precision":
            selected.append(work("precision", scenario.precisions))
        elif name == "frequency":
            selected.append(DevfreqLever(root) if scenario.work.accelerator_s else CpufreqLever(root))
    return selected


def device(scenario: Scenario, seed: int) -> HostProfile:
    """Return the properties of the simulated device in its housing.

    With ``seed`` 0 or 1 they equal the device's profile. With a higher seed, each figure differs from the profile by up
    to a quarter, while the governor still gets the profile. So the run shows how the governor works with a profile that
    is only an estimate."""
    profile, rng = load_host(scenario.host), random.Random(seed)
    factors = [1.0] * 6 if seed <= 1 else [rng.uniform(0.8, 1.25) for _ in range(6)]
    heat = profile.thermal
    # The resistance to the air and the idle power differ by a third as much as the other figures.
    heat = replace(
        heat,
        case_ambient_k_w=(heat.case_ambient_k_w + scenario.box_k_w) * (1 + (factors[0] - 1) / 3),
        case_j_k=heat.case_j_k * factors[1],
        junction_case_k_w=heat.junction_case_k_w * factors[2],
    )
    return replace(
        profile,
        thermal=heat,
        idle_w=profile.idle_w * (1 + (factors[3] - 1) / 3),
        core_w=profile.core_w * factors[4],
        accelerator_w=profile.accelerator_w * factors[4],
        voltage_floor=min(0.95, profile.voltage_floor * factors[5]),
    )


def simulate(
    scenario: Scenario,
    names: Sequence[str] = ALL,
    minutes: float = MINUTES,
    seed: int = 1,
    ambient: float = AMBIENT_C,
) -> GovernorRun:
    """Simulate a scenario with the levers ``names``. Without levers, the governor is off. ``ambient`` is the
    temperature of the air in °C."""
    host_profile, profile = load_host(scenario.host), device(scenario, seed)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        root = Path(folder)
        plant = SimulatedDevice(profile, scenario.work, root, ambient, seed, scenario.fps)
        governor = None
        if names:
            levers = make_levers(plant, scenario, root, names)
            governor = Governor(
                scenario.limits, levers, idle_w=host_profile.idle_w, max_w=host_profile.max_power_w
            )
            governor.begin()
        meter = open_power(root, host_profile, clock=plant.clock)
        thermometer = open_thermometer(root, scenario.limits.temperature_c, host_profile)
        assert thermometer is not None
        watts, latencies, worst_c = [], [], 0.0
        for second in range(1, round(minutes * 60) + 1):
            rate, true_watts, latency = plant.run(1.0)
            watts.append(true_watts)
            latencies.append(latency)
            worst_c = max(worst_c, plant.throttling_c)
            if governor is not None:
                power, heat = meter.read(0.0), thermometer.read()
                governor.step(Observation(float(second), rate, latency, power.watts, heat.celsius, heat.trip))
        log = [action.to_json() for action in governor.log] if governor is not None else []
        times = [action["t_s"] for action in log]
        last = watts[-600:]
        return GovernorRun(
            scenario.name,
            tuple(names),
            plant.frames,
            sum(watts) / len(watts),
            max(watts),
            worst_c,
            plant.throttled_s,
            max(latencies[-60:]),
            len(log),
            max((sum(t <= u < t + 60 for u in times) for t in times), default=0),
            sum(last) / len(last),
            scenario.fps,
            minutes,
            governor.state() if governor is not None else {},
            log,
        )


def targets(run: GovernorRun, ungoverned: GovernorRun, limits: Limits) -> dict[str, bool]:
    """Return for each target whether ``run``, which has a governor, meets it. ``ungoverned`` is the run of the same
    scenario without a governor."""
    limits_met = {"frames": run.frames >= MIN_FRAME_RATIO * ungoverned.frames}
    if limits.power_w is not None:
        limits_met["power"] = run.worst_w <= limits.power_w
        # At the full frame rate, a part of the power limit may stay unused, because the next better quality would
        # exceed the limit.
        if limits.temperature_c is None and run.settings["levers"].get("fps") != run.asked:
            limits_met["budget used"] = abs(run.mean_w / limits.power_w - 1) <= BUDGET_BAND
    if limits.temperature_c is not None:
        limits_met["temperature"] = run.worst_c <= limits.temperature_c
    if limits.latency_ms is not None:
        limits_met["latency"] = run.latency_ms <= limits.latency_ms
    return limits_met


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="Print one JSON object on standard output.")
    parser.add_argument("--minutes", type=float, default=MINUTES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--no-ablation", action="store_true", help="Run only without levers and with all levers."
    )
    options = parser.parse_args(argv)
    rows, failed = [], False
    for scenario in SCENARIOS:
        ungoverned = simulate(scenario, (), options.minutes, options.seed)
        sets = (
            [(), ALL] if options.no_ablation else [(), ALL, *((name,) for name in ALL), ("fps", "frequency")]
        )
        for names in sets:
            run = ungoverned if not names else simulate(scenario, names, options.minutes, options.seed)
            limits_met = targets(run, ungoverned, scenario.limits) if names else {}
            if names == ALL:
                failed |= not all(limits_met.values())
            else:  # a run with some of the levers has no targets, so only the limits are reported
                limits_met = {
                    name: ok for name, ok in limits_met.items() if name in ("power", "temperature", "latency")
                }
            rows.append({"run": run, "ratio": run.frames / ungoverned.frames, "kept": limits_met})
            if not options.json:
                print(_line(run, run.frames / ungoverned.frames, limits_met), flush=True)
    if options.json:
        runs = [row["run"].__dict__ | {"ratio": row["ratio"], "kept": row["kept"]} for row in rows]
        print(json.dumps({"benchmark": "governor", "minutes": options.minutes, "runs": runs}))
    return 1 if failed else 0


def _line(run: GovernorRun, ratio: float, limits_met: dict[str, bool]) -> str:
    levers = "ungoverned" if not run.levers else "all levers" if run.levers == ALL else "+".join(run.levers)
    missed = [name for name, ok in limits_met.items() if not ok]
    verdict = "" if not limits_met else "kept" if not missed else "not kept: " + ", ".join(missed)
    per_joule = run.frames / (run.mean_w * run.minutes * 60)
    return (
        f"{run.scenario:32} {levers:14} {run.frames:7.0f} frames {ratio:5.2f}x"
        f"  {per_joule:4.1f}/J  mean {run.mean_w:5.2f} W"
        f"  worst {run.worst_w:5.2f} W {run.worst_c:5.1f} °C  {run.latency_ms:5.0f} ms"
        f"  throttled {run.throttled_s:5.0f} s  actions {run.actions:3} (max {run.busiest_minute}/min)  {verdict}"
    )


if __name__ == "__main__":
    sys.exit(main())
