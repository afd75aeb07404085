"""The generator of random networks covers every kind of network and every activation, and the table shows the loss or
the refusal of each network."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from arenite.host.report.generated_tables import DOCS, replace_section
from benchmarks.random_networks.activations import ACTIVATIONS
from benchmarks.random_networks.architectures import KINDS, draw_networks
from benchmarks.random_networks.tables import networks_table, summary
from benchmarks.random_networks.tasks import CLASSES, make_task

NETWORKS = draw_networks(40, 14)  # 40 networks of seed 14


@pytest.mark.parametrize("framework", ACTIVATIONS)
def test_forty_networks_have_every_kind_and_every_activation(framework: str) -> None:
    networks = [n for n in NETWORKS if n.framework == framework]
    assert Counter(n.kind for n in networks) == Counter(KINDS)
    blocks = [block for n in networks for part in (*n.trunks, n.head) for block in part]
    assert {block["activation"] for block in blocks if "activation" in block} == set(ACTIVATIONS[framework])


def test_a_seed_determines_the_networks() -> None:
    assert draw_networks(40, 14) == NETWORKS
    assert draw_networks(40, 15) != NETWORKS
    assert draw_networks(10, 14) == NETWORKS[:10]


@pytest.mark.parametrize("task", sorted({n.task for n in NETWORKS}))
def test_a_seed_determines_the_samples(task: str) -> None:
    data, again, other = (make_task(task, 300, seed) for seed in (1, 1, 2))
    for x, same, different in zip(data.x, again.x, other.x, strict=True):
        assert len(x) == 300 and np.array_equal(x, same) and not np.array_equal(x, different)
    if data.y[0].dtype.kind == "i":
        assert set(np.unique(data.y[0])) == set(range(3 if task == "masks" else CLASSES))


def row(float_score: float, int8: float, auto: float, exact: int) -> dict:
    """Return the row of a converted network with one output, 10 samples of which ran on the board."""
    recipe = {"rounding": "gptq", "bias_correction": True, "calibrator": "minmax"}
    auto_result = {"calibration": {"recipe": recipe, "auto": {"chosen": 0, "tried": [{"label": "int8"}]}}}
    return {
        **NETWORKS[0].to_json(),
        "int8": {"seconds": 3.0, "refusal": None},
        "auto": {"seconds": 5.0, "refusal": None, "result": auto_result},
        "scores": [{"metric": "accuracy", "float": float_score, "int8": int8, "auto": auto}],
        "operators": {"CONV_2D": 2, "MUL": 1, "RESHAPE": 4},
        "bench": {"result": {"samples": {"count": 10, "bit_exact": exact}}},
    }


def test_the_table_and_the_summary_have_losses_and_refusals() -> None:
    refused = {
        **NETWORKS[1].to_json(),
        "auto": {
            "seconds": 2.5,
            "refusal": "Error: no kernel for 'a|b'.\nTry: another layer.",
            "result": None,
        },
    }
    rows = [row(0.9, 0.88, 0.895, 10), row(0.8, 0.8, 0.79, 9), refused]
    lines = networks_table(rows).splitlines()
    assert "| CONV_2D, MUL | 90.0 | 88.0 | 89.5 | +0.5 | int8, gptq, biases corrected | 10/10 |" in lines[2]
    assert "refused after 2.5 s: Error: no kernel for 'a/b'. Try: another layer." in lines[4]
    text = summary(rows)
    assert "2 of 3 networks were converted; 1 were refused, the slowest after 2.5 s" in text
    assert "Plain int8 loses +1.00 points at the median and +2.00 at worst, `--auto` +0.75 and +1.00." in text
    assert "1 of 2 images are bit-exact" in text


def test_the_page_has_the_table() -> None:
    page = (DOCS / "conversions.md").read_text("utf-8")
    for name in ("random networks summary", "random networks"):
        assert f"<!-- generated: {name} -->" in replace_section(page, name, "x")
