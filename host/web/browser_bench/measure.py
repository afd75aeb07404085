"""Run a model's modules in a browser: exactness, and the time of an inference."""

from __future__ import annotations

import contextlib
import gzip
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arenite.errors import DeviceError, UnsupportedModelError, UsageError
from arenite.host.bench.devices.measure import Progress
from arenite.host.bench.module_result import module_result
from arenite.host.bench.reference import Reference
from arenite.host.bench.samples import Samples
from arenite.host.bench.verification import OutputVerifier, VerificationResult, verify_all
from arenite.host.build.prepare import Prepared
from arenite.host.build.webassembly.module import plan_module
from arenite.host.web.browser_bench.bench_server import RUN, TIME, BenchServer
from arenite.host.web.browser_bench.browsers import BrowserKind, browser_command, open_browser
from arenite.host.web.browser_bench.model_forms import ModelForm, forms_of
from arenite.host.web.browser_bench.peer_figures import PeerFigures, peer_figures, ratio_json, time_json
from arenite.host.web.browser_bench.peers import Peer, runtime_files
from arenite.host.web.package import FILES, write_package
from arenite.processes import temporary_folder

_PAGE = Path(__file__).with_name("page")
#: The number of measured batches per module, and the duration of a batch. A batch is long enough that the
#: resolution of the browser's timer, up to 0.1 ms, is below 1 %.
_ROUNDS, _BATCH_MS = 25, 20.0
#: With other runtimes, the batches are shorter than the time slices of operating systems, so that many batches run
#: without an interruption on a busy computer. Timers have 5 to 20 microseconds, because the page is isolated.
_ROUNDS_WITH_PEERS, _BATCH_MS_WITH_PEERS = 300, 2.5
#: A slow model has fewer batches: when they have taken this time, the page stops after a number of rounds.
_MAX_MEASURED_MS, _MIN_ROUNDS = 300e3, 5
#: Each module runs for this time first: browsers begin with code of a fast compiler, and replace it by better code.
_WARM_UP_MS = 2000.0
#: A page that sends nothing for this number of seconds has failed. It reports its progress every second, between two
#: inferences. A busy computer makes browsers slow.
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
            "time_us": time_json(self.times_us),
            "load_ms": {"value": round(self.load_ms, 2), "kind": "measured"},
            "module_bytes": self.description["bytes"],
            "module_sha256": self.description["sha256"],
            "memory_bytes": self.description["memory_bytes"],
        }


@dataclass(frozen=True)
class BrowserBench:
    """The figures of those modules of a model that run in the browser ``browser``. ``agent`` is the browser's own
    description.

    ``simd``: whether the browser has 128-bit SIMD. Without it, only the scalar module ran. ``peers`` has the figures of
    other runtimes in the same page.
    """

    prepared: Prepared
    browser: str
    agent: str
    simd: bool
    optimise: str
    samples: int
    modules: tuple[BrowserModuleFigures, ...]
    peers: tuple[PeerFigures, ...] = ()

    @property
    def bit_exact(self) -> bool:
        """Whether every module gave LiteRT's bytes for every sample."""
        return all(len(m.verification.exact) == self.samples for m in self.modules)

    def as_json(self) -> dict[str, Any]:
        """Return the object of schema ``arenite.bench/1``."""
        first = self.modules[0]
        modules = [m.as_json() for m in self.modules]
        result = module_result(
            self.prepared,
            self.browser,
            plan_module({"model": self.prepared}, first.core, self.optimise),
            first.description["bytes"],
            self.samples,
            [m.verification for m in self.modules],
            instructions=None,
            latency=modules[0]["time_us"],
            stack=None,
        )
        result |= {"user_agent": self.agent, "simd": self.simd, "modules": modules}
        if self.peers:
            result["peers"] = [p.as_json() for p in self.peers]
            result["ratio"] = ratio_json(self.modules[0].times_us, self.peers)
        return result


