"""Make the HTML pages of `arenite bench`, `inspect` and `pareto`. They are self-contained: they load no script, font or
picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from arenite.host.build.segments import segment_sentences
from arenite.host.report.html_parts import document, head
from arenite.host.report.provenance import made_from_sentence

_COLORS = ("var(--a)", "var(--b)", "var(--c)", "var(--d)")


def bench_page(
    result: Mapping[str, Any],
    fits: Sequence[Mapping[str, Any]],
    arena_svg: str,
    notes: Sequence[str] = (),
    builds: Sequence[Mapping[str, Any]] = (),
    pareto_svg: str = "",
) -> str:
    """Return the HTML page for one ``arenite.bench/1`` result.

    ``fits`` has the board entries of an ``arenite.fit/1`` object, ``arena_svg`` is the picture of the arena. ``builds``
    are the builds of an ``arenite.pareto/1`` object, ``pareto_svg`` is their picture.
    """
    model, board = result["model"], result["board"]
    name = str(model["path"]).rsplit("/", 1)[-1]
    parts = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="sub">on {escape(board["name"])} ({escape(board["core"])}), '
        f"SHA-256 {escape(model['sha256'][:16])}…, {model['macs']:,} multiply-accumulates</p>",
        _cards(result),
    ]
    if notes:
        parts.append("<h2>Notes</h2><ul>" + "".join(f"<li>{escape(n)}</li>" for n in notes) + "</ul>")
    memory, flash = result["memory"], result["flash"]
    stack = "" if memory["stack_kind"] == "measured" else "; the stack is the predicted bound"
    parts += [
        f"<h2>RAM (measured{stack})</h2>",
        _stack_bar({k: memory[k] for k in ("arena", "stack", "static")}),
        f'<p class="kind">Predicted before the build: {memory["predicted_ram_total"]:,} B; '
        f"the arena's lower bound is {memory['arena_lower_bound']:,} B.</p>",
        "<h2>Flash (measured)</h2>",
        _stack_bar({k: flash[k] for k in ("weights", "code")}),
        f'<p class="kind">Predicted before the build: {flash["predicted_total"]:,} B.</p>',
        "<h2>The arena over time (planned)</h2>",
        f'<div class="scroll">{arena_svg}</div>',
        _layers(result["layers"]),
    ]
    if builds:
        parts += pareto_section(builds, pareto_svg)
    if fits:
        parts += ["<h2>Boards</h2>", fits_table(fits)]
    return document(f"{name} on {board['name']}", parts)


def inspect_page(described: Mapping[str, Any], arena_svg: str) -> str:
    """Return the HTML page for one ``arenite.inspect/1`` object."""
    name = str(described["model"]["path"]).rsplit("/", 1)[-1]
    plan = described["plan"]
    rows = "".join(
        f'<tr><td class="n">{o["index"]}</td><td>{escape(o["op"])}</td><td>{escape(o["inputs"])}</td>'
        f'<td>{escape(o["outputs"])}</td><td class="n">{o["macs"]:,}</td><td>{escape(o["arena"])}</td></tr>'
        for o in described["operators"]
    )
    texts = [*described["notes"], *segment_sentences(described["segments"])]
    provenance = made_from_sentence(described)
    texts += [provenance] if provenance else []
    notes = "".join(f"<li>{escape(n)}</li>" for n in texts)
    macs = f"{described['macs']:,}"
    if described["macs_after_passes"] != described["macs"]:
        macs += f" → {described['macs_after_passes']:,}"
    parts = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="sub">SHA-256 {escape(described["model"]["sha256"][:16])}…, {macs} '
        f"multiply-accumulates, arena {plan['arena_bytes']:,} B ({escape(plan['status'])}, lower bound "
        f"{plan['lower_bound']:,} B), constants {described['constant_bytes']:,} B</p>",
        f"<h2>Notes</h2><ul>{notes}</ul>" if notes else "",
        passes_section(described["passes"]),
        "<h2>The arena over time (planned)</h2>",
        f'<div class="scroll">{arena_svg}</div>',
        "<h2>Operators</h2>",
        '<div class="scroll"><table><tr><th class="n">#</th><th>operator</th><th>inputs</th><th>outputs</th>'
        f'<th class="n">MACs</th><th>arena of outputs</th></tr>{rows}</table></div>',
    ]
    return document(name, parts)


def pareto_page(described: Mapping[str, Any], picture: str) -> str:
    """Return the HTML page for one ``arenite.pareto/1`` object and its picture."""
    name = str(described["model"]["path"]).rsplit("/", 1)[-1]
    board = described["board"]
    parts = [
        f"<h1>{escape(name)}</h1>",
        f'<p class="sub">Builds for {escape(board["name"])} ({escape(board["core"])}), '
        f"SHA-256 {escape(described['model']['sha256'][:16])}…</p>",
        *pareto_section(described["builds"], picture),
    ]
    return document(f"{name}: builds for {board['name']}", parts)


def pareto_section(builds: Sequence[Mapping[str, Any]], picture: str) -> list[str]:
    """Return HTML parts with the picture and the table of builds. A build has the same number in both."""
    rows = []
    for number, b in enumerate(builds, 1):
        sign = "~" if b["kind"] == "estimated" else ""
        verdict = '<td class="yes">yes</td>' if b["fits"] else '<td class="no">no</td>'
        rows.append(
            f'<tr><td class="n">{number}</td><td>{escape(b["label"])}</td>{verdict}'
            f'<td class="n">{b["ram"]:,}</td><td class="n">{b["flash"]:,}</td>'
            f'<td class="n">{sign}{b["instructions"]:,}</td><td>{escape(b["dominated_by"] or "")}</td></tr>'
        )
    header = head("#:n", "build", "fits", "RAM B:n", "flash B:n", "instructions:n", "dominated by")
    kinds = {b["kind"] for b in builds}
    return [
        f"<h2>Ways to build it ({' and '.join(sorted(kinds))})</h2>",
        f'<div class="scroll">{picture}</div>',
        f'<div class="scroll"><table>{header}{"".join(rows)}</table></div>',
        '<p class="kind">An open mark is a dominated build: another build needs no more RAM, flash or '
        "instructions, and less "
        "of at least one. Squares are builds that receive their input row by row. They dominate only other squares. "
        "The sign ~ marks an estimate.</p>",
    ]


def passes_section(passes: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of the channels and multiply-accumulates that graph passes removed from each layer.

    Layers are numbered as in the model before the passes.
    """
    rows = "".join(
        f'<tr><td class="n">{c["index"]}</td><td>{escape(c["op"])}</td>'
        f'<td class="n">{c["channels_removed"]:,} of {c["channels"]:,}</td>'
        f'<td class="n">{c["macs_before"]:,}</td><td class="n">{c["macs_after"]:,}</td></tr>'
        for p in passes
        for c in p["layers"]
    )
    if not rows:
        return ""
    return (
        '<h2>Graph optimizations (exact)</h2><div class="scroll"><table>'
        + head("layer:n", "operator", "output channels removed:n", "MACs before:n", "MACs after:n")
        + f"{rows}</table></div>"
    )


