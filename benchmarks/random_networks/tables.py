"""Format the measured rows as the Markdown table of docs/conversions.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from arenite.host.report.generated_tables import markdown_table

Row = Mapping[str, Any]

_HEAD = [
    "network",
    "activations",
    "operators",
    "float",
    "int8",
    "`--auto`",
    "points lost",
    "recipe",
    "bit-exact",
]

#: Operators of nearly every image, which the table leaves out.
_COMMON = frozenset({"QUANTIZE", "DEQUANTIZE", "RESHAPE", "CAST", "GATHER"})


def networks_table(rows: Sequence[Row]) -> str:
    return markdown_table(_HEAD, [_cells(r) for r in rows], (3, 4, 5, 6, 8))


def refusal_of(row: Row) -> Mapping[str, Any] | None:
    """Return the record of the command that refused the network, or None if both conversions succeeded."""
    return next((row[way] for way in ("int8", "auto") if row.get(way, {}).get("refusal")), None)


def points_lost(row: Row, way: str = "auto") -> float:
    """Return the loss of the output of a converted network that loses most, in percentage points."""
    return max(100 * (s["float"] - s[way]) for s in row["scores"])


def is_exact(row: Row) -> bool:
    """Return whether all samples gave LiteRT's bytes on the board."""
    samples = (row["bench"]["result"] or {}).get("samples")
    return samples is not None and samples["bit_exact"] == samples["count"] > 0


def summary(rows: Sequence[Row]) -> str:
    """Return sentences with the number of converted networks, their losses, and the number of bit-exact images."""
    converted = [r for r in rows if refusal_of(r) is None]
    refusals = [refusal for r in rows if (refusal := refusal_of(r)) is not None]
    text = f"{len(converted)} of {len(rows)} networks were converted"
    if refusals:
        text += (
            f"; {len(refusals)} were refused, the slowest after {max(r['seconds'] for r in refusals):.1f} s"
        )
    if not converted:
        return text + "."
    exact = sum(is_exact(r) for r in converted)
    losses = {way: [points_lost(r, way) for r in converted] for way in ("int8", "auto")}
    return (
        f"{text}. Plain int8 loses {median(losses['int8']):+.2f} points at the median and {max(losses['int8']):+.2f} "
        f"at worst, `--auto` {median(losses['auto']):+.2f} and {max(losses['auto']):+.2f}. {exact} of {len(converted)} "
        "images are bit-exact."
    )


def _cells(r: Row) -> list[str]:
    name = f"{r['number'] + 1} {'Keras' if r['framework'] == 'keras' else 'PyTorch'}: {r['kind']}"
    refusal = refusal_of(r)
    if refusal is not None:
        sentence = refusal["refusal"].replace("\n", " ").replace("|", "/")
        return [
            name,
            ", ".join(r["activations"]),
            f"refused after {refusal['seconds']:.1f} s: {sentence}",
            *["–"] * 6,
        ]
    operators = ", ".join(sorted(set(r["operators"]) - _COMMON))
    scores = [" / ".join(f"{100 * s[way]:.1f}" for s in r["scores"]) for way in ("float", "int8", "auto")]
    samples = (r["bench"]["result"] or {}).get("samples")
    exact = "no" if samples is None else f"{samples['bit_exact']}/{samples['count']}"
    lost = f"{points_lost(r):+.1f}"
    return [name, ", ".join(r["activations"]), operators, *scores, lost, _recipe(r), exact]


def _recipe(r: Row) -> str:
    """Return the label of the recipe that ``--auto`` chose. The label "int8" does not say how int8 was improved, so the
    improvements are added."""
    calibration = r["auto"]["result"]["calibration"]
    auto = calibration["auto"]
    label, recipe = auto["tried"][auto["chosen"]]["label"], calibration["recipe"]
    if label != "int8":
        return str(label)
    improvements = {
        recipe["rounding"]: recipe["rounding"] != "nearest",
        "biases corrected": recipe["bias_correction"],
        "balanced values": recipe.get("balance", False),
        "other ranges": bool(recipe.get("ranges")),
        recipe["calibrator"]: recipe["calibrator"] != "minmax",
    }
    return ", ".join([label, *(text for text, used in improvements.items() if used)])
