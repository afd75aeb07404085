"""One run of the camera loop: open everything that the options name, serve frames, close everything, return a result.

There are two ways to run a session. ``run`` serves in the calling thread and returns the result:

    with CameraSession(CameraOptions.of(sources=("synthetic",), frames=100)) as session:
        result = session.run()                      # a CameraResult; result.to_json() is arenite.camera/1

``stream`` serves in a thread and yields each served frame, with its answer, as it comes:

    with CameraSession(CameraOptions.of(model="blazeface")) as session:
        for served in session.stream():             # a ServedFrame: served.answer, served.source, served.total_ns
            if served.answer is not None and served.answer.boxes:
                break                               # stops the loop
    session.result                                  # the CameraResult, once the stream has ended

The stream ends at a limit of the options, at the end of the source, or after ``stop``, which any thread may call. If
the loop fails, the iterator first yields the remaining answers and then raises the error. Leaving the ``for`` loop
early, or leaving the ``with`` block, stops the loop and waits for the frame in progress. A consumer that is slower than
a live camera misses the oldest answers (``session.missed`` counts them); with a recording the loop waits, so that every
answer arrives. A session can serve only once.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from arenite.host.camera.early_wake_setup import make_early_wake
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.frames.served_frame import ServedFrame
from arenite.host.camera.observe.busy_time import BusyTime
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.output_setup import open_outputs
from arenite.host.camera.scheduling_requests import SchedulingRequests
from arenite.host.camera.server_setup import ModelServers
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.serving.warm_up import warm_up
from arenite.host.camera.source_setup import make_source
from arenite.host.camera.stream_queue import StreamQueue
from arenite.host.camera.summary import CameraResult, camera_result, since_start_ms
from arenite.host.camera.supervisor import Instruments, Supervisor
from arenite.host.governor.interface import Limits

if TYPE_CHECKING:
    from arenite.host.camera.observe.soak import Soak
    from arenite.host.camera.updates.model_updater import ModelUpdater

#: Frames overlap if the model takes more than this share of the time between two frames of a camera, or more than this
#: number of seconds if frames come from a recording. Handing a frame from thread to thread costs about 50 µs.
OVERLAP_SHARE, MIN_OVERLAP_S = 0.6, 0.002

#: The number of first notes and the number of last notes that are kept during a run.
KEPT_FIRST_NOTES, KEPT_LAST_NOTES = 20, 40


class CameraSession:
    """A context manager that opens the source, the model and the outputs on entry and closes them on exit.

    Call either ``run`` or ``stream`` to serve frames, and only once. ``report`` is called with lines of text for
    people. Entering the context raises ``AreniteError`` if something cannot be opened.
    """

    def __init__(self, options: CameraOptions, report: Callable[[str], None] = lambda text: None) -> None:
        self.options, self.report = options, report
        self.notes: list[str] = []
        self.cold_start_ms = 0.0  # from the start of the process to the first answer
        self.result: CameraResult | None = None  # set when the run has ended
        # Number of served frames that the consumer of ``stream`` missed because it was too slow.
        self.missed = 0
        self.format: Format
        self._running = False
        self._stack = ExitStack()

    def __enter__(self) -> CameraSession:
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # Opening

    def _open(self) -> None:
        options = self.options
        self._scheduling = SchedulingRequests(options.loop, self.notes)
        self._scheduling.pin()
        overlap = options.loop.overlap
        overlapping = overlap or (overlap is None and (os.cpu_count() or 1) > 1)
        self.servers = ModelServers(options, 2 if overlapping else 1)
        self._stack.callback(self.servers.close)
        self.model = self.servers.models[0]
        self.source = make_source(options, self.servers, self._on_source_message)
        self.format = self.source.open()
        self._stack.callback(self.source.close)
        invoke_s = self._warm_up()
        self._scheduling.before_loop()
        self.notes += self.servers.notes
        if any(server.preprocessing_code == "numpy" for server in self.servers.warm):
            from arenite.converters.processing.native import library as native

            self.notes.append(
                f"Preprocessing runs in NumPy, about 100 times slower than in C. {native.unavailable_reason()}"
            )
        self.outputs = open_outputs(options.outputs, self.source, self.model.name, self._stack, self.report)
        self.loop = self._make_loop(self._should_overlap(invoke_s))
        self.supervisor = self._make_supervisor()
        self._updater = self._make_updater()

    def _on_source_message(self, text: str) -> None:
        """Add a message of a source to the notes. Only the first and the last notes are kept, because a camera that
        disappears and comes back for days must not fill the memory."""
        self.notes.append(text)
        if len(self.notes) > KEPT_FIRST_NOTES + KEPT_LAST_NOTES:
            del self.notes[KEPT_FIRST_NOTES]
        if self._running:
            self.report(text)

    def _warm_up(self) -> float:
        """Run every model on a black frame. Return the time of the fastest inference of the first model, in seconds."""
        fastest = 0.0
        for server in self.servers.warm:
            times = []
            for _ in range(max(self.options.model.warm_up, 1)):
                warm_up(server, self.format, self.options.model.window)
                begin = time.monotonic()
                server.invoke()
                times.append(time.monotonic() - begin)
            fastest = fastest or min(times)
        return fastest

    def _should_overlap(self, invoke_s: float) -> bool:
        """Return whether frames overlap, if an inference takes ``invoke_s`` seconds."""
        overlap = self.options.loop.overlap
        if overlap is not None or self.servers.server.slots < 2:
            return bool(overlap)
        if not self.source.live:
            return invoke_s > MIN_OVERLAP_S
        fps = self.options.source.fps or self.format.fps or 30.0
        return invoke_s > OVERLAP_SHARE / fps

    def _make_loop(self, overlap: bool) -> Loop:
        options = self.options.loop
        if options.overlap and self.servers.server.slots < 2:
            self.notes.append(
                "Frames are served one after the other: --overlap works with one model or with --ladder."
            )
        motion = cache = None
        if options.motion:
            from arenite.host.camera.serving.motion import MotionGate

            motion = MotionGate
        if options.cache:
            from arenite.host.camera.serving.result_cache import ResultCache

            cache = ResultCache()
        self.early_wake, notes = make_early_wake(
            self.options,
            self.source,
            self.servers.server,
            self.servers.models,
            overlap and self.servers.server.slots > 1,
        )
        self.notes += notes
        limit_ms = self.options.energy.limits.latency_ms
        return Loop(
            self.source,
            self.servers.server,
            sinks=self.outputs.sinks,
            motion=motion,
            cache=cache,
            overlap=overlap,
            frames=options.frames,
            duration_s=options.duration_s,
            late_ns=None if limit_ms is None else int(limit_ms * 1e6),
            window=self.options.model.window,
            on_first_answer=self._on_first_answer,
            frame_reader=self.early_wake,
            on_thread_start=self._scheduling.on_thread_start,
        )

    def _make_supervisor(self) -> Supervisor:
        limits, model, servers = self.options.energy.limits, self.model, self.servers
        shape = "x".join(map(str, model.inputs[0].shape))
        describe = {
            "budget": {
                "power_w": limits.power_w,
                "temperature_c": limits.temperature_c,
                "latency_ms": limits.latency_ms,
            },
            "model": {
                "name": model.name,
                "sha256": model.sha256,
                "input": f"{shape} {model.inputs[0].dtype}",
            },
            "runtime": {"name": servers.runtime_name, "threads": servers.threads},
            "source": {
                "name": self.source.name,
                "format": f"{self.format.width}x{self.format.height} {self.format.pixels}",
                "live": self.source.live,
            },
        }
        supervisor = Supervisor(
            self.loop,
            describe,
            instruments=self._open_instruments,
            watchers=self.outputs.listeners,
            notes=self.notes,
            root=self.options.energy.root,
        )
        if self.outputs.describer is not None:
            supervisor.parts["description"] = self.outputs.describer.state
        if self.early_wake is not None:
            from arenite.host.camera.serving.early_wake_pause import EarlyWakePause

            supervisor.watchers.append(EarlyWakePause(self.early_wake, limits != Limits()))
        return supervisor

    def _make_updater(self) -> ModelUpdater | None:
        """Return what replaces the model by newer versions; None without ``--updates``."""
        if self.options.updates.repository is None:
            if self.options.updates.trusted_root is not None:
                self.notes.append("--trusted-root has no effect without --updates.")
            return None
        from arenite.host.camera.several.hot_swap_server import HotSwapServer
        from arenite.host.camera.updates.model_updater import ModelUpdater

        server = self.servers.server
        assert isinstance(server, HotSwapServer)
        updater = ModelUpdater(
            self.options, server, self.loop, self.model, self.servers.runtime_name, self._on_source_message
        )
        self.loop.sinks.append(updater.times)
        self.supervisor.watchers.append(updater.power)
        self.supervisor.parts["updates"] = updater.state
        self.servers.parts["updates"] = updater.to_json
        self._stack.callback(updater.stop)
        return updater

    def _open_instruments(self) -> Instruments:
        """Open the sensors and the governor. This is called in the supervisor's thread."""
        from arenite.host.camera.instruments import open_instruments

        return open_instruments(self.options, self.loop, self.format, self.servers.levers, self.notes)

    # Running

    def _on_first_answer(self) -> None:
        self.cold_start_ms = since_start_ms()
        self.supervisor.on_first_answer()
        if self._updater is not None:
            self._updater.start()

    def stop(self) -> None:
        """End the run after the frame in progress. Any thread may call it."""
        self.loop.stop()

    def stream(self) -> Iterator[ServedFrame]:
        """Serve in a thread and yield every served frame. The docstring of this module describes how a stream ends.

        Raises the errors that ``run`` raises, after the frames that were served before the error. ``result`` is set
        when the stream has ended.
        """
        queue = StreamQueue(lossless=not self.source.live)
        errors: list[BaseException] = []

        def serve() -> None:
            try:
                self._scheduling.on_thread_start()
                self.run()
            except BaseException as error:
                errors.append(error)
            finally:
                queue.close()

        self.loop.sinks.append(queue)
        thread = threading.Thread(target=serve, name="camera", daemon=True)

        def end() -> None:
            self.stop()
            queue.close()
            thread.join()

        # The ``with`` block may be left while the iterator is still alive. The loop must end before its source is
        # closed.
        self._stack.callback(end)
        thread.start()
        try:
            while (served := queue.next()) is not None:
                yield served
        finally:
            end()
            self.missed = queue.missed
        if errors:
            raise errors[0]

    def run(self) -> CameraResult:
        """Serve until a limit of the options, the end of the source, or ``stop``. Return the result. Raises
        ``AreniteError``."""
        soak = self._make_soak()
        scenario: dict[str, Any] | None = None
        self.supervisor.start()
        self._running = True
        try:
            if self.options.loop.scenario is not None:
                scenario = self._run_scenario(self.options.loop.scenario)
            else:
                self.loop.run()
        finally:
            if self._updater is not None:
                self._updater.stop()
            self.supervisor.stop()
        parts: dict[str, Any] = {"overlapped": self.loop.overlap}
        if self.outputs.describer is not None and scenario is None:
            self.outputs.describer.finish()
            parts["descriptions"] = self.outputs.describer.to_json()
        if scenario is not None:
            parts["scenario"] = scenario
        if self.early_wake is not None and scenario is None:
            parts["early_wake"] = self.early_wake.to_json()
        if soak is not None:
            parts["soak"] = soak.result().to_json()
        parts |= {name: to_json() for name, to_json in self.servers.parts.items()}
        self.result = camera_result(
            self.loop,
            self.supervisor,
            self.model,
            self.servers.runtime_name,
            self.cold_start_ms,
            self.notes,
            self.options.energy.limits,
            parts,
        )
        return self.result

    def _make_soak(self) -> Soak | None:
        minutes = self.options.loop.soak_minutes
        if minutes is None:
            return None
        from arenite.host.camera.observe.soak import Soak

        soak = Soak(self.loop.statistics, minutes, self.options.energy.root)
        self.loop.duration_s = soak.seconds
        self.supervisor.watchers.append(soak)
        return soak

    def _ignored_options(self) -> list[str]:
        """Return the options that were given but that a scenario ignores."""
        loop, outputs = self.options.loop, self.options.outputs
        values = {
            "output": outputs.output,
            "callback": outputs.callback,
            "mqtt": outputs.mqtt,
            "timeline": outputs.timeline,
            "describe": outputs.describe,
            "motion": loop.motion,
            "cache": loop.cache,
            "frames": loop.frames,
            "early-wake": loop.early_wake_ms,
            "warm-model": loop.warm_model,
        }
        return [f"--{name}" for name, value in values.items() if value]

    def _run_scenario(self, name: str) -> dict[str, Any]:
        """Send queries to the server as the MLPerf Inference scenario ``name`` requires, instead of running the loop.
        Return the result's JSON."""
        from arenite.host.camera.scenarios.sample_library import collect_frames
        from arenite.host.camera.scenarios.scenario_runs import run_scenario

        unused = self._ignored_options()
        if unused:
            self.notes.append(f"A scenario does not use {', '.join(unused)}.")
        frames = collect_frames(self.source)
        self.report(f"{len(frames)} frames are held in memory; the scenario {name} begins.")
        options, loop, server = self.options.loop, self.loop, self.servers.server

        def served(each: ServedFrame) -> None:
            if not self.supervisor.ready:
                self._on_first_answer()
            loop.statistics.add(each)

        loop.begin()
        result = run_scenario(
            name,
            server,
            frames,
            duration_s=options.duration_s,
            quick=options.quick,
            latency_ms=self.options.energy.limits.latency_ms,
            qps=options.qps,
            report=self.report,
            served=served,
            window=self.options.model.window,
        )
        loop.end(result.samples)
        # The time, bytes and busy time of the loop are set to those of the final run, without its warm-up and trial
        # runs.
        loop.began_ns = loop.ended_ns - round(result.duration_s * 1e9)
        loop.bytes_written = result.samples * server.bytes_written
        mean_ns = loop.statistics.window("all").mean_ms("total") * 1e6
        loop.busy = BusyTime()
        loop.busy.add(loop.began_ns, loop.began_ns + round(result.samples * mean_ns))
        return result.to_json()
