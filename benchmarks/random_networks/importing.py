"""Import the trained networks as float TFLite models, with one process for each framework."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

from arenite.converters.importers.framework_process import FrameworkProcess
from arenite.converters.importers.source_kinds import KERAS, TORCH_EXPORT
from arenite.errors import AreniteError
from arenite.files import write_atomic
from benchmarks.random_networks.architectures import Network
from benchmarks.random_networks.training import source_of

_KINDS = {"keras": ("tensorflow", KERAS), "torch": ("torch", TORCH_EXPORT)}


def float_model_of(network: Network, folder: Path) -> Path:
    """Return the path of the imported model. It does not exist if the importer refused the network."""
    return folder / f"{network.name}.float.tflite"


def import_networks(networks: Sequence[Network], folder: Path, *, again: bool = False) -> None:
    """Import all ``networks`` that are not imported yet, or all of them if ``again`` is true.

    Loading a framework takes longer than most imports. So one process imports all networks of a framework, which is
    what ``arenite convert`` does with a single one. NAME.import.json gets the duration of the import, and the message
    if the network was refused.
    """
    for framework, (environment, kind) in _KINDS.items():
        missing = [
            n
            for n in networks
            if n.framework == framework and (again or not (folder / f"{n.name}.import.json").exists())
        ]
        if not missing:
            continue
        with FrameworkProcess(environment, progress=False) as process:
            for network in missing:
                model, refusal = float_model_of(network, folder), None
                model.unlink(missing_ok=True)
                start = time.monotonic()
                try:
                    imported = process.convert(str(source_of(network, folder)), kind)
                    write_atomic(model, imported.flatbuffer)
                except AreniteError as error:
                    refusal = str(error)
                record = {"seconds": time.monotonic() - start, "refusal": refusal}
                write_atomic(folder / f"{network.name}.import.json", json.dumps(record) + "\n")
                print(f"{network.name}: imported in {record['seconds']:.1f} s {refusal or ''}", flush=True)
