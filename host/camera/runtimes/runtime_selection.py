"""Choose a runtime by measuring every runtime of this device on the model itself.

Every candidate runs in a separate process, on the same pictures. A candidate that crashes, hangs, refuses the model or
gives other answers than the CPU is excluded. The fastest remaining candidate is chosen, but a simpler candidate is
preferred if the fastest one is less than 10 % better. A delegate that is slow because it splits the graph is therefore
not chosen. The decision is stored in the cache for this file, these library versions and this device.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from arenite.errors import ModelError
from arenite.host.camera.runtimes.catalogue import ONNX, available_runtimes, model_kind
from arenite.host.camera.runtimes.probe_client import JoulesReader, probe_runtime
from arenite.host.camera.runtimes.runtime_choice import MAX_DIFFERENCE, CandidateResult, RuntimeChoice
from arenite.host.camera.runtimes.selection_cache import candidate_thread_counts, choice_path
from arenite.processes import temporary_folder


def choose_runtime(
    path: Path,
    *,
    options: Mapping[str, str] | None = None,
    names: Sequence[str] | None = None,
    threads: Sequence[int] | None = None,
    delegates: Sequence[str] = (),
    meter: JoulesReader | None = None,
    by: str = "latency",
    seconds: float = 0.5,
    timeout_s: float = 60.0,
    keep: bool = True,
) -> RuntimeChoice:
    """Measure all candidates and choose a runtime.

    Args:
        path: the model file.
        options: the options of the runtimes.
        names: the names of the candidates, the simplest first. Default: all available runtimes for this kind of model.
        threads: the numbers of threads to try. Default: 1, 2, 4, … up to the number of processors that this process may
            use.
        delegates: further candidates, each as ``delegate:LIBRARY.so,option=value``.
        meter: reads the energy of the device; None if it is not measured.
        by: choose by ``latency``, or by ``energy`` if there is a ``meter``.
        seconds: the measuring time per candidate. A fifth of this time is used to warm up before.
        timeout_s: the time in seconds after which a candidate counts as hung.
        keep: whether the decision is stored for ``load_choice``.

    Raises ``ModelError`` if no candidate can run the model; its text has the reason for each candidate.
    """
    from arenite.host.camera.runtimes.runtime_choice import choose_candidate

    path, runtime_options = Path(path), dict(options or {})
    candidates = _candidates(path, names, threads, delegates)
    measured: list[CandidateResult] = []
    with temporary_folder("arenite-") as folder:
        reference: Path | None = None
        for place, (name, count) in enumerate(candidates):
            outputs = Path(folder) / f"{place}.npz"
            result = probe_runtime(path, name, count, runtime_options, outputs, meter, seconds, timeout_s)
            if not result.problem:
                if reference is None:
                    reference = outputs
                result = _compare_outputs(result, outputs, reference)
            measured.append(result)
    picked = choose_candidate(measured, by)
    if picked is None:
        reasons = " ".join(f"{result.label}: {result.problem}" for result in measured)
        raise ModelError(f"No runtime of this device runs {path}. {reasons}", "Convert the model again.")
    choice = RuntimeChoice(picked[0].name, picked[0].threads, tuple(measured), picked[1])
    if keep:
        from arenite.files import replace_file

        # If the cache cannot be written, the next run measures again.
        with contextlib.suppress(OSError):
            replace_file(choice_path(path, runtime_options), json.dumps(choice.to_json(), indent=1).encode())
    return choice


def _candidates(
    path: Path, names: Sequence[str] | None, threads: Sequence[int] | None, delegates: Sequence[str]
) -> list[tuple[str, int]]:
    if names is None:
        onnx = model_kind(path) == "onnx"
        names = [
            runtime.name
            for runtime in available_runtimes()
            if runtime.available and (runtime.name in ONNX) == onnx
        ]
    counts = list(threads) if threads is not None else candidate_thread_counts()
    name_and_threads = []
    for name in [*names, *delegates]:
        processor = name in ("litert-cpu", "litert-interpreter", "onnx-cpu")
        name_and_threads += [(name, count) for count in (counts if processor else counts[:1])]
    return name_and_threads


def _compare_outputs(result: CandidateResult, outputs: Path, reference: Path) -> CandidateResult:
    import numpy as np

    from arenite.host.camera.runtimes.runtime_choice import difference

    with np.load(outputs) as ours, np.load(reference) as theirs:
        difference_share = difference(
            [ours[name] for name in ours.files], [theirs[name] for name in theirs.files]
        )
    if difference_share <= MAX_DIFFERENCE:
        return replace(result, difference=difference_share)
    return replace(
        result,
        difference=difference_share,
        problem=f"gives wrong answers: they differ from the CPU's by {difference_share:.0%} of their range.",
    )
