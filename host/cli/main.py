"""The ``arenite`` command. Each subcommand has its own module, which is imported when the subcommand is used."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
import warnings

import click

from arenite.errors import AreniteError, UsageError
from arenite.host.cli.help_formatter import HelpFormatter
from arenite.printable import printable_lines

#: For each command: the module that defines it (as a click command with the same name), and its help line.
COMMANDS = {
    "convert": (
        "model.convert",
        "Quantize a trained model and write it as an image, a .tflite file with a memory plan.",
    ),
    "inspect": ("model.inspect", "Show a model's operators, tensors and arena."),
    "fit": ("firmware.fit", "Predict the RAM and flash of models, and check whether they fit boards."),
    "pareto": (
        "firmware.pareto",
        "Show RAM, flash and speed of every variant in which a model can be built.",
    ),
    "firmware": ("firmware.firmware", "Generate the C firmware of a model as a PlatformIO project."),
    "library": ("firmware.library", "Write models as C sources for your own program."),
    "app": ("firmware.app", "Write an application: firmware that listens and prints events."),
    "web": ("firmware.web", "Write models as a JavaScript package with WebAssembly."),
    "build": ("firmware.build", "Build a generated project."),
    "flash": ("board.flash", "Upload a built project to its board."),
    "monitor": ("board.monitor", "Print what a device sends on its serial port."),
    "live": ("board.live", "Show what a device senses and finds, in the terminal or on a web page."),
    "record": ("board.record", "Record the samples of a device as a labelled data set."),
    "update": ("update", "Build, sign, verify and send update images, and make keys."),
    "fleet": ("fleet", "Serve a fleet of devices, and roll releases out in waves."),
    "gateway": ("gateway", "Connect devices on serial ports to the broker of a fleet."),
    "reset": ("board.reset", "Reset a board from this computer."),
    "skew": (
        "model.skew",
        "Compare the preprocessing steps in a model file with the libraries used in training.",
    ),
    "tune": ("model.tune", "Choose the thresholds of events on labelled recordings."),
    "camera": ("camera", "Run a model on camera frames within a power, temperature and latency budget."),
    "chat": ("language_model.chat", "Talk with a language model in the terminal."),
    "serve": ("language_model.serve", "Serve a language model to programs of this computer."),
    "bench": ("bench.bench", "Run a model on a board, check its outputs and measure it."),
    "energy": ("energy.energy", "Measure or estimate the energy of one inference on a board."),
    "mlperf": ("mlperf", "Run a model as an MLPerf Tiny benchmark."),
    "duty": (
        "energy.duty",
        "Predict how long events wait, and the average power and battery life of a device that mostly sleeps.",
    ),
    "meter": (
        "energy.meter",
        "List current meters, record the current of a board, or write the firmware of a current logger.",
    ),
    "train": ("model.train", "Train a small network of one of the built-in architectures."),
    "zoo": ("model.zoo", "List and fetch trained models."),
    "boards": ("board.boards", "List the known boards."),
    "demo": ("demo", "Run a zoo model on an emulated or real board and write a report."),
    "doctor": ("doctor", "Check the tools that Arenite uses."),
}

EXIT_BUG = 4


click.Context.formatter_class = HelpFormatter


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"arenite.host.cli.{COMMANDS[cmd_name][0]}")
        value: click.Command | None = getattr(module, cmd_name)
        return value

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="arenite")
def cli() -> None:
    """Convert trained models to C firmware for microcontrollers, and measure them on boards."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code (see docs/cli.md).

    The codes are: 0 for success, 1 if the answer is no (such as a model that does not fit), 2 for a mistake in the
    request, 3 if a device or tool failed, 4 for a bug in Arenite, and 130 for an interruption.
    """
    output = sys.stdout
    try:
        code = cli.main(args=argv, prog_name="arenite", standalone_mode=False)
        sys.stdout.flush()  # an error of the last write is raised here, not when Python ends
        return code if isinstance(code, int) else 0
    except AreniteError as error:
        _print_error(error)
        return error.exit_code
    except click.ClickException as error:
        if isinstance(error, click.UsageError):
            error.show()
        else:
            _print_error(UsageError(error.format_message()))
        return 2
    except (click.Abort, KeyboardInterrupt) as error:
        # Click replaces a KeyboardInterrupt by its own exception. The text of the KeyboardInterrupt may say which
        # results were saved.
        interruption = error.__cause__ if isinstance(error, click.Abort) else error
        print(f"Interrupted. {interruption or ''}".strip(), file=sys.stderr)
        return 130
    except BrokenPipeError:
        return _discard_output()
    except SystemExit as ended:
        # Click and Rich turn a broken pipe into SystemExit. With Click 8.5, a replaced standard output is the only sign
        # of a broken pipe.
        if isinstance(ended.__context__, BrokenPipeError) or sys.stdout is not output:
            return _discard_output()
        raise
    except OSError as error:
        # A full disk or a folder without write permission is a problem that the user can correct.
        file_text = f": {error.filename}" if error.filename else ""
        _print_error(
            UsageError(
                f"{error.strerror or error}{file_text}.", "Check the path, its permissions and the disk."
            )
        )
        return 2
    except Exception:
        print(printable_lines(traceback.format_exc()), end="", file=sys.stderr)
        print("This is a bug in Arenite. Please report it with the lines above.", file=sys.stderr)
        return EXIT_BUG


def _discard_output() -> int:
    """Discard further output and return exit code 0. This is called if the program that reads the output has ended, as
    in `arenite boards | head`, which is not an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _print_error(error: AreniteError) -> None:
    print(f"Error: {error.problem}", file=sys.stderr)
    if error.hint:
        print(f"Try: {error.hint}", file=sys.stderr)


def run() -> None:
    """Run the console script ``arenite``."""
    _open_standard_files()
    if not sys.warnoptions:
        # Packages warn about damaged fields of files with a line of their source code. Options of Python show them.
        warnings.simplefilter("ignore")
    sys.exit(main())


def _open_standard_files() -> None:
    """Open standard files that the shell closed (``>&-``).

    Otherwise, the next file that is opened would get the file descriptor of standard output and receive the printed
    text.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # gets the lowest free file descriptor, which is ``number``
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    run()
