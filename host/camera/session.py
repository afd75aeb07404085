"""One run of the camera loop from its options: opens what is asked for, serves, closes, and sums up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from arenite.errors import UsageError
from arenite.host.camera.budget_check import check_budget
from arenite.host.camera.frames.frame import Format
from arenite.host.camera.frames.served_frame import ServedFrame, Sink
from arenite.host.camera.observe.busy_time import BusyTime
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.server_setup import ModelServers
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.serving.warm_up import warm_up
from arenite.host.camera.sources.base import Source
from arenite.host.camera.sources.factory import open_source
from arenite.host.camera.summary import since_start_ms, summary
from arenite.host.camera.supervisor import Instruments, StateListener, Supervisor

if TYPE_CHECKING:
    from arenite.host.camera.observe.soak import Soak

#: Overlapping pays when computing takes a good part of the time between two frames; handing over costs some 50 µs.
OVERLAP_SHARE, MIN_OVERLAP_S = 0.6, 0.002

#: Notes that are kept, of those that come while it runs.
KEPT_FIRST_NOTES, KEPT_LAST_NOTES = 20, 40


class CameraSession:
    """A context: everything is opened on entry and closed on exit. ``run`` serves, once, and returns the summary.

    ``report`` takes lines for people. Raises ``AreniteError`` for what cannot be opened.
    """

    def __init__(self, options: CameraOptions, report: Callable[[str], None] = lambda text: None) -> None:
        self.options, self.report = options, report
        self.notes: list[str] = []
        self.cold_start_ms = 0.0
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
        if options.pin is not None:
            self._pin(options.pin)
        overlapping = options.overlap or (options.overlap is None and (os.cpu_count() or 1) > 1)
        self.servers = ModelServers(options, 2 if overlapping else 1)
        self._stack.callback(self.servers.close)
        self.model = self.servers.models[0]
        self.source = self._source()
        self.format = self.source.open()
        self._stack.callback(self.source.close)
        invoke_s = self._warm_up()
        self._make_steady()
        self.notes += self.servers.notes
        if any(getattr(server, "code", "") == "numpy" for server in self.servers.warm):
            from arenite.converters.processing.native import library as native

            self.notes.append(
                f"Preprocessing runs in NumPy, some 100 times slower than in C. {native.unavailable_reason()}"
            )
        self.loop = self._loop(self._overlap(invoke_s))
        self.supervisor = self._supervisor()

    def _source(self) -> Source:
        options = self.options
        single = len(options.sources) == 1
        if not single and options.pace == "file":
            raise UsageError(
                "Frames of several sources are sets by the time of their capture.", "Leave out --pace file."
            )
        # Recordings that come as fast as they are read would pass each other by.
        pace = options.pace if single else "live"
        made = [
            open_source(
                spec,
                width=options.width,
                height=options.height,
                fps=options.fps,
                pixels=options.pixels,
                pace=pace,
                loop=options.loop,
                index=index,
                least=self._sufficient_size(),
                # Sets hold frames that may stand in, the dashboard the one that it shows.
                buffers=(4 if single else 6) + (options.dashboard is not None),
                on_message=self._on_source_message,
            )
            for index, spec in enumerate(options.sources)
        ]
        if single:
            return made[0]
        from arenite.host.camera.several.camera_group import CameraGroup

        return CameraGroup(made, options.jitter_ms / 1e3, options.timeout_ms / 1e3)

    def _on_source_message(self, text: str) -> None:
        """A camera that comes and goes for days must not fill the memory: the first notes stay, and the last ones."""
        self.notes.append(text)
        if len(self.notes) > KEPT_FIRST_NOTES + KEPT_LAST_NOTES:
            del self.notes[KEPT_FIRST_NOTES]
        if self._running:
            self.report(text)

    def _sufficient_size(self) -> tuple[int, int] | None:
        """Width and height that suffice for every model's input, where all see whole frames: JPEG need not be decoded
        any larger."""
        from arenite.host.camera.model.tensor_heuristics import sides

        models = self.servers.models
        if (
            self.options.window is not None
            or self.servers.crops
            or any(step.do == "crop" for model in models for step in model.preprocessing.steps)
        ):
            return None
        made = [sides(model.inputs[0]) for model in models]
        return max(width for _, width, _ in made), max(height for height, _, _ in made)

    def _warm_up(self) -> float:
        """A black frame through everything; seconds of an inference of the first model, warm."""
        fastest = 0.0
        for server in self.servers.warm:
            times = []
            for _ in range(max(self.options.warm_up, 1)):
                warm_up(server, self.format, self.options.window)
                begin = time.monotonic()
                server.invoke()
                times.append(time.monotonic() - begin)
            fastest = fastest or min(times)
        return fastest

    def _overlap(self, invoke_s: float) -> bool:
        if self.options.overlap is not None or self.servers.server.slots < 2:
            return bool(self.options.overlap)
        if not self.source.live:
            return invoke_s > MIN_OVERLAP_S
        fps = self.options.fps or self.format.fps or 30.0
        return invoke_s > OVERLAP_SHARE / fps

    def _pin(self, text: str) -> None:
        from arenite.host.camera.option_parsing import parse_processors
        from arenite.host.camera.serving.realtime import pin

        self._note_refusal(pin(parse_processors(text)))

    def _make_steady(self) -> None:
        options = self.options
        if options.lock_memory:
            from arenite.host.camera.serving.realtime import lock_memory

            self._note_refusal(lock_memory())
        if options.realtime is not None:
            from arenite.host.camera.serving.realtime import raise_priority

            self._note_refusal(raise_priority(options.realtime))

    def _on_thread_start(self) -> None:
        """The priority is a thread's own. What is not granted was told of the first one."""
        if self.options.realtime is not None:
            from arenite.host.camera.serving.realtime import raise_priority

            raise_priority(self.options.realtime)

    def _note_refusal(self, granted: Any) -> None:
        if not granted.granted:
            self.notes.append(f"Not granted: {granted.what}: {granted.detail}")

    def _loop(self, overlap: bool) -> Loop:
        options = self.options
        if options.overlap and self.servers.server.slots < 2:
            self.notes.append(
                "Frames are served in a row: --overlap is for one model, or a ladder of models."
            )
        motion = cache = None
        if options.motion:
            from arenite.host.camera.serving.motion import MotionGate

            motion = MotionGate
        if options.cache:
            from arenite.host.camera.serving.result_cache import ResultCache

            cache = ResultCache()
        late = options.limits.latency_ms
        return Loop(
            self.source,
            self.servers.server,
            sinks=self._sinks(),
            motion=motion,
            cache=cache,
            overlap=overlap,
            frames=options.frames,
            duration_s=options.duration_s,
            late_ns=None if late is None else int(late * 1e6),
            window=options.window,
            first=self._first,
            on_thread_start=self._on_thread_start,
        )

    def _sinks(self) -> list[Sink]:
        options = self.options
        sinks: list[Sink] = []
        self._watchers: list[StateListener] = []

        def add(sink: Any) -> None:
            self._stack.callback(sink.close)
            sinks.append(sink)
            if hasattr(sink, "update"):
                self._watchers.append(sink)

        if options.output is not None:
            from arenite.host.camera.sinks.jsonl import JsonLinesSink

            add(JsonLinesSink(options.output, lossless=not self.source.live, report=self.report))
        if options.callback is not None:
            from arenite.host.camera.sinks.callback import CallbackSink, load_callback

            add(CallbackSink(load_callback(options.callback), report=self.report))
        if options.mqtt is not None:
            from arenite.host.camera.sinks.mqtt import MqttSink

            add(MqttSink(options.mqtt, report=self.report))
        if options.timeline is not None:
            from arenite.host.camera.observe.timeline import Timeline

            title = f"arenite camera, {self.model.name}"
            add(Timeline(options.timeline, title=title, report=self.report))
        if options.dashboard is not None:
            from arenite.host.camera.dashboard.server import Dashboard
            from arenite.host.camera.option_parsing import parse_address

            host, port = parse_address(options.dashboard)
            title = f"{self.model.name} on {self.source.name}"
            dashboard = Dashboard(host, port, options.token, title=title, report=self.report)
            add(dashboard)
            self.report(f"Dashboard: {dashboard.start()}")
        return sinks

    def _supervisor(self) -> Supervisor:
        limits, model, servers = self.options.limits, self.model, self.servers
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
        return Supervisor(
            self.loop,
            describe,
            instruments=self._instruments,
            watchers=self._watchers,
            notes=self.notes,
            root=self.options.root,
        )

    def _instruments(self) -> Instruments:
        """In the supervisor's thread."""
        from arenite.host.camera.instruments import open_instruments

        return open_instruments(self.options, self.loop, self.format, self.servers.levers, self.notes)

    # Running

    def _first(self) -> None:
        self.cold_start_ms = since_start_ms()
        self.supervisor.first()

    def stop(self) -> None:
        self.loop.stop()

    def run(self) -> dict[str, Any]:
        """Serve until a limit, the source's end, or ``stop``; the ``arenite.camera/1`` summary."""
        more: dict[str, Any] = {"overlapped": self.loop.overlap}
        soak = self._soak()
        self.supervisor.start()
        self._running = True
        try:
            if self.options.scenario is not None:
                more["scenario"] = self._scenario(self.options.scenario)
            else:
                self.loop.run()
        finally:
            self.supervisor.stop()
        if soak is not None:
            more["soak"] = soak.result().to_json()
        more |= {name: told() for name, told in self.servers.more.items()}
        if len(self.options.sources) > 1:
            more["cameras"] = self.source.to_json()  # type: ignore[attr-defined]
        made = summary(
            self.loop,
            self.supervisor,
            self.model,
            self.servers.runtime_name,
            self.cold_start_ms,
            self.notes,
            more,
        )
        if "scenario" in more:
            # Stages are of some of its samples, and of its trials.
            made["fps"] = round(self.loop.served / self.loop.seconds, 3)
            made["frames"]["by"] = {"model": self.loop.served}
        made["budget"] = check_budget(self.options.limits, made)
        return made

    def _soak(self) -> Soak | None:
        minutes = self.options.soak
        if minutes is None:
            return None
        from arenite.host.camera.observe.soak import Soak

        made = Soak(self.loop.statistics, minutes, self.options.root)
        self.loop.duration_s = made.seconds
        self.supervisor.watchers.append(made)
        return made

    def _scenario(self, name: str) -> dict[str, Any]:
        """Instead of the loop: the same server, asked as the scenario does."""
        from arenite.host.camera.scenarios.sample_library import collect_frames
        from arenite.host.camera.scenarios.scenario_runs import run_scenario

        options = self.options
        unused = ("output", "callback", "mqtt", "timeline", "motion", "cache", "frames")
        given = [f"--{each}" for each in unused if getattr(options, each)]
        if given:
            self.notes.append(f"A scenario has no use for {', '.join(given)}.")
        frames = collect_frames(self.source)
        self.report(f"{len(frames)} frames are held; the scenario {name} begins.")
        loop, server = self.loop, self.servers.server

        def served(each: ServedFrame) -> None:
            if not self.supervisor.ready:
                self._first()
            loop.statistics.add(each)

        loop.begin()
        result = run_scenario(
            name,
            server,
            frames,
            duration_s=options.duration_s,
            quick=options.quick,
            latency_ms=options.limits.latency_ms,
            qps=options.qps,
            report=self.report,
            served=served,
            window=options.window,
        )
        loop.end(result.samples)
        # Figures per frame are of the run that counts, without warm-up and trials.
        loop.began_ns = loop.ended_ns - round(result.duration_s * 1e9)
        loop.bytes_written = result.samples * server.bytes_written
        mean_ns = loop.statistics.window("all").mean_ms("total") * 1e6
        loop.busy = BusyTime()
        loop.busy.add(loop.began_ns, loop.began_ns + round(result.samples * mean_ns))
        return result.to_json()
