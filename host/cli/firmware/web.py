"""``arenite web``: write models as a JavaScript package with WebAssembly."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.host.cli.firmware.named_models import load_named
from arenite.host.cli.options import no_passes_option, stream_option
from arenite.host.interface.web import web as write_web
from arenite.host.report.console import note, print_json, show, table
from arenite.host.web.page_package import DEFAULT_SIZE, SOURCES


@click.command()
@click.argument("images", nargs=-1, required=True, metavar="[NAME=]IMAGE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIRECTORY",
    help="Folder to write the package to.",
)
@click.option(
    "--name", default="", metavar="NAME", help="Name in package.json. Default: the name of the folder."
)
@click.option(
    "--package-version",
    "version",
    default="0.0.0",
    show_default=True,
    metavar="VERSION",
    help="Version in package.json.",
)
@click.option(
    "--simd/--no-simd",
    default=True,
    show_default=True,
    help="Add a module with SIMD. Browsers that lack SIMD load the module without it.",
)
@click.option(
    "--optimise",
    type=click.Choice(OPTIMISE_MODES),
    default="balanced",
    show_default=True,
    help="What to optimize the modules for (docs/firmware.md).",
)
@click.option(
    "--page",
    type=click.Choice(SOURCES),
    help="Also write a web page that runs the model on the camera, the microphone, or files that the user drops.",
)
@click.option(
    "--width",
    type=click.IntRange(16, 4096),
    default=DEFAULT_SIZE[0],
    show_default=True,
    help="Width of the pictures that the page gives to the model's preprocessing.",
)
@click.option(
    "--height",
    type=click.IntRange(16, 4096),
    default=DEFAULT_SIZE[1],
    show_default=True,
    help="Height of the pictures that the page gives to the model's preprocessing.",
)
@no_passes_option
@stream_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object to standard output.")
def web(
    images: tuple[str, ...],
    output: Path,
    name: str,
    version: str,
    simd: bool,
    optimise: str,
    page: str | None,
    width: int,
    height: int,
    no_passes: bool,
    stream_input: bool,
    as_json: bool,
) -> int:
    """Write a JavaScript package that runs models in a page, a worker, Node.js or Deno.

    The package is an ES module: model.js, its TypeScript declarations, package.json, and the models as WebAssembly. It
    needs no other package, no server and no network.

    An IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote. NAME becomes the name of the model
    in JavaScript. Default: the name of the file.
    """
    models = load_named(images, passes=not no_passes)
    package = write_web(
        models,
        output,
        name=name,
        version=version,
        optimise=optimise,
        simd=simd,
        stream_input=stream_input,
        page=page,
        page_size=(width, height),
    )
    if as_json:
        print_json(package.to_json())
        return 0
    for loaded in models.values():
        for text in loaded.notes:
            note(text)
    rows = [
        (f["name"], "yes" if f["simd"] else "no", f"{f['bytes']:,}", f"{f['memory_bytes']:,}")
        for f in package.description["files"]
    ]
    show(table(f"{output}", ("module", "SIMD", "file B", "memory B"), rows))
    names = ", ".join(m["name"] for m in package.description["models"])
    if page is not None:
        show(f"Next: put the folder on a web server. Try it: python3 -m http.server --directory {output}")
        return 0
    show(f'Next: import {{ load }} from "./model.js"; const {{ {names} }} = await load();')
    return 0
