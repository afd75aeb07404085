"""Simulate a fleet: ``python -m benchmarks.fleet --devices 10000 --hours 24``.

Three bad releases and a good one are rolled out one after the other, while the broker, the server and the database
are killed at random. The exit code is 1 if an event was lost or doubled, if a bad release left the first wave, or if
the good one did not reach all devices.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

from arenite.host.fleet.rollout_settings import RolloutSettings
from benchmarks.fleet.simulation import Simulation, SimulationResult, SimulationSettings
from tests.free_port import free_port


def failures(result: SimulationResult, settings: SimulationSettings) -> list[str]:
    """Return a sentence for everything that is not as it should be."""
    texts = []
    if result.missing or result.doubled:
        texts.append(f"{result.missing} events are missing, {result.doubled} are doubled")
    if [rollout["release"] for rollout in result.rollouts] != list(settings.releases):
        texts.append("not all releases were rolled out in time")
    canaries = max(settings.devices * settings.rollout.waves[0] // 1000, 1)
    for rollout in result.rollouts[:-1]:
        if (rollout["state"], rollout["wave"]) != ("rolled_back", 0) or rollout["touched"] > canaries:
            texts.append(f"the bad release {rollout['release']} was not stopped in the first wave")
    if result.rollouts and result.rollouts[-1]["state"] != "done":
        texts.append(f"the good release is {result.rollouts[-1]['state']}")
    if result.releases != {settings.releases[-1]: settings.devices}:
        texts.append(f"the devices run {result.releases}")
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet", description=__doc__)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--devices-per-connection", type=int, default=50)
    parser.add_argument("--heartbeat-s", type=int, default=3600)
    parser.add_argument(
        "--step-s", type=int, default=900, help="virtual time between two steps of the devices"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--canary", type=int, default=10, help="share of the first wave in thousandths")
    options = parser.parse_args()
    # End the other processes too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    heartbeat_s = options.heartbeat_s
    settings = SimulationSettings(
        devices=options.devices,
        hours=options.hours,
        processes=options.processes,
        devices_per_connection=options.devices_per_connection,
        step_s=options.step_s,
        heartbeat_s=heartbeat_s,
        inferences_per_step=max(options.step_s // 75, 1),
        rollout=RolloutSettings(
            waves=(options.canary, 100, 1000) if options.canary < 100 else (options.canary, 1000),
            soak_s=2 * heartbeat_s,
            silence_s=max(3 * heartbeat_s, 3600),
            seen_s=2 * heartbeat_s,
            min_inferences=100,
        ),
        seed=options.seed,
    )
    with tempfile.TemporaryDirectory(prefix="arenite-fleet-") as folder:
        simulation = Simulation(
            settings, Path(folder), free_port(), lambda line: print(line, file=sys.stderr, flush=True)
        )
        result = simulation.run()
    print(json.dumps(result.to_json(), indent=2))
    texts = failures(result, settings)
    for text in texts:
        print(f"Failed: {text}.", file=sys.stderr)
    return 1 if texts else 0


if __name__ == "__main__":
    sys.exit(main())
