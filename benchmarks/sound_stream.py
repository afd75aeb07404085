"""Compare the features of an endless recording with those of whole clips: ``python -m benchmarks.sound_stream``.

Libraries with two front ends run on an emulated Cortex-M4. For each of them, the program prints the instructions per
frame of ``NAME_preprocess`` for whole clips, and those of ``NAME_feed`` per hop of the same sound in chunks of several
sizes. It also prints the memory of both, and whether each window has the bytes of the NumPy code.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from arenite.converters.processing.audio.front_end import plan_sound
from arenite.converters.processing.audio.micro_plan import MicroPlan
from arenite.converters.processing.audio.micro_reference import micro_rows
from arenite.converters.processing.audio.plan import AudioPlan
from arenite.converters.processing.audio.reference import plan_features
from arenite.converters.processing.specification.preprocessing import Preprocessing
from arenite.firmware.boards.cores import core_named
from arenite.firmware.generator.target import Target
from arenite.profiles.board import Board
from arenite.profiles.boards import load_board
from tests.firmware.library.bare_metal import link, run_program
from tests.firmware.library.libraries import write_library_of
from tests.firmware.library.processing_cases import KEYWORD_SOUND, save
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import quant

BOARD = "qemu_mps2_an386"
#: The windows that are compared, and the whole clips whose instructions are counted.
HOPS, CLIPS = 1000, 8
CHUNKS = (16, 160, 512)
SCALE = 0.58
#: The front ends: a keyword spotter with MFCCs, a log-mel spectrogram of powers, and that of micro_speech.
FRONT_ENDS: dict[str, dict[str, Any]] = {
    "mfcc": KEYWORD_SOUND,
    "mel": {
        "source": {"kind": "audio", "rate": 16000, "samples": 15600},
        "steps": [
            {"do": "frame", "length": 400, "step": 160},
            {"do": "window"},
            {"do": "fft", "length": 512, "power": 2},
            {"do": "mel", "bins": 64, "low": 125, "high": 7500},
            {"do": "log", "offset": 1e-3},
        ],
    },
    "micro": {
        "source": {"kind": "audio", "rate": 16000, "samples": 15840},
        "steps": [{"do": "micro"}, {"do": "normalise", "divide": 25.6}],
    },
}

MAIN = """\
#include "m_processing.h"
#include "port.h"
void read_input(void *to, uint32_t bytes);
void show_integer(int64_t value);
void end_line(void);

static int16_t samples[M_SAMPLES];
static uint32_t state, count;

/* Noise whose loudness changes by a factor of two every 2048 samples. */
static int16_t next_sample(void)
{{
    state = state * 1664525u + 1013904223u;
    return (int16_t)((int16_t)(state >> 16) >> (count++ >> 11) % 15u);
}}

static void show_bytes(uint32_t ticks)
{{
    uint32_t hash = 2166136261u;
    for (uint32_t k = 0; k < {bytes}; k++) {{
        hash = (hash ^ (uint8_t)m_model_input_0()[k]) * 16777619u;
    }}
    show_integer(ticks);
    show_integer(hash >> 1);
    end_line();
}}

int main(void)
{{
    read_input(samples, 0);
    for (uint32_t clip = 0; clip < {clips}; clip++) {{
        for (uint32_t k = 0; k < M_SAMPLES; k++) {{
            samples[k] = next_sample();
        }}
        const uint32_t begin = port_ticks();
        m_preprocess(samples, M_SAMPLES);
        show_bytes(port_ticks() - begin);
    }}
    state = count = 0;
    uint32_t ticks = 0;
    for (uint32_t hops = 0; hops < {hops};) {{
        for (uint32_t k = 0; k < {chunk}; k++) {{
            samples[k] = next_sample();
        }}
        for (uint32_t used = 0; used < {chunk} && hops < {hops};) {{
            const uint32_t begin = port_ticks();
            used += m_feed(samples + used, {chunk} - used);
            ticks += port_ticks() - begin;
            if (m_is_ready()) {{
                show_bytes(ticks);
                ticks = 0;
                hops++;
                m_model_invoke(); /* overwrites the input */
            }}
        }}
    }}
    for (;;) {{
    }}
}}
"""


def noise(count: int) -> np.ndarray:
    """Return the first samples of the program's noise."""
    samples = np.empty(count, np.int64)
    state = 0
    for k in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        samples[k] = state >> 16
    return samples.astype(np.uint16).view(np.int16) >> (np.arange(count) >> 11) % 15


def fnv(data: bytes) -> int:
    """Return the upper 31 bits of the hash of the program."""
    value = 2166136261
    for byte in data:
        value = ((value ^ byte) * 16777619) & 0xFFFFFFFF
    return value >> 1


