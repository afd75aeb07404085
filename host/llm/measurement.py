"""Run a language model on this computer and measure it: times per token, memory and power."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from statistics import median
from typing import IO, Any

from arenite.errors import ToolError, UsageError
from arenite.host.energy.base import PowerMeter
from arenite.host.llm.budget.pieces import Piece
from arenite.host.llm.budget.token_budget import TokenBudget
from arenite.host.llm.language_model import LLAMA_CPP, LanguageModel
from arenite.host.llm.power_readings import MeanPower, PowerReadings

_MIB = 1 << 20


@dataclass(frozen=True)
class DecodeRun:
    """One prompt of ``prompt`` tokens, and the tokens after it. ``first_s``: seconds until the first token. For each
    token after it, ``token_s`` has the seconds on the clock, and ``processor_s`` those of all processors together,
    which do not count other programs. ``power``: the mean power while they were decoded, or None."""

    prompt: int
    first_s: float
    token_s: tuple[float, ...]
    processor_s: tuple[float, ...]
    power: MeanPower | None

    @property
    def depth(self) -> float:
        """The mean number of tokens in the cache while the tokens after the first one were decoded."""
        return self.prompt + (len(self.token_s) + 1) / 2

    def undisturbed_s(self, threads: int, processor: str) -> float:
        """Return the median seconds per token without the pauses in which other programs ran: ``threads`` threads
        compute, or wait actively, all the time. A GPU computes while the processors rest, so for ``processor`` "gpu"
        it is the time on the clock."""
        return median(self.token_s) if processor == "gpu" else median(self.processor_s) / threads


@dataclass(frozen=True)
class Measurement:
    """What was measured in one process. ``resident_bytes``: the largest resident set of that process. ``kv_mib``: the
    caches in the log of llama.cpp, in MiB with two digits, or the one that another runtime has; nothing if it does not
    tell it. ``threads``: the threads that decoded."""

    runs: tuple[DecodeRun, ...]
    resident_bytes: int
    kv_mib: tuple[float, ...]
    threads: int

    def kv_matches(self, predicted: int) -> bool:
        """Return whether ``predicted`` bytes are the caches in the log, as exactly as the log tells."""
        return abs(predicted / _MIB - sum(self.kv_mib)) <= 0.0051 * len(self.kv_mib)


def measure(
    model: LanguageModel,
    context: int,
    cache_type: str,
    threads: int | None,
    runs: Sequence[tuple[int, int]],
    meter: PowerMeter,
    report: Callable[[str], None],
    open_budget: Callable[[float], TokenBudget] | None = None,
) -> Measurement:
    """Run ``model`` in a process of its own, which holds nothing else. ``runs``: for each run the tokens of the prompt,
    and how many to decode. Each prompt begins with the one before, which is not computed again. ``report`` is called
    with the progress as text. ``open_budget`` gets the measured seconds per token and returns the budget that reads the
    power and decides about pauses, instead of ``meter``; the caller closes it.

    Raises:
        UsageError: The package of the runtime is not installed.
        ToolError: The runtime cannot load the model, or the process ends too early.
    """
    job = {
        "runtime": model.runtime,
        "path": str(model.path),
        "context": context,
        "cache_type": cache_type,
        "threads": threads,
        "vocabulary": model.architecture.vocabulary,
        "paced": open_budget is not None,
        "runs": list(runs),
    }
    readings = PowerReadings(meter, threads or 1)
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(
            [sys.executable, "-m", "arenite.host.llm.measure_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process:
            try:
                assert process.stdin is not None and process.stdout is not None
                pipes = _Pipes(process.stdin, process.stdout)
                pipes.answer(job)
                done, end = _receive(pipes, runs, readings, report, open_budget)
            except BaseException:
                process.kill()
                raise
            finally:
                readings.stop()
        log.seek(0)
        text = log.read().decode("utf-8", "replace")
    if end is None:
        raise ToolError(
            f"The process that measures {model.path.name} ended early, with status {process.returncode}.",
            "If the memory was full, give a smaller --context.",
        )
    if model.runtime != LLAMA_CPP:
        told = () if end["cache_bytes"] is None else (end["cache_bytes"] / _MIB,)
        return Measurement(done, end["resident_bytes"], told, end["threads"])
    caches, counts = (
        re.findall(r"llama_kv_cache: size = +([\d.]+) MiB", text),
        re.findall(r" n_threads = (\d+)", text),
    )
    if not caches or not counts:
        raise ToolError("The log of llama.cpp does not tell the cache and the threads.", "Update Arenite.")
    return Measurement(done, end["resident_bytes"], tuple(map(float, caches)), int(counts[0]))


@dataclass(frozen=True)
class _Pipes:
    """Standard input and standard output of the process that measures."""

    stdin: IO[str]
    stdout: IO[str]

    def answer(self, content: dict[str, Any]) -> None:
        # A process that has ended is noticed at the end of its output.
        with suppress(BrokenPipeError):
            self.stdin.write(json.dumps(content) + "\n")
            self.stdin.flush()


def _receive(
    pipes: _Pipes,
    runs: Sequence[tuple[int, int]],
    readings: PowerReadings,
    report: Callable[[str], None],
    open_budget: Callable[[float], TokenBudget] | None,
) -> tuple[tuple[DecodeRun, ...], dict[str, Any] | None]:
    """Read the events of the process. Return the runs and the last event, which is None if it ended early."""
    done = list[DecodeRun]()
    power: PowerReadings | TokenBudget = readings
    report(f"Loading the model and reading {runs[0][0]:,} tokens.")
    for line in pipes.stdout:
        event: dict[str, Any] = json.loads(line)
        kind = event.pop("event")
        prompt, tokens = runs[min(len(done), len(runs) - 1)]
        if kind == "first":
            report(f"Decoding {tokens:,} tokens after {prompt:,}.")
            power.start()
        elif kind == "run":
            times = tuple(event["token_s"]), tuple(event["processor_s"])
            done.append(DecodeRun(prompt, event["first_s"], *times, power.stop()))
        elif kind == "full" and open_budget is not None:
            budget = power = open_budget(event["token_s"])
            pipes.answer(asdict(budget.sizes))
        elif kind == "piece" and isinstance(power, TokenBudget):
            power.worked(Piece(**event))
            pipes.answer(asdict(power.sizes))
        elif kind == "error":
            raise (UsageError if event["is_usage"] else ToolError)(event["problem"], event["hint"])
        else:
            return tuple(done), event
    return tuple(done), None
