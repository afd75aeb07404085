"""Start, compute one answer, and report the time at which it was ready and the peak memory of this process.

    python cold_start.py loop MODEL FRAME.yuyv     open the model and the runtime in Python, and run one frame
    python cold_start.py cli ARGUMENTS ...         run the command ``arenite`` with these arguments

The last line on standard error is a JSON object. "first_ns" is the ``time.monotonic_ns`` of the first answer, or null
if the command itself reports it. "peak_kb" is the largest resident set in KiB (VmHWM).
"""

import atexit
import json
import sys
import time


def peak_kb() -> int:
    with open("/proc/self/status", "rb") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(b"VmHWM"))


def loop(model_name: str, frame: str) -> int:
    """Run the model on one frame, and return the ``time.monotonic_ns`` at which the answer was ready."""
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
        atexit.register(lambda: print_report(None))
        from arenite.host.cli.main import run

        run()
    else:
        first = loop(*sys.argv[2:])
        print_report(first)


def print_report(first: "int | None") -> None:
    print(json.dumps({"first_ns": first, "peak_kb": peak_kb()}), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
