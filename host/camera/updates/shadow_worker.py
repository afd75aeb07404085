"""Run a model in a process of its own: check that it works here, and answer a sample of the frames of a running loop.

A model that crashes or hangs only ends this process. The process reads the options of the model, then frames, from
standard input, and writes one pickled object for each to standard output (``shadow_process.py``).
"""

from __future__ import annotations

import os
import pickle
import sys
import time
from contextlib import suppress
from typing import Any, BinaryIO

from arenite.errors import AreniteError
from arenite.host.camera.model.model_state import keeps_state
from arenite.host.camera.server_setup import ModelServers
from arenite.host.camera.serving.warm_up import warm_up
from arenite.host.camera.updates.frame_pipe import FrameReceiver

#: The nice value of the process: the loop and other programs go first. With 19, a busy computer would starve it.
NICE = 10


def open_candidate(request: dict[str, Any]) -> tuple[ModelServers, dict[str, Any]]:
    """Open the model of the options in ``request``, run it on a black frame, and return it with facts about it."""
    servers = ModelServers(request["options"], request["slots"], request["previous"])
    server = servers.warm[0]
    warm_up(server, request["format"], request["window"])
    model = servers.models[0]
    return servers, {
        "kind": server.answer(0).kind,
        "labels": tuple(model.labels),
        "input": tuple(model.inputs[0].shape),
        "inputs": len(model.inputs),
        "slots": server.slots,
        "keeps_state": keeps_state(model.path),
        "notes": tuple(servers.notes),
    }


def serve(frames: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until ``frames`` ends."""

    def reply(content: dict[str, Any]) -> None:
        pickle.dump(content, answers)
        answers.flush()

    try:
        servers, facts = open_candidate(pickle.load(frames))
    except AreniteError as error:
        reply({"problem": error.problem})
        return
    reply(facts)
    server, receiver = servers.warm[0], FrameReceiver(frames)
    with suppress(EOFError):
        while True:
            frame, window = receiver.read()
            begin = time.monotonic_ns()
            try:
                served = server.serve(frame, 0, window)
            except AreniteError as error:
                reply({"problem": error.problem})
                return
            reply({"answer": served.answer, "ms": (time.monotonic_ns() - begin) / 1e6})
    servers.close()


def main() -> None:
    with suppress(OSError, AttributeError):
        os.nice(NICE)
    # Text that a library prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