def _cards(result: Mapping[str, Any]) -> str:
    """Return the cards with the most important figures of a bench result."""
    samples, instructions = result["samples"], result["inference"]["instructions"]
    cells = [("bit-exact", f"{samples['bit_exact']} of {samples['count']}")]
    if samples["accuracy"] is not None:
        cells.append(("accuracy", f"{samples['accuracy']:.1%}"))
    if instructions is not None:
        cells.append(("instructions per inference, p50", f"{instructions['p50']:,}"))
        cells.append(("p95 / p99", f"{instructions['p95']:,} / {instructions['p99']:,}"))
    cycles = result["inference"]["cycles"]
    if cycles is not None:
        cells.append(("cycles per inference, estimated", f"{cycles['p50']:,}"))
    latency = result["inference"]["latency_us"]
    if latency is not None:
        cells.append(("latency p50, µs", f"{latency['p50']:,}"))
    cells.append(("RAM", f"{result['memory']['ram_total']:,} B"))
    cells.append(("flash", f"{result['flash']['total']:,} B"))
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{escape(v)}</b>{escape(k)}</div>' for k, v in cells)
        + "</div>"
    )


def _stack_bar(parts: Mapping[str, int]) -> str:
    """Return a bar that is divided in proportion to ``parts``, in bytes, and its legend."""
    total = max(sum(parts.values()), 1)
    spans, keys = [], []
    for (name, size), color in zip(parts.items(), _COLORS, strict=False):
        spans.append(f'<span style="width:{100 * size / total:.2f}%;background:{color}"></span>')
        keys.append(f'<span class="key"><i style="background:{color}"></i>{name} {size:,} B</span>')
    return f'<div class="bar">{"".join(spans)}</div><p>{"".join(keys)}<b>total {total:,} B</b></p>'


