"""``web``: write models as an ES module package for pages, workers, Node.js and Deno."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from arenite.errors import UsageError
from arenite.host.interface.model import Model, prepared_model
from arenite.host.web.package import WebPackage, write_package
from arenite.host.web.page_package import DEFAULT_SIZE, page_model
from arenite.host.web.updates.page_updates import PageUpdates


def web(
    models: Mapping[str, Model | str | Path],
    output: str | Path,
    *,
    name: str = "",
    version: str = "0.0.0",
    optimise: str = "balanced",
    simd: bool = True,
    stream_input: bool = False,
    passes: bool = True,
    page: str | None = None,
    page_size: tuple[int, int] = DEFAULT_SIZE,
    page_collects: bool = False,
    page_updates: PageUpdates | None = None,
) -> WebPackage:
    """Write models as an ES module package: ``model.js``, ``model.d.ts``, ``package.json`` and a WebAssembly module.

    Args:
        models: the models by name. The names are those of the models in JavaScript.
        output: the folder for the package.
        name: the name of the package; "": the name of the folder.
        version: the version of the package.
        optimise: the optimization goal: ``speed``, ``balanced``, ``ram`` or ``flash``.
        simd: add a module with SIMD, which browsers that have SIMD load.
        stream_input: the models receive their input row by row.
        passes: apply the graph optimizations.
        page: also write a page that runs the only model on the ``camera``, the ``microphone`` or ``files``.
        page_size: width and height of the pictures that the page gives to the model, in pixels.
        page_collects: users of the page can send samples to the server of the page (`arenite web --collect`).
        page_updates: the signed repository from which the page takes newer versions of its model.

    Raises:
        ModelError, UsageError: a model cannot be loaded, cannot take its input row by row, or the folder has other
            files.
        ToolError: the compiler (extra ``web``) is not installed.
    """
    prepared = {key: prepared_model(model, passes=passes) for key, model in models.items()}
    written_page = None
    if page is not None:
        if len(prepared) != 1 or stream_input:
            raise UsageError(
                "A page runs one model, which takes its input at once.",
                "Give one model, without --stream-input.",
            )
        ((key, only),) = prepared.items()
        prepared[key], written_page = page_model(
            key, only, page, page_size, collects=page_collects, updates=page_updates
        )
    return write_package(
        Path(output),
        prepared,
        name=name,
        version=version,
        optimise=optimise,
        simd=simd,
        stream_input=stream_input,
        page=written_page,
    )
