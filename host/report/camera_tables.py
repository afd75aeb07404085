"""Make the console output of the camera loop: a status line while it runs, and tables at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arenite.counts import count_of
from arenite.host.report.console import show, table

_STAGE_TITLES = {"total": "all stages", "age": "capture to answer"}


def show_summary(record: Mapping[str, Any]) -> None:
    """Print the tables of an ``arenite.camera/1`` record."""
    frames, model = record["frames"], record["model"]
    if "scenario" in record:
        show(f"{model['name']} on {model['runtime']}, pictures of {record['source']}")
        _show_scenario(record["scenario"])
        _show_notes(record)
        return
    show(
        f"{model['name']} on {model['runtime']}, source {record['source']}: {frames['served']} frames served in "
        f"{record['seconds']:.1f} s, {record['fps']:.1f} per second",
        f"{frames['captured']} captured, {frames['dropped']} dropped, {frames['late']} late, "
        f"{frames['errors']} damaged, {frames['reconnects']} reconnects",
    )
    if len(frames["by"]) > 1:
        show("answered by " + ", ".join(f"{name}: {count}" for name, count in frames["by"].items()))
    show(
        table(
            "Stages, ms (measured)",
            ("stage", "p50", "p95", "p99", "max"),
            [
                (
                    _STAGE_TITLES.get(name, name),
                    *(f"{stage.get(key, 0.0):.3f}" for key in ("p50", "p95", "p99", "max")),
                )
                for name, stage in record["stage_ms"].items()
            ],
        )
    )
    rows = [
        ("cold start to the first answer", f"{record['cold_start_ms']:,.0f} ms"),
        ("bytes written per frame, without those of the runtime", f"{record['bytes_written_per_frame']:,} B"),
        ("duty cycle", f"{100 * record['duty_cycle']:.1f} %"),
    ]
    if "early_wake" in record:
        rows.append(
            ("early wake-up, processor time per frame", f"{record['early_wake']['cpu_ms_per_frame']:.3f} ms")
        )
    power, energy = record["power_w"], record["energy_mj_per_frame"]
    if power["value"] is not None:
        rows.append(("power", f"{power['value']:.2f} W ({power['kind']}: {power['source']})"))
    if energy["value"] is not None:
        rows.append(("energy per frame", f"{energy['value']:.1f} mJ ({energy['kind']})"))
    temperature = record["temperature_c"]
    if temperature["max"] is not None:
        rows.append(
            (
                "temperature",
                f"{temperature['start']:.1f} → {temperature['end']:.1f} °C, at most {temperature['max']:.1f}",
            )
        )
    if "descriptions" in record:
        rows.append(("descriptions", _descriptions_line(record["descriptions"])))
    show(table("Run", ("", ""), rows))
    if record["budget"]:
        verdict = {True: "met", False: "exceeded", None: "not verified"}
        show(
            table(
                "Budget",
                ("limit", "budget", "value", "kind", ""),
                [
                    (
                        entry["limit"],
                        f"{entry['asked']:g} {entry['unit']}",
                        "-" if entry["value"] is None else f"{entry['value']:.2f} {entry['unit']}",
                        entry["kind"],
                        verdict[entry["kept"]],
                    )
                    for entry in record["budget"]
                ],
            )
        )
    if record["governor"]:
        show(
            table(
                f"Governor: the last {min(len(record['governor']), 12)} of {len(record['governor'])} actions",
                ("time s", "lever", "from", "to", "reason"),
                [
                    (f"{entry['t_s']:.1f}", entry["lever"], entry["from"], entry["to"], entry["reason"])
                    for entry in record["governor"][-12:]
                ],
            )
        )
    if "soak" in record:
        _show_soak(record["soak"])
    for source, answer in record["last_answer"].items():
        title = f"Last answer of camera {source}" if len(record["last_answer"]) > 1 else "Last answer"
        show(f"{title}: {answer_line(answer)}")
    if last := record.get("descriptions", {}).get("last"):
        show(f"Last description, of answer {last['number']}: {last['text']}")
    _show_notes(record)


def _descriptions_line(record: Mapping[str, Any]) -> str:
    times = record["latency_ms"]
    took = (
        ""
        if times["p50"] is None
        else f" (measured: median {times['p50'] / 1e3:.2f} s, p95 {times['p95'] / 1e3:.2f} s)"
    )
    return (
        f"{record['described']}{took}; {record['skipped']} answers skipped, {record['unchanged']} unchanged, "
        f"{count_of(record['failed'], 'failure')}"
    )


def _show_notes(record: Mapping[str, Any]) -> None:
    for text in record["notes"]:
        show(f"Note: {text}")


def _show_scenario(record: Mapping[str, Any]) -> None:
    value = "none" if record["value"] is None else f"{record['value']:,.3f}"
    rows = [
        (record["metric"], f"{value} (measured)"),
        (
            "queries",
            f"{record['queries']:,} of {record['samples']:,} samples in {record['duration_s']:.1f} s",
        ),
        *((f"query latency {name}, ms", f"{ms:.3f}") for name, ms in record["query_latency_ms"].items()),
    ]
    if "server" in record:
        server = record["server"]
        rows.append(("latency limit, ms", f"{server['latency_limit_ms']:g}"))
        rows.append(("rates tried", str(len(server["trials"]))))
    show(
        table(f"Scenario {record['scenario']}: {'valid' if record['valid'] else 'not valid'}", ("", ""), rows)
    )
    for reason in record["reasons"]:
        show(f"Not valid: {reason}")


def _show_soak(record: Mapping[str, Any]) -> None:
    """Print the figures of the first minute beside those of the steady state, or of the last third if there is none."""
    name = "steady_state" if record["steady"] else "last_third"
    first, last = record["minute_1"], record[name]
    measured = all(part.get("power_kind", "measured") == "measured" for part in (first, last))
    kind = "" if measured else " (estimated)"
    figures = [
        ("frames per second", [part["fps"] for part in (first, last)]),
        *(
            (f"all stages {p}, ms", [part["stage_ms"].get("total", {}).get(p) for part in (first, last)])
            for p in ("p50", "p99")
        ),
        (f"power, W{kind}", [part["power_w"] for part in (first, last)]),
        ("temperature, °C", [part["temperature_c"] for part in (first, last)]),
        ("clock, MHz", [part["clock_mhz"] for part in (first, last)]),
        (f"energy per frame, mJ{kind}", [part["energy_mj_per_frame"] for part in (first, last)]),
    ]
    show(
        table(
            f"Soak of {record['minutes']:g} minutes"
            + (f", steady from {record['settled_s']:.0f} s on" if record["steady"] else ", never steady"),
            ("", "minute 1", name.replace("_", " ")),
            [(figure, *("-" if v is None else f"{v:,.3f}" for v in values)) for figure, values in figures],
        )
    )
    if record["unsettled"]:
        show(f"Not settled: {', '.join(record['unsettled'])}.")


def answer_line(answer: Mapping[str, Any]) -> str:
    """Return the model's answer to a picture (an entry of ``last_answer``) as one line of text."""
    if answer.get("classes"):
        return ", ".join(f"{c['label'] or c['index']} {c['score']:.2f}" for c in answer["classes"][:3])
    if answer["kind"] == "boxes":
        boxes = answer.get("boxes", [])
        if not boxes:
            return "nothing found"
        first = boxes[0]
        left, top, right, bottom = (100 * side for side in first["box"])
        name = first["label"] or f"class {first['index']}"
        others = f", and {len(boxes) - 1} more" if len(boxes) > 1 else ""
        horizontal, vertical = f"{left:.0f} to {right:.0f} % across", f"{top:.0f} to {bottom:.0f} % down"
        return f"{name} {first['score']:.2f} at {horizontal}, {vertical}{others}"
    if "score" in answer:
        return "score " + ("not a number" if answer["score"] is None else f"{answer['score']:.4g}")
    return str(answer["kind"])


def live_line(state: Mapping[str, Any]) -> str:
    """Return the status line for ``state``, which the supervisor of the camera loop reports."""
    frames = state["frames"]
    parts = [f"{state['fps']:5.1f} fps", f"{frames['served']} served", f"{frames['dropped']} dropped"]
    total = state["stage_ms"].get("total")
    if total:
        parts.append(f"p50 {total['p50']:.2f} ms, p99 {total['p99']:.2f} ms")
    if state.get("power"):
        sign = "~" if state["power"]["kind"] != "measured" else ""
        parts.append(f"{sign}{state['power']['value']:.1f} W")
    if state.get("temperature"):
        parts.append(f"{state['temperature']['value']:.0f} °C")
    log = (state.get("governor") or {}).get("log") or []
    if log:
        parts.append(f"governor: {log[-1]['lever']} {log[-1]['to']}")
    return " · ".join(parts)
