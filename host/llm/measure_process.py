"""Measure a language model in a process of its own: ``python -m arenite.host.llm.measure_process``.

The process holds nothing but the model, so its memory is that of the model. It reads a JSON object in one line from
standard input: ``runtime``, ``path``, ``context``, ``cache_type``, ``threads`` (or null), ``vocabulary``, ``paced`` and
``runs``, a list of [tokens of the prompt, tokens to decode]. It writes one JSON object per line to standard output:
{"event": "first"} when the first token of a run is there, {"event": "run", ...} after the run, {"event": "end", ...}
and, if it fails, {"event": "error", ...}. The log of the runtime goes to standard error.

If ``paced`` is true, which llama.cpp can, it writes {"event": "full", "token_s": ...} before the runs and {"event":
"piece", ...} after each piece of work. After each of these it waits for a line with the next ``PieceSizes`` as JSON, so
the reader decides how long it pauses.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from arenite.counts import count_of
from arenite.errors import AreniteError, ToolError, UsageError
from arenite.host.llm.budget.pieces import Piece, PieceSizes, decode_in_pieces, measure_token_s
from arenite.host.llm.llama_cpp_runtime import LlamaCppRuntime
from arenite.host.llm.llama_cpp_tokens import LlamaCppTokens
from arenite.host.llm.resident_memory import resident_bytes
from arenite.host.llm.runtime import BenchRuntime, ContextFullError, RuntimeOptions
from arenite.host.llm.runtimes import open_runtime


def main() -> None:
    """Measure, as the module says."""
    job = json.loads(sys.stdin.readline())
    try:
        options = RuntimeOptions(
            job["runtime"],
            Path(job["path"]),
            job["context"],
            job["cache_type"],
            job["threads"],
            has_log=True,
        )
        runtime = open_runtime(options)
        # The time of a token does not depend on which tokens are in the prompt. The seed gives the same ones each time.
        numbers = random.Random(0)
        prompt = [numbers.randrange(job["vocabulary"]) for _ in range(job["context"])]
        decode = _paced(runtime) if job["paced"] else runtime.decode
        for length, tokens in job["runs"]:
            _write(measured_run(decode, prompt[:length], tokens))
        resident = resident_bytes()  # before the cache is looked at, which may copy it
        end = {
            "event": "end",
            "resident_bytes": resident,
            "cache_bytes": runtime.cache_bytes(),
            "threads": runtime.threads,
        }
    except ContextFullError:
        problem = "The prompt is longer than the context of the runtime, which may count a few tokens more."
        _write(
            {"event": "error", "problem": problem, "hint": "Give smaller --prompt-tokens.", "is_usage": True}
        )
        return
    except AreniteError as error:
        is_usage = isinstance(error, UsageError)
        _write({"event": "error", "problem": error.problem, "hint": error.hint, "is_usage": is_usage})
        return
    _write(end)
    runtime.close()


def _paced(runtime: BenchRuntime) -> Callable[[Sequence[int], int], Iterator[int]]:
    """Return a function like ``LlamaCppRuntime.decode`` that waits for the reader of standard output."""
    assert isinstance(runtime, LlamaCppRuntime)
    requests = LlamaCppTokens(runtime.port, runtime.key)
    pacer = _Reader()
    pacer.tell({"event": "full", "token_s": measure_token_s(requests)})

    def decode(prompt: Sequence[int], tokens: int) -> Iterator[int]:
        count = 0
        for piece in decode_in_pieces(requests, prompt, tokens, pacer, ignores_end=True):
            count += len(piece)
            yield count

    return decode


class _Reader:
    """The pacer at the other end of standard output and standard input."""

    sizes = PieceSizes(1, 1)

    def worked(self, piece: Piece) -> None:
        self.tell({"event": "piece", **asdict(piece)})

    def tell(self, event: dict[str, Any]) -> None:
        _write(event)
        self.sizes = PieceSizes(**json.loads(sys.stdin.readline()))


def measured_run(
    decode: Callable[[Sequence[int], int], Iterator[int]], prompt: list[int], tokens: int
) -> dict[str, Any]:
    """Decode ``tokens`` tokens, and return the seconds until the first, the wall-clock seconds of each of the others,
    and their processor seconds, which do not count the time of other programs."""
    started = time.perf_counter()
    walls, processors, counts = list[float](), list[float](), list[int]()
    for count in decode(prompt, tokens):
        if counts and count == counts[-1]:
            continue  # the rest of a text that was told before
        counts.append(count)
        walls.append(time.perf_counter())
        processors.append(time.process_time())
        if len(walls) == 1:
            _write({"event": "first"})
    if len(counts) < 2:
        raise ToolError(
            f"The model ended its answer after {count_of(sum(counts[-1:]), 'token')}, so no time per token is known.",
            "Give another --prompt-tokens.",
        )
    return {
        "event": "run",
        "first_s": walls[0] - started,
        "token_s": per_token(walls, counts),
        "processor_s": per_token(processors, counts),
    }


def per_token(times: list[float], counts: list[int]) -> list[float]:
    """Return the time of each token after the first. ``counts`` are the tokens at each of the ``times``; tokens that
    were counted together share their time."""
    result = list[float]()
    for (start, first), (end, last) in pairwise(zip(times, counts, strict=True)):
        result += [(end - start) / (last - first)] * (last - first)
    return result


def _write(event: dict[str, Any]) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    main()