def features(spec: Preprocessing, plan: AudioPlan | MicroPlan, samples: np.ndarray) -> np.ndarray:
    """Return the features of a recording that the NumPy code computes."""
    if isinstance(plan, MicroPlan):
        return micro_rows(spec, plan, samples, np.zeros(plan.features, np.int64))[0]
    return plan_features(spec, plan, samples)


def measure(front: str, chunk: int, hops: int = HOPS) -> dict[str, Any]:
    """Run the program with chunks of ``chunk`` samples, and return the row of the table."""
    board = load_board(BOARD)
    assert board.emulator is not None
    record = FRONT_ENDS[front]
    spec = Preprocessing.from_json(
        record | {"steps": [*record["steps"], {"do": "quantise", "dtype": "int8", "scale": SCALE}]}
    )
    plan = plan_sound(spec)
    with tempfile.TemporaryDirectory(prefix="arenite-") as name:
        folder = Path(name)
        elf = _program(folder, record, plan, board, chunk, hops)
        lines = run_program(board, elf, b"", CLIPS + hops, 900.0)
        memory = _memory(elf, board)
    # `run_program` may end early if the emulator is slow.
    assert len(lines) == CLIPS + hops
    per_tick = board.emulator.ticks_denominator / board.emulator.ticks_numerator
    clip = sum(ticks for ticks, _ in lines[:CLIPS]) * per_tick / CLIPS / plan.frames
    # The first window computes all of its rows.
    each = [ticks * per_tick for ticks, _ in lines[CLIPS + 1 :]]
    samples = noise(max((plan.frames + hops) * plan.step + plan.length, CLIPS * plan.samples))
    long = plan_sound(
        Preprocessing.from_json(
            spec.to_json() | {"source": {"kind": "audio", "rate": 16000, "samples": len(samples)}}
        )
    )
    rows = features(spec, long, samples)
    windows = [rows[k : k + plan.frames] for k in range(hops)]
    clips = [features(spec, plan, samples[k * plan.samples :]) for k in range(CLIPS)]
    exact = [fnv(w.tobytes()) for w in (*clips, *windows)] == [hash for _, hash in lines]
    # The whole clip needs its samples, the stream the rest of a frame and the rows.
    whole = 2 * plan.samples + memory["scratch"]
    stream = memory["held"] + memory["ring"] + memory["stream"] + memory["memory"] + memory["scratch"]
    mean = sum(each) / len(each)
    return {
        "front": front,
        "chunk": chunk,
        "clip": round(clip),
        "hop": round(mean),
        "worst": round(max(each)),
        "ratio": mean / clip,
        "whole_bytes": whole,
        "stream_bytes": stream,
        "hops": hops,
        "exact": exact,
    }


def _program(
    folder: Path, record: dict[str, Any], plan: AudioPlan | MicroPlan, board: Board, chunk: int, hops: int
) -> Path:
    """Write a library of a model that only takes the features, and link the program."""
    b = GraphBuilder(np.random.default_rng(1))
    x = b.input((1, plan.frames, plan.features), "int8", quant(SCALE))
    b.op("RELU", [x], [b.tensor(b[x].shape, "int8", quant(SCALE))])
    prepared = save(b.build(), {"preprocessing": record}, folder / "m.tflite")
    library = write_library_of(folder / "library", {"m": prepared}, Target.for_core(board.core, "speed"))
    text = MAIN.format(clips=CLIPS, hops=hops, chunk=chunk, bytes=plan.frames * plan.features)
    (library / "examples/bare_metal/main.c").write_text(text)
    return link(library, board, folder)


def _memory(elf: Path, board: Board) -> dict[str, int]:
    """Return the bytes of the library's variables by name; 0 for scratch memory in the arena."""
    tool = f"{core_named(board.core).prefix}nm"
    listing = subprocess.run([tool, "-S", str(elf)], check=True, capture_output=True, text=True).stdout
    sizes = {words[3]: int(words[1], 16) for words in map(str.split, listing.splitlines()) if len(words) == 4}
    return {name: sizes.get(f"m_{name}", 0) for name in ("held", "ring", "stream", "memory", "scratch")}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    lines = [
        "| features | chunk | clip: instructions per frame | stream: per hop | worst | ratio | clip RAM | stream RAM |",
        "|-|-:|-:|-:|-:|-:|-:|-:|",
    ]
    lines += [
        f"| {r['front']} | {r['chunk']} | {r['clip']:,} | {r['hop']:,} | {r['worst']:,} | {r['ratio']:.3f} | "
        f"{r['whole_bytes']:,} | {r['stream_bytes']:,} |"
        for r in rows
    ]
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hops", type=int, default=HOPS)
    arguments = parser.parse_args(argv)
    rows = [measure(front, chunk, arguments.hops) for front in FRONT_ENDS for chunk in CHUNKS]
    print(table(rows))
    print(
        f"{sum(r['exact'] for r in rows)} of {len(rows)} runs of {arguments.hops:,} hops are exact in every byte."
    )
    return 0 if all(r["exact"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
