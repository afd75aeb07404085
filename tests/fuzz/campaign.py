"""Run many random graphs in batches. Each batch has a worker process, so a crash of a kernel ends only that process."""

from __future__ import annotations

import multiprocessing
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from arenite.converters.graph.model import Model
from arenite.converters.tflite.writer import to_flatbuffer
from tests.fuzz.cases import ALONE, load_all
from tests.fuzz.comparison import FUZZ_TARGETS, compare
from tests.fuzz.graph_builder import GraphBuilder
from tests.fuzz.shrinking import minimize

T = TypeVar("T")


#: The allowed range of scales. Chains of random operators can have scales that no calibration gives and for which
#: LiteRT's results are undefined. Such graphs are replaced. The reader refuses scales far outside this range.
SCALES = (1e-8, 1e4)


def random_model(seed: int, case: int, ops: list[str], length: int) -> Model:
    """Return the random graph number ``case`` of ``seed``. It has up to ``length`` random operators of ``ops``.

    Equal arguments give equal graphs.
    """
    for attempt in range(100):
        model = _random_model(np.random.default_rng([seed, case, attempt]), case, ops, length)
        scales = [s for t in model.main.tensors if t.quant is not None for s in t.quant.scale]
        if all(SCALES[0] <= s <= SCALES[1] for s in scales):
            return model
    raise AssertionError(f"case {case}: none of 100 random graphs has all scales within {SCALES}")


def _random_model(rng: np.random.Generator, case: int, ops: list[str], length: int) -> Model:
    """Return a random graph with 1 to ``length`` random operators, whose scales may be outside ``SCALES``."""
    cases = load_all()
    b = GraphBuilder(rng)
    # Each operator in turn is the first one of a graph, so that all operators are covered evenly.
    first = ops[case % len(ops)]
    cases[first](b)
    combinable = [op for op in ops if op not in ALONE]
    if first not in ALONE:
        for _ in range(int(rng.integers(0, length)) if combinable else 0):
            cases[str(rng.choice(combinable))](b)
    return b.build()


@dataclass(frozen=True)
class Batch:
    """Graphs ``first`` to ``first + count - 1`` of a seed, which are compiled together. Each graph has up to ``length``
    random operators of ``ops``."""

    seed: int
    first: int
    count: int
    ops: tuple[str, ...]
    length: int
    save: Path  # folder to which reduced graphs with mismatches are saved

    def model(self, number: int) -> Model:
        """Return graph ``number`` of the seed."""
        return random_model(self.seed, number, list(self.ops), self.length)

    def single(self, number: int) -> Batch:
        """Return a batch that contains only graph ``number``."""
        return Batch(self.seed, number, 1, self.ops, self.length, self.save)


@dataclass
class Result:
    """Counts the compared graphs and has the failures of one batch, or of several after ``add``."""

    graphs: int = 0
    operators: Counter[str] = field(default_factory=Counter)  # number of graphs with each operator
    failures: list[str] = field(default_factory=list)  # one paragraph per failure

    def add(self, result: Result) -> None:
        self.graphs += result.graphs
        self.operators.update(result.operators)
        self.failures += result.failures


def run_batch(batch: Batch) -> Result:
    """Build and compare the graphs of the batch, and reduce and save each graph whose outputs differ from LiteRT's.

    Several mismatches of one graph are one failure in the result.
    """
    numbers = range(batch.first, batch.first + batch.count)
    models = [batch.model(number) for number in numbers]
    result = Result(batch.count)
    # ``mismatch.case`` is the position of the graph in ``models``.
    for model in models:
        result.operators.update({op.name for op in model.main.ops})
    reported = set()
    target = FUZZ_TARGETS[batch.first // max(len(models), 1) % len(FUZZ_TARGETS)]
    for mismatch in compare(models, seed=batch.seed + batch.first, runs=2, keep=False, targets=[target]):
        if mismatch.case not in reported:
            reported.add(mismatch.case)
            number = batch.first + mismatch.case
            small = minimize(models[mismatch.case], target)
            path = save_graph(batch, number, small)
            shape = [op.name for op in small.main.ops]
            result.failures.append(
                f"seed {batch.seed} graph {number}: {mismatch}\n  shrunk to {shape}, saved as {path}"
            )
    return result


def save_graph(batch: Batch, number: int, model: Model) -> Path:
    """Write graph ``number`` of the batch to the batch's folder and return the path of the file."""
    batch.save.mkdir(parents=True, exist_ok=True)
    path = batch.save / f"seed{batch.seed}-graph{number}.tflite"
    path.write_bytes(to_flatbuffer(model))
    return path


def describe_failure(batch: Batch, problem: str) -> Result:
    """Save the first graph of the batch, which could not be compared. Return a result that contains ``problem``."""
    path = save_graph(batch, batch.first, batch.model(batch.first))
    return Result(1, failures=[f"seed {batch.seed} graph {batch.first}: {problem}\n  saved as {path}"])


class Worker:
    """Runs batches in one process, and replaces the process if it crashes."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def call(self, function: Callable[[Batch], Result], batch: Batch) -> Result:
        """Return ``function(batch)``, which the process computes. Raises ``BrokenProcessPool`` if the process
        crashes."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context)
        try:
            return self._pool.submit(function, batch).result()
        except BrokenProcessPool:
            self._pool = None
            raise

    def run(self, batch: Batch) -> Result:
        """Run a batch and return its result. If it crashes or cannot be built, run its graphs one by one to find those
        that fail."""
        try:
            return self.call(run_batch, batch)
        except BrokenProcessPool:
            problem = "the process crashed"
        except Exception as error:
            # The worker's own traceback is the cause. Its last lines contain the location.
            problem = "\n".join(
                "".join(traceback.format_exception(error.__cause__ or error)).splitlines()[-6:]
            )
        if batch.count == 1:
            return describe_failure(batch, problem)
        total = Result()
        for number in range(batch.first, batch.first + batch.count):
            total.add(self.run(batch.single(number)))
        return total

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()


def run_all(batches: list[Batch], jobs: int) -> Iterator[Result]:
    """Run the batches on ``jobs`` processes. Yield each result when it is ready."""
    local = threading.local()
    workers: list[Worker] = []

    def run(batch: Batch) -> Result:
        if not hasattr(local, "worker"):
            local.worker = Worker()
            workers.append(local.worker)
        result: Result = local.worker.run(batch)
        return result

    with ThreadPoolExecutor(jobs) as threads:
        try:
            for future in as_completed([threads.submit(run, batch) for batch in batches]):
                yield future.result()
        finally:
            threads.shutdown(cancel_futures=True)
            for worker in workers:
                worker.close()
