"""Format the measured rows as the Markdown tables of docs/conversions.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arenite.host.report.generated_tables import markdown_table

Row = Mapping[str, Any]


def sources_table(rows: Sequence[Row]) -> str:
    head = ["source", "file B", "import: largest difference", "source", "image", "points lost", "image B"]
    head += ["weights B", "arena B", "RAM B", "bit-exact", "instructions", "convert s", "bench s"]
    return markdown_table(head, [_source(r) for r in rows], range(1, len(head)))


def _source(r: Row) -> list[str]:
    agreement = r["convert"]["source"]["agreement"]
    difference = "–" if agreement is None else f"{agreement['max_abs']:.2g}"
    size = "–" if r["source_bytes"] is None else f"{r['source_bytes']:,}"
    return [r["name"], size, difference, *_scores(r), *_image(r), *_seconds(r)]


def recipes_table(rows: Sequence[Row]) -> str:
    head = [
        "recipe",
        "source",
        "image",
        "points lost",
        "image B",
        "weights B",
        "arena B",
        "RAM B",
        "bit-exact",
    ]
    head += ["instructions", "convert s", "bench s"]
    return markdown_table(
        head, [[f"`{r['name']}`", *_scores(r), *_image(r), *_seconds(r)] for r in rows], range(1, len(head))
    )


def references_table(rows: Sequence[Row]) -> str:
    head = ["model", "score", "samples", "float", "published int8", "Arenite int8", "points lost"]
    head += ["difference, published", "Arenite", "image B", "weights B", "arena B", "RAM B", "bit-exact"]
    head += ["instructions", "convert s", "bench s"]
    cells = []
    for r in rows:
        score = r["convert"]["score"]
        before, after, lost = _scores(r)
        published = ["–", "–", "–"]
        if (ref := r["reference"]) is not None:
            published = [
                f"{ref['value']:.2%}",
                *(f"{ref['difference'][k]:.3f}" for k in ("elsewhere", "here")),
            ]
        name, samples = score["source"]["metric"], f"{score['source']['samples']:,}"
        cells.append(
            [
                r["name"],
                name,
                samples,
                before,
                published[0],
                after,
                lost,
                *published[1:],
                *_image(r),
                *_seconds(r),
            ]
        )
    return markdown_table(head, cells, range(2, len(head)))


def budget_table(rows: Sequence[Row]) -> str:
    """Return a table of recipe searches: the limits that plain int8 misses, and the chosen recipe.

    The accuracy is for samples that neither calibration nor search used."""
    head = [
        "budget",
        "recipes tried",
        "plain int8",
        "chosen recipe",
        "source",
        "image",
        "points lost",
        "image B",
        "weights B",
    ]
    head += ["arena B", "RAM B", "bit-exact", "instructions", "convert s", "bench s"]
    cells = []
    for r in rows:
        outcome = r["convert"]["calibration"]["search"]
        chosen = outcome["trials"][outcome["chosen"]["trial"]]
        plain = "; ".join(outcome["trials"][0]["misses"]) or "meets it"
        recipe = f"{chosen['label']}, `{outcome['chosen']['build']['options']}`"
        cells.append(
            [r["name"], str(len(outcome["trials"])), plain, recipe, *_scores(r), *_image(r), *_seconds(r)]
        )
    return markdown_table(head, cells, range(4, len(head)))


def _scores(r: Row) -> list[str]:
    s = r["convert"]["score"]
    if s["source"]["metric"] == "mse":
        return [f"{s['source']['value']:.4g}", f"{s['image']['value']:.4g}", f"{s['drop']:+.1%}"]
    return [f"{s['source']['value']:.2%}", f"{s['image']['value']:.2%}", f"{100 * s['drop']:+.2f}"]


def _image(r: Row) -> list[str]:
    bench = r["bench"]
    samples, memory = bench["samples"], bench["memory"]
    return [
        f"{r['convert']['image']['bytes']:,}",
        f"{bench['flash']['weights']:,}",
        f"{memory['arena']:,}",
        f"{memory['ram_total']:,}",
        f"{samples['bit_exact']}/{samples['count']}",
        f"{bench['inference']['instructions']['p50']:,}",
    ]


def _seconds(r: Row) -> list[str]:
    return [f"{r['seconds'][k]:.0f}" for k in ("convert", "bench")]


def training_sentence(trained: Mapping[str, Any], versions: Mapping[str, str]) -> str:
    score = trained["score"]
    frameworks = ", ".join(f"{k} {v}" for k, v in sorted(versions.items()))
    return (
        f"The network: `{trained['command']}`, {trained['parameters']:,} parameters, {score['metric']} "
        f"{score['value']:.2%} on {score['samples']:,} test samples by Keras. Frameworks: {frameworks}."
    )
