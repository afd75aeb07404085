"""From nothing to the first answer, in a process of its own.

    python cold.py loop MODEL FRAME.yuyv     the shortest way: model, runtime, one frame, one answer
    python cold.py cli ARGUMENTS ...         the command line itself

Ends with a line on standard error: {"first_ns": time.monotonic_ns of the first answer or null, "peak_kb": VmHWM}.
"""

import atexit
import json
import sys
import time


def peak_kb() -> int:
    with open("/proc/self/status", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"VmHWM"))


def loop(model_name: str, frame: str) -> int:
    """When the first answer was there."""
    import ctypes
    import mmap

    from arenite.host.camera.frames.frame import Format, Frame
    from arenite.host.camera.model.camera_model import open_model
    from arenite.host.camera.runtimes.factory import open_runtime
    from arenite.host.camera.serving.model_server import ModelServer

    model = open_model(model_name)
    server = ModelServer(model, open_runtime(model.path, threads=1))
    with open(frame, "rb") as file:
        pixels = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    address = ctypes.addressof(ctypes.c_uint8.from_buffer(pixels))
    served = server.serve(Frame(Format("yuyv", 1280, 720, (2560,)), (address,), pixels, 0, 0))
    now = time.monotonic_ns()
    assert served.answer is not None
    print(json.dumps(served.answer.to_json()))
    return now


def main() -> None:
    first = None
    if sys.argv[1] == "cli":
        sys.argv = ["arenite", *sys.argv[2:]]
        atexit.register(lambda: start_report(None))
        from arenite.host.cli.main import run

        run()
    else:
        first = loop(*sys.argv[2:])
        start_report(first)


def start_report(first: "int | None") -> None:
    print(json.dumps({"first_ns": first, "peak_kb": peak_kb()}), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
