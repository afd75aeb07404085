"""The decision and the gate of a generated library give the events of the NumPy code on an emulated device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.decision.plan import plan_decision, plan_gate
from arenite.converters.decision.record import Decision, Gate
from arenite.converters.decision.reference import EventKind, SampleGate, decide_all
from arenite.host.bench.reference import Reference
from arenite.host.build.attachments import Attachments
from tests.firmware.library.libraries import check_warnings, write_library_of
from tests.firmware.library.processing_cases import Case, elementwise_model, numbers_of, run, save

pytestmark = pytest.mark.slow

HOPS, CLASSES, BLOCK = 120, 4, 16
LABELS = ("silence", "yes", "no", "stop")
GATE = {"threshold": 300, "release": 200, "unit": "counts", "block": BLOCK, "hang_blocks": 2}
DECISIONS: dict[str, dict[str, Any]] = {
    "mean": {"smooth": "mean", "hops": 3, "release": 1.6, "refractory_hops": 4, "hop": BLOCK},
    "exponential": {"smooth": "exponential", "factor": 0.3, "minimum": 2, "release": 1.0},
    "several": {"exclusive": False, "minimum": 2, "classes": [{"name": "no", "threshold": 3.5}]},
}
#: Receives the blocks and the inputs of all hops, and prints whether the gate is open and the events of each hop.
PROGRAM = """\
    {{
        static int16_t blocks[{hops}][{U}GATE_VALUES];
        ar_event events[{U}EVENTS];
        read_input(blocks, sizeof(blocks));
        read_input(source, {hops} * {U}MODEL_INPUT_0_BYTES);
        for (uint32_t hop = 0; hop < {hops}; hop++) {{
            const uint64_t at = 5000000000u + hop * {U}GATE_VALUES;
            uint32_t count;
            if ({p}gate(blocks[hop])) {{
                __builtin_memcpy({p}model_input_0(), source + hop * {U}MODEL_INPUT_0_BYTES, {U}MODEL_INPUT_0_BYTES);
                {p}model_invoke();
                count = {p}decide(at, events);
            }} else {{
                count = {p}decide_closed(at, events);
            }}
            show_integer({p}decide_is_active());
            for (uint32_t i = 0; i < count; i++) {{
                show_integer((int64_t)(events[i].at - 5000000000u));
                show_integer(events[i].index), show_integer(events[i].score), show_integer(events[i].kind);
            }}
        }}
    }}
"""


def decision_case(name: str, fields: dict[str, Any], folder: Path) -> Case:
    """Return the case of a decision on random blocks and scores, of which every third block is quiet."""
    model = elementwise_model((1, CLASSES))
    decision = Decision.from_json({"threshold": 2.2, "ignore": ["silence"], **fields})
    attachments = Attachments(labels=LABELS, decision=decision, gate=Gate.from_json(GATE))
    prepared = save(model, attachments.extra(model, {}), folder / f"{name}.tflite")
    random = np.random.default_rng(3)
    blocks = random.integers(-900, 900, (HOPS, BLOCK)).astype(np.int16)
    blocks[np.arange(HOPS) % 12 > 7] //= 16
    waves = 100 * np.sin(np.arange(HOPS)[:, None] * [0.9, 0.35, 0.22, 0.41]) + random.normal(
        0, 15, (HOPS, CLASSES)
    )
    inputs = np.clip(waves, -128, 127).astype(np.int8)
    graph = prepared.model.main
    plan = plan_decision(decision, [graph.tensors[i] for i in graph.outputs], LABELS)
    gate = SampleGate(plan_gate(Gate.from_json(GATE)))
    reference = Reference(prepared.reference)
    scores = np.array([np.asarray(reference.run([row[None]])[0]).reshape(-1) for row in inputs])
    is_open = [gate.measure(block) for block in blocks]
    events = decide_all(plan, scores, range(0, HOPS * BLOCK, BLOCK), is_open)
    assert 20 < sum(is_open) < HOPS and {e.kind for e in events} == set(EventKind) and len(events) > 6
    line: list[int] = []
    active: set[int] = set()
    for hop in range(HOPS):
        now = [e for e in events if e.at == hop * BLOCK]
        for event in now:
            (active.add if event.kind is EventKind.START else active.discard)(event.index)
        line += [int(bool(active))] + [n for e in now for n in (e.at, e.index, e.score, int(e.kind))]
    program = PROGRAM.format(p=f"{name}_", U=f"{name.upper()}_", hops=HOPS)
    return Case(prepared, blocks.tobytes() + inputs.tobytes(), [line], program)


@pytest.mark.qemu
@pytest.mark.parametrize("board", ["qemu_mps2_an385", "qemu_mps3_an547"])
def test_device_and_host_decide_alike(board: str, tmp_path: Path) -> None:
    cases = {name: decision_case(name, fields, tmp_path) for name, fields in DECISIONS.items()}
    lines = run(cases, board, tmp_path)
    for name, case, line in zip(cases, cases.values(), lines, strict=False):
        assert line == case.lines[0], name
    assert len({tuple(numbers_of(np.array(case.lines))) for case in cases.values()}) == len(cases)


def test_the_sources_pass_the_strictest_warnings(tmp_path: Path) -> None:
    models = {name: decision_case(name, fields, tmp_path).prepared for name, fields in DECISIONS.items()}
    library = write_library_of(tmp_path / "library", models)
    sources = [*(library / "src").glob("*_processing.c"), *(library / "src/arenite").glob("[dg]*e*.c")]
    names = {source.name for source in sources}
    assert {"mean_processing.c", "decision.c", "gate.c"} <= names and "decide_many.c" not in names
    check_warnings(sources, tmp_path)
