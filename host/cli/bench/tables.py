"""Show a bench result as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from arenite.converters.graph.signal.operators import SIGNAL_OPERATORS
from arenite.converters.graph.trees import OPERATOR
from arenite.host.bench.cycles import RULE_TITLES
from arenite.host.cli.bench.two_cores import two_cores_line
from arenite.host.report.console import note, show, table


def show_bench(result: dict[str, Any]) -> None:
    """Show an ``arenite.bench/1`` object as tables on standard output."""
    s, inference, memory, flash = result["samples"], result["inference"], result["memory"], result["flash"]
    counts, latency = inference["instructions"], inference["latency_us"]
    are_measured = inference["cycles"] is not None and inference["cycles"]["kind"] == "measured"
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
            "cycles" if are_measured else "est. cycles",
            "kernel",
            "tier",
        )
        show(
            table(
                "Layers (measured)" if are_measured else "Layers (measured; cycles estimated)", columns, rows
            )
        )
    facts = [("samples", f"{s['bit_exact']} of {s['count']} bit-exact with {_reference(result['layers'])}")]
    if s["missing"]:
        facts.append(("without an answer", f"{s['missing']} of {s['count']}"))
    if s["resumed"] or s["repeated"]:
        facts.append(("from an earlier run; sent again", f"{s['resumed']}; {s['repeated']}"))
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
        kind = "" if are_measured else " (estimated)"
        facts.append((f"cycles per inference{kind}", f"{inference['cycles']['p50']:,}"))
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
        *((f"  in {r['region']} B", f"{r['bytes']:,}") for r in memory.get("arena_regions", ())[1:]),
        ("stack B", stack),
        ("static RAM B", f"{memory['static']:,} (predicted {memory['predicted_static']:,})"),
        ("total RAM B", f"{memory['ram_total']:,}"),
        ("flash: weights B", f"{flash['weights']:,} (predicted {flash['predicted_weights']:,})"),
        ("flash: code B", f"{flash['code']:,} (predicted {flash['predicted_code']:,})"),
        ("total flash B", f"{flash['total']:,}"),
    ]
    facts.append(("compiler", result["build"]["compiler"] or result["build"]["toolchain"]))
    if result["build"]["emulator"] is not None:
        facts.append(("emulator", result["build"]["emulator"]))
    if result["build"].get("rtl") is not None:
        facts.append(("core", inference["cycles"]["source"]))
    if lines := two_cores_line(result.get("two_cores")):
        facts.append(("two cores (estimated)", lines[0].removeprefix("two cores: ")))
    title = f"{Path(result['model']['path']).name} on {result['board']['name']}"
    show(table(title, ("", "measured"), facts))
    if len(result["boards"]) > 1:
        _show_boards(result["boards"])
    if result["classes"] is not None:
        _show_classes(result["classes"])
    if result.get("compare") is not None:
        _show_comparison(result["compare"])
    for text in result["notes"]:
        note(text)


def _reference(layers: list[dict[str, Any]]) -> str:
    """Return the name of the reference with which the outputs of ``layers`` were compared."""
    if any(layer["op"] == OPERATOR for layer in layers):
        return "the NumPy reference of trees"
    if any(layer["kernel"] == "ar_svdf_s8_state8" for layer in layers):
        return "LiteRT BUILTIN_REF (SVDF: TensorFlow Lite Micro's arithmetic)"
    if any(layer["op"] in SIGNAL_OPERATORS for layer in layers):
        return "LiteRT BUILTIN_REF (signal operators: TensorFlow Lite Micro's arithmetic)"
    return "LiteRT BUILTIN_REF"


def _show_classes(classes: list[dict[str, Any]]) -> None:
    """Show the classes of instructions and the timing rules that contribute at least 1 % of the cycles."""
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
    show(table("Classes of instructions", ("class", "count", "est. cycles", "share", "kind of cost"), rows))


def _show_comparison(compared: dict[str, Any]) -> None:
    def cell_text(value: float | None) -> str:
        return "-" if value is None else f"{value:,}"

    rows = [
        (
            name,
            cell_text(f["ours"]),
            cell_text(f["theirs"]),
            "-" if f["ratio"] is None else f"{f['ratio']:.3f}",
        )
        for name, f in compared["figures"].items()
    ]
    title = f"Comparison with {compared['engine']} on {compared['core']}"
    show(table(title, ("", "this", "baseline", "ratio"), rows))
    if compared["note"] is not None:
        note(compared["note"])


def _show_boards(boards: list[dict[str, Any]]) -> None:
    rows = []
    for b in boards:
        figures = b["instructions"] or b["latency_us"]
        median = f"{figures['p50']:,}" if figures else "-"
        rows.append((b["board"], b["samples"], b["bit_exact"], median, b["error"] or ""))
    unit = "instructions p50" if any(b["instructions"] for b in boards) else "µs p50"
    show(table("Boards", ("board", "samples", "bit-exact", unit, ""), rows))
