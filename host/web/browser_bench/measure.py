"""Run a model's modules in a browser: exactness, and the time of an inference."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Subgraph
from arenite.errors import DeviceError, UsageError
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import Samples
from arenite.host.bench.verification import OutputVerifier, VerificationResult, verify_all
from arenite.host.build.prepare import Prepared
from arenite.host.web.browser_bench.bench_server import BenchServer
from arenite.host.web.browser_bench.browsers import BrowserKind, browser_command, open_browser
from arenite.host.web.package import FILES, write_package
from arenite.processes import temporary_folder

_PAGE = Path(__file__).with_name("page")
#: The number of measured batches per module, and the shortest duration of a batch. A batch is long enough that the
#: resolution of the browser's timer, up to 0.1 ms, is below 1 %.
_ROUNDS, _BATCH_MS = 25, 20.0
#: Each module runs for this time first: browsers begin with code of a fast compiler, and replace it by better code.
_WARM_UP_MS = 2000.0
#: A page that sends nothing for this number of seconds has failed. A busy computer makes browsers slow.
_SILENT_S = 300.0


@dataclass(frozen=True)
class BrowserModuleFigures:
    """The figures of one module in a browser.

    ``load_ms``: from the request of the module to its first answer. ``times_us``: for each batch, the mean duration of
    an inference in microseconds, with the copies of its inputs and outputs.
    """

    core: str
    description: dict[str, Any]
    verification: VerificationResult
    load_ms: float
    times_us: tuple[float, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "core": self.core,
            "bit_exact": len(self.verification.exact),
            "max_abs_diff": self.verification.max_abs_diff,
            "accuracy": self.verification.accuracy,
            "time_us": {
                "p50": round(float(np.median(self.times_us)), 1),
                "min": round(min(self.times_us), 1),
                "kind": "measured",
            },
            "load_ms": {"value": round(self.load_ms, 2), "kind": "measured"},
            "module_bytes": self.description["bytes"],
            "module_sha256": self.description["sha256"],
            "memory_bytes": self.description["memory_bytes"],
        }


@dataclass(frozen=True)
class BrowserBench:
    """The figures of a model's modules in the browser ``browser``. ``agent`` is the browser's own description."""

    prepared: Prepared
    browser: str
    agent: str
    optimise: str
    samples: int
    modules: tuple[BrowserModuleFigures, ...]

    @property
    def bit_exact(self) -> bool:
        """Whether every module gave LiteRT's bytes for every sample."""
        return all(len(m.verification.exact) == self.samples for m in self.modules)

    def as_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.bench-browser/1``."""
        return {
            "schema": "arenite.bench-browser/1",
            "model": {"path": str(self.prepared.path), "sha256": self.prepared.sha256},
            "board": self.browser,
            "user_agent": self.agent,
            "optimise": self.optimise,
            "macs": self.prepared.macs,
            "samples": self.samples,
            "modules": [m.as_json() for m in self.modules],
        }


def bench_in_browser(
    kind: BrowserKind,
    prepared: Prepared,
    samples: Samples,
    optimise: str = "balanced",
    stateful: bool = False,
    progress: Progress = lambda *_: None,
    report: Callable[[str], None] = lambda _: None,
) -> BrowserBench:
    """Write a package of the model, run all samples with each of its modules in the browser, and compare every output
    with LiteRT.

    ``stateful``: do not reset the model's state between samples. ``report`` is called with lines of text for people.

    Raises ``ToolError`` if the browser or ziglang is missing, ``UsageError`` if h11 is missing, and ``DeviceError`` if
    the page fails.
    """
    browser_command(kind)
    verifier = OutputVerifier(Reference(prepared.reference), samples, stateful=stateful)
    progress("build", 0, 1)
    with temporary_folder("arenite-browser-") as folder:
        package = write_package(folder / "package", {"model": prepared}, optimise=optimise)
        described = {file["name"]: file for file in package.description["files"]}
        task: dict[str, Any] = {
            "modules": list(described),
            "samples": len(samples),
            "stateful": stateful,
            "rounds": _ROUNDS,
            "batch_ms": _BATCH_MS,
            "warm_up_ms": _WARM_UP_MS,
        }
        inputs = b"".join(np.ascontiguousarray(value).tobytes() for row in samples.inputs for value in row)
        files = {
            f"/{path.name}": path.read_bytes() for path in (*package.directory.iterdir(), *_PAGE.iterdir())
        }
        files |= {"/task.json": json.dumps(task).encode(), "/inputs.bin": inputs}
    outputs, result = _run_page(kind, files, task["modules"], prepared, len(samples), progress, report)
    cores = {file: core for core, file in FILES.items()}
    graph = prepared.source.main
    first = graph.tensors[graph.outputs[0]] if graph.outputs else None
    figures = []
    for k, (file, entry) in enumerate(zip(described, result["modules"], strict=True)):
        arrays = _split(outputs[k], graph, len(samples))
        verification = verify_all(verifier, samples, range(len(samples)), arrays, first, progress)
        times = tuple(float(ms) * 1e3 for ms in entry["times_ms"])
        figures.append(
            BrowserModuleFigures(cores[file], described[file], verification, float(entry["load_ms"]), times)
        )
    return BrowserBench(prepared, kind.name, str(result["agent"]), optimise, len(samples), tuple(figures))


def _run_page(
    kind: BrowserKind,
    files: dict[str, bytes],
    modules: Sequence[str],
    prepared: Prepared,
    samples: int,
    progress: Progress,
    report: Callable[[str], None],
) -> tuple[dict[int, bytes], dict[str, Any]]:
    """Open the page in the browser, and return the outputs of each module and the result that the page sends. Raises
    ``DeviceError`` if the page fails."""
    graph = prepared.source.main
    output_bytes = samples * sum(graph.tensors[index].nbytes for index in graph.outputs)
    try:
        server = BenchServer(files, len(modules), output_bytes, report)
    except OSError as error:
        raise UsageError(f"The page cannot be served: {error.strerror or error}.") from error
    server.start()
    steps = len(modules) + 1
    with contextlib.closing(server), open_browser(kind, server.url) as browser:
        while server.result is None:
            progress("run", len(server.outputs), steps)
            end = time.monotonic() + _SILENT_S
            while not server.received.wait(1.0):
                if browser.poll() is not None:
                    raise DeviceError(f"{kind.name} ended with exit code {browser.returncode}.")
                if time.monotonic() > end:
                    raise DeviceError(
                        f"The page in {kind.name} has sent nothing for {_SILENT_S:.0f} s.",
                        "Use fewer samples, or a computer that is less busy.",
                    )
            server.received.clear()
        progress("run", steps, steps)
        result, outputs = server.result, server.outputs
    if "error" in result or len(outputs) < len(modules):
        raise DeviceError(
            f"The page in {kind.name} failed: {result.get('error', 'it sent no outputs')}.",
            "Report this with the model.",
        )
    return outputs, result


def _split(data: bytes, graph: Subgraph, samples: int) -> list[list[np.ndarray]]:
    """Return the outputs of each sample as arrays, from the bytes that the page sent."""
    rows = []
    at = 0
    for _ in range(samples):
        row = []
        for index in graph.outputs:
            tensor = graph.tensors[index]
            array = np.frombuffer(data, DTYPES[tensor.dtype], tensor.elements, at)
            row.append(array.reshape(tensor.shape))
            at += tensor.nbytes
        rows.append(row)
    return rows