def _layers(layers: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of the layers with their measured instructions."""
    largest = max((layer["instructions"] or 0 for layer in layers), default=0) or 1
    if all(layer["instructions"] is None for layer in layers):
        return '<h2>Layers</h2><p class="kind">Instructions per layer were not counted in this run.</p>'
    rows = []
    for layer in layers:
        count = layer["instructions"] or 0
        per_mac = f"{count / layer['macs']:.2f}" if layer["macs"] else "-"
        rows.append(
            f'<tr><td class="n">{layer["index"]}</td><td>{escape(layer["op"])}</td>'
            f"<td>{escape(layer.get('shape', ''))}</td>"
            f'<td class="n">{layer["macs"]:,}</td><td class="n">{count:,}</td><td class="n">{per_mac}</td>'
            f'<td class="n">{_number(layer.get("cycles"))}</td>'
            f"<td>{escape((layer.get('kernel') or '-').removeprefix('ar_'))}</td><td>{layer.get('tier') or '-'}</td>"
            f'<td style="width:30%"><span class="meter" style="width:{100 * count / largest:.1f}%"></span></td></tr>'
        )
    header = head(
        *("#:n", "operator", "output", "MACs:n", "instructions:n", "per MAC:n", "est. cycles:n"),
        *("kernel", "tier", ""),
    )
    table = f"<table>{header}{''.join(rows)}</table>"
    return f'<h2>Layers (measured; cycles estimated)</h2><div class="scroll">{table}</div>'


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def fits_table(fits: Sequence[Mapping[str, Any]]) -> str:
    """Return a table of entries of ``arenite.fit/1``. Boards that the model fits come first."""
    rows = []
    for f in sorted(fits, key=lambda f: (not f["fits"], f["latency_ms"]["value"])):
        sign = "~" if f["ram"].get("kind") else ""
        verdict = '<td class="yes">yes</td>' if f["fits"] else '<td class="no">no</td>'
        rows.append(
            f"<tr><td>{escape(f['board'])}</td>{verdict}"
            f'<td class="n">{sign}{f["ram"]["needed"]:,}</td><td class="n">{f["ram"]["available"]:,}</td>'
            f'<td class="n">{sign}{f["flash"]["needed"]:,}</td><td class="n">{f["flash"]["available"]:,}</td>'
            f"<td>{escape(f['optimise'])}</td>"
            f'<td class="n">~{f["latency_ms"]["value"]:,.1f}</td><td>{escape("; ".join(f["reasons"]))}</td></tr>'
        )
    header = head("board", "fits", "RAM B:n", "of:n", "flash B:n", "of:n", "optimise", "ms:n", "")
    return (
        f'<div class="scroll"><table>{header}{"".join(rows)}</table></div>'
        '<p class="kind">The sign ~ marks an estimate: real boards add their framework\'s start-up code, and all '
        "times are estimates.</p>"
    )
