"""Count the instructions of learning a window, for anomaly heads of several sizes, ranks and numbers of classes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

import numpy as np

from arenite.converters.anomaly.head import AnomalyHead
from arenite.converters.tflite.image import image_bytes
from arenite.files import write_atomic
from arenite.firmware.sizes.learning_work import learning_work, save_work
from arenite.host.app.emulated_run import run_emulated
from arenite.host.app.flash_memory import flash_contents
from arenite.host.app.generate import generate_app
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.flash.build import direct_build
from arenite.profiles.board import Board
from benchmarks.app_instructions.sample_settings import audio
from tests.fuzz.graph_builder import GraphBuilder, f32
from tests.host.small_graphs import quant

#: Rank, classes, and whether the model is an autoencoder, with the sizes of embeddings that are measured.
_HEADS: tuple[tuple[int, int, bool, tuple[int, ...]], ...] = (
    (0, 0, False, (8, 24, 64, 200)),
    (0, 0, True, (40, 160, 400)),
    (0, 3, False, (16, 100)),
    (0, 12, False, (32, 80)),
    (1, 0, False, (20, 120)),
    (2, 0, True, (80, 160)),
    (4, 0, False, (32, 96)),
    (6, 4, False, (48, 64)),
    (9, 0, False, (40,)),
)
_BINS = 8
_PROGRAM = Path(__file__).parent / "learning.c"
_LINE = re.compile(r"([SUV])(\d+)")
#: Instructions per tick of the board's timer; calls that are measured at once; and the instructions of a turn of the
#: loop around them, counted in the disassembly.
_PER_TICK, _SERVES, _TURN = 5 / 8, 64, 2


def _model(path: Path, size: int, head: AnomalyHead) -> Prepared:
    """Write a model whose output has ``size`` values, as many as the input of an autoencoder has."""
    record, inputs = audio(rows=size // _BINS if head.input is not None else 6, bins=_BINS)
    b = GraphBuilder(np.random.default_rng(6))
    x = b.input((1, inputs), "int8", quant(0.15, 0))
    weights = b.const(b.rng.integers(-40, 40, (size, inputs)), "int8", quant(0.01))
    bias = b.const([0] * size, "int32", quant(f32(0.15) * f32(0.01)))
    y = b.tensor((1, size), "int8", quant(0.14, 0))
    b.op("FULLY_CONNECTED", [x, weights, bias], [y], "FullyConnectedOptions", 4)
    extra = {"preprocessing": record, "anomaly": head.to_json()}
    write_atomic(path, image_bytes(b.build(), None, extra=extra))
    return prepare(path)


def measure_learning(board: Board, folder: Path) -> list[tuple[Mapping[str, float], float]]:
    """Return (work, instructions) of learning a window, the mean of several windows after the warm-up; of the longest
    save of the state; and of asking in a turn of the loop whether it must be saved."""
    rows: list[tuple[Mapping[str, float], float]] = []
    served = []
    for rank, classes, is_autoencoder, sizes in _HEADS:
        for size in sizes:
            place = folder / f"head-{rank}-{classes}-{size}"
            place.mkdir(parents=True)
            source = 0 if is_autoencoder else None
            head = AnomalyHead(
                input=source, warmup=64, memory=256, rank=rank, classes=classes, hop=480, learn="all"
            )
            application = generate_app(_model(place / "learner.tflite", size, head), board, place / "app")
            assert application.learning is not None
            text = _PROGRAM.read_text().replace("@p_", "learner_").replace("@SIZE", str(size))
            text = text.replace("@KEEPS", str(int(is_autoencoder))).replace(
                "@MEAN", str(int(not is_autoencoder))
            )
            (application.directory / "src/main.c").write_text(text)
            counts: dict[str, list[float]] = {"S": [], "U": [], "V": []}
            elf, flash = (
                direct_build(application.directory),
                bytearray(flash_contents(None, application.learning)),
            )
            for line in run_emulated(elf, board, np.zeros(16, np.int16), flash=flash):
                if line == "learning end":
                    break
                if match := _LINE.fullmatch(line):
                    counts[match[1]].append(int(match[2]) * _PER_TICK)
            plan = application.learning.plan
            rows += [(learning_work(plan), mean(counts["U"])), (save_work(plan), max(counts["S"]))]
            served += counts["V"]
    return [*rows, ({"serve": 1.0}, mean(served) / _SERVES - _TURN)]
