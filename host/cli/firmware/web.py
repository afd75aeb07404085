"""``arenite web``: write models as a JavaScript package with WebAssembly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from arenite.errors import UsageError
from arenite.firmware.boards.cores import OPTIMISE_MODES
from arenite.host.cli.firmware.named_models import load_named
from arenite.host.cli.firmware.web_updates import page_updates, update_options
from arenite.host.cli.options import no_passes_option, output_folder_option, stream_option
from arenite.host.cli.page_serving import served_page
from arenite.host.http_server.addresses import parse_address
from arenite.host.interface.model import Model
from arenite.host.interface.web import web as write_web
from arenite.host.report.console import note, print_json, show, table
from arenite.host.web.package import WebPackage
from arenite.host.web.page_package import DEFAULT_SIZE, SOURCES
from arenite.host.web.serving.serve_page import ServingOptions


@click.command()
@click.argument("images", nargs=-1, required=True, metavar="[NAME=]IMAGE...")
@output_folder_option("the package")
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
@click.option(
    "--serve",
    is_flag=False,
    flag_value="127.0.0.1:0",
    metavar="[HOST:PORT]",
    help=(
        "Serve the page at HOST:PORT until Ctrl-C, and print its address with an access token. Without HOST:PORT, the "
        "page is on a free port and only this computer can open it. Other addresses use TLS (https), and their QR "
        "code is printed for phones. Your own token can be in the environment variable ARENITE_TOKEN."
    ),
)
@click.option(
    "--collect",
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help=(
        "With --serve: store the samples that users of the page save, after they agreed, in this folder. It is a data "
        "set for --calibration and --check-data of `arenite convert`."
    ),
)
@click.option(
    "--tls-cert",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=(
        "PEM file with a certificate for --serve. Default: a certificate that Arenite makes and signs with a "
        "certificate authority that it creates once for this computer (docs/web.md); no TLS if only this computer can "
        "open the page."
    ),
)
@click.option(
    "--tls-key",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="PEM file with the private key of --tls-cert. Default: the key is in the file of --tls-cert.",
)
@update_options
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
    serve: str | None,
    collect: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    no_passes: bool,
    stream_input: bool,
    as_json: bool,
    **updates: Any,
) -> int:
    """Write a JavaScript package that runs models in a page, a worker, Node.js or Deno.

    The package is an ES module: model.js, its TypeScript declarations, package.json, and the models as WebAssembly. It
    needs no other package, no server and no network.

    An IMAGE is a quantized .tflite file, such as one that `arenite convert` wrote. NAME becomes the name of the model
    in JavaScript. Default: the name of the file.
    """
    options = _serving_options(page, serve, collect, tls_cert, tls_key)
    taken_updates = page_updates(page, **updates)
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
        page_collects=collect is not None,
        page_updates=taken_updates,
    )
    if options is None:
        _print(package, models, as_json)
        return 0
    with served_page(package, options, note if as_json else show) as url:
        _print(package, models, as_json, url)
    return 0


def _serving_options(
    page: str | None, serve: str | None, collect: Path | None, tls_cert: Path | None, tls_key: Path | None
) -> ServingOptions | None:
    """Return how to serve the page, or None without --serve. Raises ``UsageError`` for options that do not fit."""
    if serve is not None and page is None:
        raise UsageError("--serve serves a page, but no page is written.", "Give --page as well.")
    if serve is None:
        unused_options = [
            name
            for name, value in (("--collect", collect), ("--tls-cert", tls_cert), ("--tls-key", tls_key))
            if value is not None
        ]
        if unused_options:
            raise UsageError(f"{unused_options[0]} is an option of --serve.", "Give --serve as well.")
        return None
    host, port = parse_address(serve)
    return ServingOptions(host, port, collect, tls_cert, tls_key)


def _print(package: WebPackage, models: Mapping[str, Model], as_json: bool, url: str = "") -> None:
    """Print the files of the package, and what to do with it. ``url`` is the address of the page if it is served."""
    if as_json:
        print_json(package.to_json() | ({"url": url} if url else {}))
        return
    output = package.directory
    for loaded in models.values():
        for text in loaded.notes:
            note(text)
    rows = [
        (
            f["name"],
            "relaxed" if f["relaxed_simd"] else "yes" if f["simd"] else "no",
            f"{f['bytes']:,}",
            f"{f['memory_bytes']:,}",
        )
        for f in package.description["files"]
    ]
    show(table(f"{output}", ("module", "SIMD", "file B", "memory B"), rows))
    names = ", ".join(m["name"] for m in package.description["models"])
    if url:
        return
    if package.page is not None:
        show(
            "Next: put the folder on a web server with https. To try it here, add --serve; for a phone, add --serve "
            "0.0.0.0:8443."
        )
    else:
        show(f'Next: import {{ load }} from "./model.js"; const {{ {names} }} = await load();')
