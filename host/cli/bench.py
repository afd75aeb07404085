"""``arenite bench``: measure a model on a board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from arenite.converters.atomic import write_atomic
from arenite.converters.processing.files import PICTURES, SOUNDS
from arenite.firmware.generator.target import Target
from arenite.host.bench.compare import compare as compare_result
from arenite.host.bench.compare import read_baseline, require
from arenite.host.bench.cycles import RULE_TITLES
from arenite.host.bench.run import Options
from arenite.host.bench.run import bench as run_bench
from arenite.host.bench.sample_files import file_samples
from arenite.host.bench.samples import load_samples, random_samples
from arenite.host.cli.options import no_passes_option, optimise_option, protocol_option, stream_option
from arenite.host.cli.output import note, print_json, show, table
from arenite.host.cli.progress import Steps
from arenite.host.fit import verdicts
from arenite.host.pareto import builds, describe
from arenite.host.prepare import prepare
from arenite.host.report.arena_svg import arena_svg
from arenite.host.report.page import bench_page
from arenite.host.report.pareto_svg import pareto_svg
from arenite.profiles.boards import all_boards, load_board


@click.command()
@click.argument("image", type=click.Path(path_type=Path))
@click.option("--board", required=True, help="A board of `arenite boards`; qemu_* boards are emulated.")
@click.option("--port", help="Serial port of a real board.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Samples: x (x0, x1, ...) and y in an .npz file, or pictures or WAV files in a folder.",
)
@click.option("--samples", type=click.IntRange(min=1), help="How many; default 10, or all of --data.")
@optimise_option
@protocol_option
@no_passes_option
@stream_option
@click.option("--stateful", is_flag=True, help="Keep state from one sample to the next.")
@click.option(
    "--cycles/--no-cycles",
    default=None,
    help="Estimate cycles by counting instructions in one more inference (emulated boards; on where possible).",
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Ratios to a baseline: another engine's records, or an earlier --json result.",
)
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="Leave the generated project here."
)
@click.option("--html", type=click.Path(path_type=Path), help="Also write a self-contained page.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def bench(
    image: Path,
    board: str,
    port: str | None,
    data: Path | None,
    samples: int | None,
    optimise: str | None,
    protocol: str,
    no_passes: bool,
    stream_input: bool,
    stateful: bool,
    cycles: bool | None,
    compare: Path | None,
    keep: Path | None,
    html: Path | None,
    as_json: bool,
) -> int:
    """Generate firmware for IMAGE, build it, start it on a board, feed it and check every output byte.

    Exit code 1 when an output differs from LiteRT's reference kernels.
    """
    baseline = read_baseline(compare) if compare is not None else None
    prepared = prepare(image, passes=not no_passes)
    chosen = load_board(board)
    if baseline is not None and compare is not None:
        require(baseline, chosen.core, prepared.path.stem, compare)
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    if data is None:
        inputs = random_samples(tensors, samples or 10)
    elif data.is_dir() or data.suffix.lower() in (*PICTURES, *SOUNDS):
        inputs = file_samples(data, tensors, prepared.extra, samples)
    else:
        inputs = load_samples(data, tensors, samples)
    options = Options(optimise, protocol, port, stateful, keep, stream_input, cycles)
    with Steps(chosen.name) as steps:
        result = run_bench(prepared, chosen, inputs, options, steps)
    if baseline is not None:
        result["compare"] = compare_result(result, baseline)
    if as_json:
        print_json(result)
    else:
        for text in prepared.notes:
            note(text)
        show_bench(result)
    # After the figures, so that a page that cannot be written does not lose them.
    if html is not None:
        built = prepared.retarget(Target.of(chosen.core, result["optimise"], stream_input))
        drawing = arena_svg(built.model.main, built.plan, built.needs)
        fits = [v.to_json() for v in verdicts(prepared, all_boards(), optimise, stream_input=stream_input)]
        ways = describe(image, chosen, builds(image, chosen))
        picture = pareto_svg(ways["builds"], ways["limits"])
        page = bench_page(result, fits, drawing, prepared.notes, ways["builds"], picture)
        write_atomic(html, page)
        note(f"Report: {html}")
    return 0 if result["samples"]["bit_exact"] == result["samples"]["count"] else 1


def show_bench(result: dict[str, Any]) -> None:
    """The result as tables for people."""
    s, inference, memory, flash = result["samples"], result["inference"], result["memory"], result["flash"]
    counts, latency = inference["instructions"], inference["latency_us"]
    if result["layers"] and result["layers"][0]["instructions"] is not None:
        total = max(sum(layer["instructions"] for layer in result["layers"]), 1)
        rows = [
            (
                layer["index"],
                layer["op"],
                layer["shape"],
                f"{layer['macs']:,}",
                f"{layer['instructions']:,}",
                f"{layer['instructions'] / layer['macs']:.2f}" if layer["macs"] else "-",
                f"{100 * layer['instructions'] / total:.1f} %",
                "-" if layer["cycles"] is None else f"{layer['cycles']:,}",
                (layer["kernel"] or "-").removeprefix("ar_"),
                layer["tier"] or "-",
            )
            for layer in result["layers"]
        ]
        columns = (
            "#",
            "operator",
            "output",
            "MACs",
            "instructions",
            "per MAC",
            "share",
            "est. cycles",
            "kernel",
            "tier",
        )
        show(table("Layers (measured; cycles estimated)", columns, rows))
    facts = [("samples", f"{s['bit_exact']} of {s['count']} bit-exact with LiteRT BUILTIN_REF")]
    if s["accuracy"] is not None:
        facts.append(("accuracy", f"{s['accuracy']:.3f}"))
    if counts is not None:
        facts.append(
            (
                "instructions per inference",
                f"p50 {counts['p50']:,}  p95 {counts['p95']:,}  p99 {counts['p99']:,}",
            )
        )
    if result["init"]["instructions"] is not None:
        facts.append(("instructions before the first layer", f"{result['init']['instructions']:,}"))
    if inference["cycles"] is not None:
        facts.append(("cycles per inference (estimated)", f"{inference['cycles']['p50']:,}"))
    if latency is not None:
        facts.append(
            ("latency µs", f"p50 {latency['p50']:,}  p95 {latency['p95']:,}  p99 {latency['p99']:,}")
        )
    stack = f"{memory['stack']:,} (predicted at most {memory['predicted_stack']:,})"
    if memory["stack_kind"] != "measured":
        stack = f"{memory['stack']:,} predicted; this protocol cannot measure it"
    facts += [
        (
            "arena B",
            f"{memory['arena']:,} (lower bound {memory['arena_lower_bound']:,}, {memory['arena_status']})",
        ),
        ("stack B", stack),
        ("static RAM B", f"{memory['static']:,} (predicted {memory['predicted_static']:,})"),
        ("RAM in all B", f"{memory['ram_total']:,}"),
        ("flash: weights B", f"{flash['weights']:,} (predicted {flash['predicted_weights']:,})"),
        ("flash: code B", f"{flash['code']:,} (predicted {flash['predicted_code']:,})"),
        ("flash in all B", f"{flash['total']:,}"),
    ]
    title = f"{Path(result['model']['path']).name} on {result['board']['name']}"
    show(table(title, ("", "measured"), facts))
    if result["classes"] is not None:
        _show_classes(result["classes"])
    if result.get("compare") is not None:
        _show_comparison(result["compare"])
    for text in result["notes"]:
        note(text)


def _show_classes(classes: list[dict[str, Any]]) -> None:
    """The classes and rules that make up a hundredth of the cycles or more."""
    total = sum(row["cycles"] for row in classes)
    rows = [
        (
            row["class"].replace("_", " ") if "class" in row else f"({RULE_TITLES[row['rule']]})",
            f"{row['count']:,}",
            f"{row['cycles']:,}",
            f"{100 * row['cycles'] / max(total, 1):.1f} %",
            row["kind"],
        )
        for row in classes
        if abs(row["cycles"]) * 100 >= total
    ]
    show(table("Classes of instructions", ("class", "count", "est. cycles", "share", "cost is"), rows))


def _show_comparison(compared: dict[str, Any]) -> None:
    def shown(value: float | None) -> str:
        return "-" if value is None else f"{value:,}"

    rows = [
        (name, shown(f["ours"]), shown(f["theirs"]), "-" if f["ratio"] is None else f"{f['ratio']:.3f}")
        for name, f in compared["figures"].items()
    ]
    title = f"Against {compared['engine']} on {compared['core']}"
    show(table(title, ("", "this", "baseline", "ratio"), rows))
    if compared["note"] is not None:
        note(compared["note"])
