"""Convert PyTorch programs and the models of Python functions to TFLite. This script runs in the environment
"torch"."""

import tempfile
from typing import Any

from protocol import main
from torch_files import checked_copy


def _convert_program(job: Any) -> Any:
    with tempfile.TemporaryDirectory(prefix="arenite-") as folder:
        copy = checked_copy(job.source, folder)
        from from_torch import convert  # PyTorch takes seconds and 300 MB, so it is imported after the check

        return convert(job, copy)


def _convert_factory(job: Any) -> Any:
    from from_torch import convert

    return convert(job)


if __name__ == "__main__":
    main(
        {"torch-export": _convert_program, "torch-factory": _convert_factory},
        ["torch", "litert-torch", "litert-converter"],
    )
