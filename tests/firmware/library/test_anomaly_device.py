"""An anomaly head on an emulated device has the scores, the classes and the state of the NumPy code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.anomaly.plan import plan_anomaly
from arenite.converters.anomaly.reference import ReferenceHead, difference
from arenite.converters.graph.model import Model
from arenite.host.bench.reference import Reference
from tests.firmware.library.libraries import check_warnings, write_library_of
from tests.firmware.library.processing_cases import Case, run, save
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

pytestmark = pytest.mark.slow

COUNT = 120
SIZE = 9

LOOP = """\
    for (uint32_t k = 0; k < {count}; k++) {{
        uint32_t distance = 7;
        read_input({p}model_input_0(), {size});
        __builtin_memcpy(input_copy, {p}model_input_0(), {size});
        {p}model_invoke();
        show_integer({p}anomaly_update({argument}));
        show_integer({p}anomaly_alarm());
        show_integer({p}anomaly_threshold());
{classes}
        {p}anomaly_freeze(k % 50 == 40);
        if (k == 90) {{
            {p}anomaly_reset();
        }}
    }}
    end_line();
    for (uint32_t i = 0; i < {U}ANOMALY_STATE_BYTES; i++) {{
        show_integer(((const uint8_t *)&{p}anomaly)[i]);
    }}
"""
CLASSES = """\
        if (k % 20 < 5) {{
            show_integer({p}anomaly_teach(k % 4));
        }}
        show_integer({p}anomaly_classify(&distance));
        show_integer(distance);
        if (k == 100) {{
            {p}anomaly_forget(1);
        }}
"""


def one_layer() -> Model:
    """Return a model of one layer, whose output has about the scale of the input."""
    b = GraphBuilder(np.random.default_rng(6))
    x = b.input((1, SIZE), "int8", quant(0.05, 4))
    b.op("RELU", [x], [b.tensor((1, SIZE), "int8", quant(0.04, -100))])
    return b.build()


def case(name: str, head: AnomalyHead, folder: Path) -> Case:
    """Return the case of a model with ``head``, and what the NumPy code computes for it."""
    prepared = save(one_layer(), {"anomaly": head.to_json()}, folder / f"{name}.tflite")
    random = np.random.default_rng(5)
    samples = np.clip(np.rint(random.normal(30, 9, (COUNT, 1, SIZE))), -128, 127).astype(np.int8)
    samples[70:75] = 127
    graph = prepared.model.main
    plan = plan_anomaly(head, *([graph.tensors[i] for i in side] for side in (graph.inputs, graph.outputs)))
    reference, run_model = ReferenceHead(plan), Reference(prepared.reference)
    numbers: list[int] = []
    for k, sample in enumerate(samples):
        embedding = run_model.run([sample])[0]
        if plan.units is not None:
            embedding = difference(plan.units, sample, embedding)
        judgement = reference.update(embedding)
        numbers += [judgement.score, int(judgement.alarm), reference.threshold()]
        if head.classes:
            if k % 20 < 5:
                numbers.append(reference.teach(k % 4, embedding))
            nearest = reference.classify(embedding)
            numbers += [nearest.index, nearest.distance]
            if k == 100:
                reference.forget(1)
        reference.freeze(k % 50 == 40)
        if k == 90:
            reference.reset()
    assert 1 in numbers[1::3] or head.classes, "there is no alarm"
    fields: dict[str, Any] = {"p": f"{name}_", "U": f"{name.upper()}_", "count": COUNT, "size": SIZE}
    program = LOOP.format(
        **fields,
        argument="" if head.input is None else "input_copy",
        classes=CLASSES.format(**fields) if head.classes else "",
    )
    lines = [numbers, list(reference.state.tobytes())]
    return Case(prepared, samples.tobytes(), lines, program)


def cases(folder: Path) -> dict[str, Case]:
    short: dict[str, Any] = {"warmup": 20, "memory": 32}
    return {
        "embedding": case("embedding", AnomalyHead(classes=3, max_distance=900, **short), folder),
        "autoencoder": case("autoencoder", AnomalyHead(input=0, **short), folder),
        "directions": case("directions", AnomalyHead(rank=3, learn="all", **short), folder),
    }


@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps3_an547"])
def test_device_and_host_learn_the_same(board: str, tmp_path: Path) -> None:
    both = cases(tmp_path)
    lines = run(both, board, tmp_path)
    for k, (name, one) in enumerate(both.items()):
        assert lines[2 * k : 2 * k + 2] == one.lines, name


def test_the_sources_pass_the_strictest_warnings(tmp_path: Path) -> None:
    library = write_library_of(
        tmp_path / "library", {name: one.prepared for name, one in cases(tmp_path).items()}
    )
    sources = list((library / "src").glob("*_processing.c"))
    sources += [
        library / "src/arenite" / f"{name}.c"
        for name in ("anomaly", "low_rank", "prototypes", "state_store", "flash_nrf")
    ]
    check_warnings(sources, tmp_path)