def bench_in_browser(
    kind: BrowserKind,
    prepared: Prepared,
    samples: Samples,
    optimise: str = "balanced",
    stateful: bool = False,
    peers: Sequence[Peer] = (),
    progress: Progress = lambda *_: None,
    report: Callable[[str], None] = lambda _: None,
) -> BrowserBench:
    """Write a package of the model, run all samples in the browser with each module that it supports, and compare every
    output with LiteRT.

    ``stateful``: do not reset the model's state between samples. ``peers``: other runtimes to measure in the same page.
    They cannot reset a model's state. ``report`` is called with lines of text for people.

    Raises ``ToolError`` if the browser, ziglang or the files of another runtime are missing, ``UsageError`` if h11 is
    missing, and ``DeviceError`` if the page fails.
    """
    browser_command(kind)
    peer_files = {
        f"/peers/{peer.name}/{path}": content
        for peer in peers
        for path, content in runtime_files(peer).items()
    }
    forms = forms_of(prepared.source)
    own = forms[0]
    models, refused = _peer_models(peers, forms)
    peers_in_page = [peer for peer in peers if peer.name not in refused]
    verifier = OutputVerifier(Reference(prepared.reference), samples, stateful=stateful)
    progress("build", 0, 1)
    with temporary_folder("arenite-browser-") as folder:
        package = write_package(folder / "package", {"model": prepared}, optimise=optimise)
        described = {file["name"]: file for file in package.description["files"]}
        task: dict[str, Any] = {
            "modules": list(described),
            "peers": [
                {
                    "name": peer.name,
                    "forms": [
                        {
                            **form.task(),
                            "model": f"./{form.edges}.{peer.model_format}",
                            "inputs_file": f"./{form.edges}.bin",
                        }
                        for form in forms
                    ],
                }
                for peer in peers_in_page
            ],
            "samples": len(samples),
            "stateful": stateful,
            "rounds": _ROUNDS_WITH_PEERS if peers else _ROUNDS,
            "batch_ms": _BATCH_MS_WITH_PEERS if peers else _BATCH_MS,
            "warm_up_ms": _WARM_UP_MS,
            "max_measured_ms": _MAX_MEASURED_MS,
            "min_rounds": _MIN_ROUNDS,
        }
        files = {
            f"/{path.name}": path.read_bytes() for path in (*package.directory.iterdir(), *_PAGE.iterdir())
        }
        files |= {"/task.json": json.dumps(task).encode(), "/inputs.bin": own.inputs(samples), **peer_files}
        if peers:
            files |= models | {f"/{form.edges}.bin": form.inputs(samples) for form in forms}
            # The other runtimes need a less strict content security policy.
            files["/index.html"] = files["/peers.html"]
    graph = prepared.source.main
    sizes = [{len(samples) * own.output_bytes()}] * len(described)
    sizes += [{len(samples) * form.output_bytes() for form in forms}] * len(peers_in_page)
    outputs, result, fetched = _run_page(kind, files, sizes, len(described), progress, report)
    cores = {file: core for core, file in FILES.items()}
    first = graph.tensors[graph.outputs[0]] if graph.outputs else None

    def verified(arrays: Sequence[Sequence[np.ndarray]]) -> VerificationResult:
        return verify_all(verifier, samples, range(len(samples)), arrays, first, progress)

    figures = []
    for k, (file, entry) in enumerate(zip(described, result["modules"], strict=True)):
        if "error" in entry:  # this browser lacks what the module needs
            continue
        verification = verified(own.outputs(outputs[k], len(samples)))
        figures.append(
            BrowserModuleFigures(
                cores[file], described[file], verification, float(entry["load_ms"]), _times_us(entry)
            )
        )
    compared = {}
    for k, (peer, entry) in enumerate(zip(peers_in_page, result["peers"], strict=True), len(described)):
        if "error" in entry:
            compared[peer.name] = PeerFigures(peer, str(entry["error"]))
            continue
        form = forms[int(entry["form"])]
        arrays = form.outputs(outputs[k], len(samples))
        expected = [verifier.expected(n) for n in range(len(samples))]
        compared[peer.name] = peer_figures(
            peer,
            form.edges,
            verified(arrays),
            expected,
            arrays,
            float(entry["load_ms"]),
            _times_us(entry),
            sum(
                len(gzip.compress(files[path], 9, mtime=0))
                for path in fetched
                if path.startswith(f"/peers/{peer.name}/") or path == f"/{form.edges}.{peer.model_format}"
            ),
        )
    return BrowserBench(
        prepared,
        kind.name,
        str(result["agent"]),
        bool(result["simd"]),
        optimise,
        len(samples),
        tuple(figures),
        tuple(compared.get(peer.name) or PeerFigures(peer, refused[peer.name]) for peer in peers),
    )


def _times_us(entry: Mapping[str, Any]) -> tuple[float, ...]:
    return tuple(float(ms) * 1e3 for ms in entry["times_ms"])


def _peer_models(
    peers: Sequence[Peer], forms: Sequence[ModelForm]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the model files for ``peers`` by path, and the reasons why runtimes get none, by name."""
    files: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    for peer in peers:
        try:
            files |= {f"/{form.edges}.{peer.model_format}": form.file(peer.model_format) for form in forms}
        except UnsupportedModelError as error:
            refused[peer.name] = error.problem
    return files, refused


def _run_page(
    kind: BrowserKind,
    files: dict[str, bytes],
    output_bytes: Sequence[Collection[int]],
    modules: int,
    progress: Progress,
    report: Callable[[str], None],
) -> tuple[dict[int, bytes], dict[str, Any], set[str]]:
    """Open the page in the browser, and return the outputs of each runtime, the result that the page sends, and the
    paths of the files that it loaded.

    The first ``modules`` runtimes are those of the package, of which one must run; the others may fail.
    ``output_bytes``: see ``BenchServer``. Raises ``DeviceError`` if the page fails."""
    try:
        server = BenchServer(files, output_bytes, report)
    except OSError as error:
        raise UsageError(f"The page cannot be served: {error.strerror or error}.") from error
    server.start()
    with contextlib.closing(server), open_browser(kind, server.url) as browser:
        while server.result is None:
            progress(*server.progress)
            end = time.monotonic() + _SILENT_S
            while not server.received.wait(1.0):
                if why := browser.ended():
                    raise DeviceError(
                        f"The browser {kind.name} does not run any more: {why}.",
                        "Run the command again; if the browser ends again, use fewer samples.",
                    )
                if time.monotonic() > end:
                    raise DeviceError(
                        f"The page in {kind.name} has sent nothing for {_SILENT_S:.0f} s.",
                        "Use fewer samples, or a computer that is less busy.",
                    )
            server.received.clear()
        for step in (RUN, TIME):
            progress(step, server.progress[2], server.progress[2])
        result, outputs = server.result, server.outputs
    needed = {k for k, entry in enumerate(result.get("modules", ())) if "error" not in entry}
    if "error" in result or not needed or not outputs.keys() >= needed:
        raise DeviceError(
            f"The page in {kind.name} failed: {result.get('error', 'it sent no outputs')}.",
            "Report this with the model.",
        )
    return outputs, result, server.fetched
