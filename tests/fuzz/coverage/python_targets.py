"""Fuzz targets of Python code that reads bytes of strangers.

Each target function imports what it tests, so that Atheris can instrument it, and returns a function of one input. That
function may only end with the errors that the reader documents, which it catches.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from functools import partial

from tests.fuzz.coverage.file_targets import FILE_TARGETS
from tests.fuzz.coverage.input_file import InputFile
from tests.fuzz.coverage.server_targets import SERVER_TARGETS

Target = Callable[[bytes], None]


def tflite_reader() -> Target:
    """The reader and verifier of .tflite files and images."""
    from arenite.converters.tflite.image import parse_image
    from arenite.errors import ModelError

    def run(data: bytes) -> None:
        with contextlib.suppress(ModelError):
            parse_image(data)

    return run


def model_metadata() -> Target:
    """The headers, metadata and labels of models for the camera. With a first byte z or y, the rest is the text of an
    exporter's metadata in an archive, and with e, the record in an image."""
    from arenite.errors import AreniteError
    from arenite.host.camera.model.camera_model import open_model
    from tests.fuzz.coverage.input_parts import archive, image_with_record, tflite_model

    tflite, onnx = InputFile(".tflite"), InputFile(".onnx")

    def run(data: bytes) -> None:
        kind, rest = data[:1], data[1:]
        if kind == b"o":
            file = onnx.write(rest)
        elif kind == b"z":
            file = tflite.write(tflite_model() + archive({"metadata.json": rest}))
        elif kind == b"y":
            file = tflite.write(tflite_model() + archive({"temp_meta.txt": rest}))
        elif kind == b"e":
            file = tflite.write(image_with_record(rest))
        else:
            file = tflite.write(rest)
        with contextlib.suppress(AreniteError):
            open_model(str(file))

    return run


def array_files() -> Target:
    """.npz and .npy files. With a first byte Z, the rest is a .npy file, which is put into an archive."""
    from arenite.array_files import read_array, read_arrays
    from tests.fuzz.coverage.input_parts import archive

    file = InputFile(".npz")

    def run(data: bytes) -> None:
        data = archive({"x.npy": data[1:]}) if data[:1] == b"Z" else data
        with contextlib.suppress(ValueError, OSError):
            (read_arrays if data[:1] == b"P" else read_array)(file.write(data))

    return run


def pictures() -> Target:
    """Headers and pixels of pictures. The chunks of PNG files get valid CRCs."""
    from arenite.converters.processing import picture_files
    from arenite.errors import UsageError
    from arenite.host.camera.sources.picture_decoder import decode_picture
    from tests.fuzz.coverage.input_parts import with_valid_crcs

    # With the fuzzer's instrumentation, Pillow expands a million pixels of some formats in a second, so that few inputs
    # would be tried. A smaller limit refuses these pictures by the same code.
    picture_files.FREE_PIXELS = 1 << 18

    def run(data: bytes) -> None:
        with contextlib.suppress(UsageError):
            decode_picture(with_valid_crcs(data), "rgb", "input")

    return run


def sounds() -> Target:
    """WAV files."""
    from arenite.converters.processing.media_files import read_sound
    from arenite.errors import UsageError

    file = InputFile(".wav")

    def run(data: bytes) -> None:
        with contextlib.suppress(UsageError):
            read_sound(file.write(data), 16000)

    return run


def recordings() -> Target:
    """Uncompressed recordings for the camera: AVI and Y4M."""
    from arenite.errors import UsageError
    from arenite.host.camera.sources.raw_video import read_raw_video

    def run(data: bytes) -> None:
        with contextlib.suppress(UsageError):
            read_raw_video(data, "input")

    return run


