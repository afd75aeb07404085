"""``arenite bench --board chromium``, ``firefox`` and ``webkit``: a model as a WebAssembly module in a browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from arenite.errors import UsageError
from arenite.host.build.options import BuildOptions
from arenite.host.cli.bench.webassembly import (
    DEFAULT_GOAL,
    refuse_options_of_boards,
    report_result,
    show_modules,
)
from arenite.host.cli.progress import steps_of
from arenite.host.interface.measurement import model_samples
from arenite.host.interface.model import load
from arenite.host.report.console import note, show, table
from arenite.host.web.browser_bench.browsers import BROWSERS
from arenite.host.web.browser_bench.peers import PEERS

if TYPE_CHECKING:
    from arenite.host.web.browser_bench.measure import BrowserBench

#: The options of bench that apply to a browser.
_OPTIONS = {
    "image",
    "board",
    "data",
    "samples",
    "optimise",
    "no_passes",
    "stateful",
    "no_store",
    "as_json",
    "peers",
}


def bench_browser(
    browser: str,
    image: Path,
    data: Path | None,
    samples: int | None,
    build: BuildOptions,
    stateful: bool,
    peers: Sequence[str],
    as_json: bool,
) -> int:
    """Measure a model in a browser, and show the figures. ``peers`` has the names of other runtimes to measure in the
    same page. Return the exit code."""
    try:
        from arenite.host.web.browser_bench.measure import bench_in_browser
    except ModuleNotFoundError as error:
        if error.name != "h11":
            raise
        raise UsageError(
            "A bench in a browser needs h11.", "Install it: pip install 'arenite[web]'"
        ) from error
    refuse_options_of_boards(_OPTIONS)
    prepared = load(image, passes=build.passes).prepared
    with steps_of(browser) as steps:
        result = bench_in_browser(
            BROWSERS[browser],
            prepared,
            model_samples(prepared, data, samples),
            build.optimise or DEFAULT_GOAL,
            stateful,
            [PEERS[name] for name in dict.fromkeys(peers)],
            steps,
            note,
        )
    return report_result(result, as_json, lambda: _show_bench(result))


def _show_bench(result: BrowserBench) -> None:
    figures = [m.as_json() for m in result.modules]
    rows = [
        ("time of an inference, median, us", *(f"{f['time_us']['p50']:,.1f}" for f in figures)),
        ("time of an inference, shortest, us", *(f"{f['time_us']['min']:,.1f}" for f in figures)),
        ("load and first inference, ms", *(f"{f['load_ms']['value']:,.1f}" for f in figures)),
        ("module, bytes", *(f"{f['module_bytes']:,}" for f in figures)),
        ("memory, bytes", *(f"{f['memory_bytes']:,}" for f in figures)),
    ]
    title = f"{result.prepared.path.stem} in {result.browser}, {result.optimise} (all figures measured)"
    show_modules(title, figures, result.samples, rows)
    if result.peers:
        _show_peers(result)
    if not result.simd:
        note(
            f"{result.browser} has no 128-bit SIMD in WebAssembly here, so only the module without SIMD ran."
        )
    note(f"Browser: {result.agent}")


def _show_peers(result: BrowserBench) -> None:
    """Show the other runtimes, in rows below each other, and the ratio to the fastest one."""
    as_json = result.as_json()
    rows = []
    for peer in as_json["peers"]:
        if peer["error"] is not None:
            note(f"{peer['name']} {peer['version']} does not run the model: {peer['error']}")
            continue
        rows.append(
            (
                f"{peer['name']} {peer['version']}",
                "float32" if peer["edges"] == "float" else "as in the model",
                f"{peer['bit_exact']:,} of {result.samples:,}",
                f"{peer['bytes_differ']:,}",
                f"{peer['time_us']['p50']:,.1f}",
                f"{peer['time_us']['min']:,.1f}",
                f"{peer['load_ms']['value']:,.1f}",
            )
        )
    if rows:
        header = (
            "runtime",
            "inputs and outputs",
            "bit-exact",
            "bytes differ",
            "median, us",
            "shortest, us",
            "load, ms",
        )
        show(table("Other runtimes in the same page, one thread (all figures measured)", header, rows))
    if ratio := as_json["ratio"]:
        note(
            f"{as_json['modules'][0]['core']} takes {ratio['p50']:.2f} of the time of {ratio['peer']} in the median, "
            f"{ratio['min']:.2f} at the shortest."
        )
