"""Compare predictions with measurements of a language model on this computer: python -m
benchmarks.language_models.calibrated MODEL.gguf [THREADS]. It prints the table of docs/language-models.md.

For each type of cache it calibrates first and then measures each context, so that both see the same computer. The
contexts lie below, between and above the points of the calibration.
"""

from __future__ import annotations

import sys
from pathlib import Path

from arenite.host.energy.power_sources import open_power
from arenite.host.llm.bench import LanguageModelBench
from arenite.host.llm.calibration import calibrate, calibration_runs
from arenite.host.llm.measurement import measure
from arenite.host.llm.prediction import read_language_model
from arenite.host.report.console import note
from arenite.profiles.hosts import detect_host

CONTEXTS, CACHE_TYPES, TOKENS = (512, 2048, 8192), ("f16", "q8_0"), 32
_MIB = 1 << 20


def main(path: Path, threads: int) -> None:
    """Measure the model in the GGUF file ``path``, and print one row per context and type of cache."""
    model, host, meter = read_language_model(path), detect_host(), open_power()
    print(
        "| context | cache | MiB, predicted and allocated | memory, predicted | measured | difference "
        "| tokens/s, predicted | without other programs | difference | on the clock |"
    )
    print("|-:|-|-:|-:|-:|-:|-:|-:|-:|-:|")
    for cache_type in CACHE_TYPES:
        runs = calibration_runs(model)
        first = measure(model, sum(runs[-1]), cache_type, threads, runs, meter, note)
        low, high = ((run.depth, run.undisturbed_s(threads, host.compute.processor)) for run in first.runs)
        calibration = calibrate(model, cache_type, threads, (low, high))
        note(str(calibration))
        for context in CONTEXTS:
            runs = ((context - TOKENS, TOKENS),)
            measured = measure(model, context, cache_type, threads, runs, meter, note)
            result = LanguageModelBench(model, host, context, cache_type, measured, calibration)
            print(_row(result), flush=True)


def _row(result: LanguageModelBench) -> str:
    memory, rate = result.measurement.resident_bytes, result.calibrated_tokens_s or 0.0
    need = result.need
    kv = f"{need.kv / _MIB:.2f}"
    if not result.measurement.kv_matches(need.kv):
        kv += f", not {sum(result.measurement.kv_mib):.2f}"
    cells = (
        result.context,
        result.cache_type,
        kv,
        f"{need.total / _MIB:.1f}",
        f"{memory / _MIB:.1f}",
        f"{100 * (need.total / memory - 1):+.1f} %",
        f"{rate:.1f}",
        f"{result.undisturbed_tokens_s:.1f}",
        f"{100 * (rate / result.undisturbed_tokens_s - 1):+.1f} %",
        f"{result.tokens_s:.1f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