def profiles() -> Target:
    """Profiles of boards, meters, batteries and hosts, recipes and preprocessing: TOML and JSON. With a first byte of
    128 or more, the rest describes changes of the values in a valid file."""
    from arenite.converters.processing.post.postprocessing import Postprocessing
    from arenite.converters.processing.specification.preprocessing import load_preprocessing
    from arenite.converters.quantize.recipes.recipe import load_recipe
    from arenite.errors import AreniteError
    from arenite.input_files import parse_json
    from arenite.profiles.batteries import parse_battery
    from arenite.profiles.boards import parse_board
    from arenite.profiles.hosts import parse_host
    from arenite.profiles.meters import parse_meter
    from tests.fuzz.coverage.input_parts import with_changed_values
    from tests.fuzz.coverage.python_corpora import files_of_settings

    valid = [seed.split(b"\n") for seed in files_of_settings()]
    toml, json_file = InputFile(".toml"), InputFile(".json")
    texts = (parse_board, parse_battery, parse_host, parse_meter)

    def run(data: bytes) -> None:
        if data[:1] >= b"\x80":
            data = with_changed_values(valid[data[0] % len(valid)], data[1:])
        kind, rest = data[:1], data[1:]
        with contextlib.suppress(AreniteError):
            if kind == b"j":
                load_preprocessing(json_file.write(rest))
            elif kind == b"p":
                with contextlib.suppress(ValueError):
                    Postprocessing.from_json(parse_json(rest))
            elif kind == b"r":
                load_recipe(str(toml.write(rest)))
            elif kind == b"t":
                load_preprocessing(toml.write(rest))
            elif kind:
                texts[kind[0] % len(texts)](rest.decode("utf-8", "replace"), "input")

    return run


#: The most replies of one input, twice as many as the requests of one run.
_MAX_REPLIES = 32


class _OneWay:
    """A transport that returns the input, and then says that the port has gone."""

    port = "/dev/input"

    def __init__(self, data: bytes) -> None:
        self._stream = io.BytesIO(data)

    def write(self, data: bytes) -> None:
        pass

    def read(self, timeout_s: float) -> bytes:
        from arenite.host.link.transport import PortGoneError

        data = self._stream.read(61)
        if not data:
            raise PortGoneError("The port has gone.", "Connect the device.")
        return data

    def discard_input(self) -> None:
        pass

    def close(self) -> None:
        pass


def link_client() -> Target:
    """The clients of the Arenite protocol and of the MLPerf monitor. If the first byte of the input is odd, the rest is
    a list of replies, each with a byte for its length, which are framed with the sequence numbers of the requests."""
    from arenite.errors import DeviceError
    from arenite.host.link.client import DeviceClient
    from arenite.host.link.frames import encode_frame
    from arenite.host.link.mlperf_monitor import MonitorClient
    from arenite.host.link.transport import PortGoneError

    def replies(data: bytes) -> bytes:
        out, at, number = b"", 0, 1
        while at < len(data) and number <= _MAX_REPLIES:
            body = data[at + 1 : at + 1 + data[at] % 250]
            # status, command and data; the client's first sequence number is 1
            out += encode_frame(bytes([number]) + (body + bytes(3))[: max(len(body), 3)])
            at += 1 + data[at] % 250
            number += 1
        return out

    def use_agent(data: bytes) -> None:
        client = DeviceClient(_OneWay(data), resend_s=0.05, attempts=2, infer_timeout_s=0.05)
        info = client.hello(timeout_s=0.05)
        outputs = enumerate(info.outputs[:2])
        use_all(
            client.log,
            client.memory,
            partial(client.write_input, 0, bytes(8)),
            client.infer,
            *(partial(client.read_output, index, min(tensor.nbytes, 64)) for index, tensor in outputs),
            partial(client.layer_ticks, min(info.layer_count, 8)),
        )

    def use_monitor(data: bytes) -> None:
        client = MonitorClient(_OneWay(data), timeout_s=0.05, infer_timeout_s=0.05)
        use_all(
            partial(client.connect, 0.05), partial(client.load, bytes(8)), client.infer, client.raw_outputs
        )

    def use_all(*requests: Callable[[], object]) -> None:
        """Make the next request also after a device's wrong reply, but not when the port has gone."""
        for request in requests:
            try:
                request()
            except PortGoneError:
                raise
            except DeviceError:
                pass

    def run(data: bytes) -> None:
        if data:
            use = use_monitor if data[0] & 2 else use_agent
            with contextlib.suppress(DeviceError):
                use(replies(data[1:]) if data[0] & 1 else data[1:])

    return run


#: The Python fuzz targets by name. Each function imports the code and returns the function of one input.
PYTHON_TARGETS: dict[str, Callable[[], Target]] = {
    "tflite_reader": tflite_reader,
    "model_metadata": model_metadata,
    "array_files": array_files,
    "pictures": pictures,
    "sounds": sounds,
    "recordings": recordings,
    "profiles": profiles,
    "link_client": link_client,
    **FILE_TARGETS,
    **SERVER_TARGETS,
}
