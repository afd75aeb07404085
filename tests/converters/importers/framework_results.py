"""Convert all test models of one framework once, in one process, and share the results with all test workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arenite.converters.importers.environments import environment
from arenite.converters.importers.framework_process import FrameworkProcess
from arenite.converters.importers.imported_model import ImportedModel
from arenite.converters.importers.litert_runs import run_litert
from arenite.converters.importers.outline.read_outline import read_outline
from arenite.converters.importers.outline.refused_layers import check_layers
from arenite.converters.importers.source_kinds import source_kind
from arenite.converters.importers.subprocesses.input_shapes import fixed_input_shapes
from arenite.converters.tflite.reader import parse
from arenite.errors import AreniteError
from arenite.locks import file_lock

MAKERS = Path(__file__).parent / "makers"

#: A job is one import of a source model with some options. Results map its name to what the importer returned or
#: raised.
Results = dict[str, ImportedModel | AreniteError]


class FrameworkResults:
    """Holds the folder of the source models, and maps each job's name to what the importer returned or raised."""

    def __init__(self, folder: Path, results: Results) -> None:
        self.folder, self.results = folder, results

    def imported(self, name: str) -> ImportedModel:
        """Return the imported model of job ``name``, which must have no error."""
        result = self.results[name]
        assert isinstance(result, ImportedModel), result
        return result

    def refused(self, name: str, error_type: type[AreniteError], *texts: str) -> None:
        """Check that job ``name`` raised an error of this type, with a hint, whose text contains ``texts``."""
        result = self.results[name]
        assert isinstance(result, AreniteError) and type(result) is error_type, result
        assert result.hint
        for text in texts:
            assert text in str(result)

    def check_outlines(self) -> int:
        """Compare the outline of each imported source with the imported model. Return the number of compared sources.

        An outline is the inputs, outputs and layers of a source, read without its framework. Its layers must pass the
        check for layers that Arenite refuses, and its inputs must have the shapes of the imported model.
        """
        checked = 0
        for name, result in self.results.items():
            path = str(self.folder / name)
            if not isinstance(result, ImportedModel) or not (self.folder / name).exists():
                continue  # the job raised an error, or is a second job of the same source with other options
            kind = source_kind(path)
            outline = read_outline(path, kind)
            assert outline is not None, name
            check_layers(kind, outline)
            inputs = [(i.name, i.shape) for i in outline.inputs or ()]
            # If a size is unknown, the job's options gave it.
            if not any(None in (shape or (None,))[1:] for _, shape in inputs):
                graph = parse(result.flatbuffer).main
                shapes = [graph.tensors[i].shape for i in graph.inputs]
                sources = fixed_input_shapes({}, inputs) if inputs else shapes
                known = outline.channels_first if inputs else (False,) * len(shapes)
                for shape, source, first in zip(shapes, sources, known, strict=True):
                    nhwc = (source[0], *source[2:], source[1]) if len(source) == 4 else source
                    assert shape in {True: (nhwc,), False: (source,), None: (nhwc, source)}[first], name
            checked += 1
        return checked

    def largest_difference(
        self, name: str, expected: str, permutation: tuple[int, ...] | None = None
    ) -> float:
        """Return the largest difference between the flatbuffer's outputs and the framework's recorded outputs.

        ``name`` is the job, ``expected`` the file name of the recorded arrays without ``.npz``. ``permutation`` is the
        order of axes that brings the recorded inputs into the flatbuffer's layout.
        """
        with np.load(self.folder / f"{expected}.npz") as file:
            x = [file[k] for k in sorted(file.files) if k.startswith("x")]
            y = [file[k] for k in sorted(file.files) if k.startswith("y")]
        x = [v if permutation is None else np.transpose(v, permutation) for v in x]
        samples = [[v[k : k + 1] for v in x] for k in range(len(x[0]))]
        rows = list(run_litert(self.imported(name).flatbuffer, samples, real=True))
        return max(
            float(np.abs(np.concatenate([r[i] for r in rows]) - expected).max())
            for i, expected in enumerate(y)
        )


def compute_results(
    name: str,
    factory: pytest.TempPathFactory,
    jobs: Callable[[FrameworkProcess, Path], dict[str, Callable[[], ImportedModel]]],
) -> FrameworkResults:
    """Create the source models of environment ``name``, then run each job. Only the first test worker runs
    the jobs; the other workers read its results. ``jobs`` returns a function for each job, by the name of the job."""
    shared = (
        factory.getbasetemp().parent
        if factory.getbasetemp().name.startswith("popen-")
        else factory.getbasetemp()
    )
    folder, store = shared / f"models-{name}", shared / f"results-{name}.pickle"
    with file_lock(shared / f"{name}.lock"):
        if not store.exists():
            folder.mkdir()
            environment(name).run(MAKERS / f"make_{name}.py", str(folder), timeout=900)
            results: dict[str, Any] = {}
            with FrameworkProcess(name, progress=False) as framework:
                for job, run in jobs(framework, folder).items():
                    try:
                        results[job] = run()
                    except AreniteError as error:
                        results[job] = error
            store.write_bytes(pickle.dumps(results))
    return FrameworkResults(folder, pickle.loads(store.read_bytes()))
