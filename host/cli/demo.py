"""``arenite demo``: run every step from a model to a measured board once, with a real network and real labeled
inputs."""

from __future__ import annotations

from pathlib import Path

import click

from arenite.files import write_atomic
from arenite.firmware.generator.target import Target
from arenite.host.bench.run import BenchConfig
from arenite.host.bench.run import bench as run_bench
from arenite.host.bench.samples import load_samples
from arenite.host.build.fit import verdicts
from arenite.host.build.options import BuildOptions
from arenite.host.build.pareto import builds, describe
from arenite.host.build.prepare import prepare
from arenite.host.cli.bench.tables import show_bench
from arenite.host.cli.firmware.fit import show_fits
from arenite.host.cli.options import optimise_option
from arenite.host.cli.progress import Stages, Steps
from arenite.host.report.arena_svg import arena_svg
from arenite.host.report.bench_page import bench_page
from arenite.host.report.console import note, show
from arenite.host.report.pareto_svg import pareto_svg
from arenite.models import zoo
from arenite.models.samples import DEMO_MODEL, save_samples
from arenite.processes import temporary_folder
from arenite.profiles.boards import all_boards, load_board

#: The boards in the printed table of boards: three emulated boards, and one board of each common family of real boards.
TABLE_BOARDS = (
    "qemu_mps2_an386",
    "qemu_netduinoplus2",
    "qemu_microbit",
    "nucleo_l4r5zi",
    "nucleo_f446re",
    "nucleo_h743zi",
    "nucleo_u575zi_q",
    "bluepill_f103c8",
    "nano33ble",
    "pico",
    "rpipico2",
    "teensy41",
    "esp32dev",
    "esp32-s3-devkitc-1",
    "esp32-c3-devkitm-1",
    "bbcmicrobit_v2",
)


@click.command()
@click.option(
    "--board",
    default="qemu_mps2_an386",
    show_default=True,
    metavar="NAME",
    help="Name of a board; `arenite boards` lists the names.",
)
@click.option(
    "--port",
    metavar="PORT",
    help=(
        "Serial port of a real board: a path such as /dev/ttyACM0, or auto to find it by its USB id. Required "
        "for a real board."
    ),
)
@click.option(
    "--report",
    type=click.Path(path_type=Path),
    default=Path("out/demo.html"),
    show_default=True,
    metavar="FILE",
    help="HTML file to write.",
)
@click.option(
    "--web",
    is_flag=False,
    flag_value="127.0.0.1:0",
    metavar="[HOST:PORT]",
    help=(
        "In place of a board: serve a web page that finds faces in the pictures of the camera of this computer or, "
        "with an address that other devices reach such as 0.0.0.0:8443, of a phone. The other options then have no "
        "effect."
    ),
)
@optimise_option
def demo(board: str, port: str | None, report: Path, web: str | None, optimise: str | None) -> int:
    """Run the zoo model image_classification on an emulated or real board, and write an HTML report.

    The command checks which boards the model fits, builds and starts its firmware, sends labeled pictures over the
    serial port, and compares every byte of the outputs with the outputs of LiteRT's reference kernels.
    """
    if web is not None:
        return _demo_page(web)
    profile = load_board(board)
    note(f"Model: {DEMO_MODEL} from the zoo ({zoo.zoo_entry(DEMO_MODEL).source})")
    prepared = prepare(zoo.fetch(DEMO_MODEL))
    fits = verdicts(prepared, all_boards(), BuildOptions(optimise))
    tensors = [prepared.model.main.tensors[i] for i in prepared.model.main.inputs]
    with temporary_folder() as folder:
        samples = load_samples(save_samples(DEMO_MODEL, Path(folder) / "samples.npz"), tensors)
    note(f"Inputs: {len(samples)} labeled pictures; board: {profile.name}")
    with Steps(profile.name) as steps:
        result = run_bench(
            prepared, profile, samples, BenchConfig(BuildOptions(optimise), port=port), steps
        ).to_json()
    fitting_build = prepared.retarget(Target.for_core(profile.core, result["optimise"]))
    drawing = arena_svg(fitting_build.model.main, fitting_build.plan, fitting_build.needs)
    described = describe(prepared.path, profile, builds(prepared.path, profile))
    picture = pareto_svg(described["builds"], described["limits"])
    entries = [v.to_json() for v in fits]
    write_atomic(report, bench_page(result, entries, drawing, prepared.notes, described["builds"], picture))
    show_fits(prepared, [v for v in fits if v.board.name in TABLE_BOARDS])
    show_bench(result)
    show(f"Report: {report}")
    return 0 if result["samples"]["bit_exact"] == result["samples"]["count"] else 1


def _demo_page(address: str) -> int:
    """Serve a page with the face detector of the zoo until Ctrl-C."""
    from arenite.host.cli.page_serving import served_page
    from arenite.host.http_server.addresses import parse_address
    from arenite.host.interface.web import web
    from arenite.host.web.face_demo import face_detector
    from arenite.host.web.serving.serve_page import ServingOptions

    host, port = parse_address(address)
    note("Model: the face detector of the zoo (BlazeFace, short range), converted to int8")
    with Stages() as stages:
        image = face_detector(stages)
    package = web({"face": image}, Path("out/web-demo"), page="camera")
    with served_page(package, ServingOptions(host, port)):
        show(f"The page is also in {package.directory}, for any web server with https.")
    return 0
