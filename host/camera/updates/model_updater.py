"""Check a signed repository for a newer version of the model, and replace the model of the running loop.

A thread of its own does this while the loop serves: download and verify, try in a process of its own, shadow run, load
and warm up, switch between two frames, probation, and return to the model before if a limit breaks.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any

from arenite.errors import AreniteError, ModelError, UsageError
from arenite.host.camera.model.camera_model import CameraModel
from arenite.host.camera.model.model_state import keeps_state
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.serving.loop import Loop
from arenite.host.camera.serving.realtime import normal_priority
from arenite.host.camera.several.hot_swap_server import HotSwapServer
from arenite.host.camera.updates.candidate import Candidate, candidate_options, check_facts, update_name
from arenite.host.camera.updates.comparison import Comparison, ComparisonResult
from arenite.host.camera.updates.limits import MIN_ANSWERS, MIN_COMPARED, UpdateLimits
from arenite.host.camera.updates.power_phases import PowerPhases
from arenite.host.camera.updates.serving_times import ServingTimes, latency_json
from arenite.host.camera.updates.shadow_process import ShadowProcess
from arenite.host.camera.updates.update_log import UpdateLog
from arenite.host.update.keys import INSTALL
from arenite.host.update.repository.background_check import BackgroundCheck, CheckResult
from arenite.host.update.repository.client import ModelRepository
from arenite.host.update.repository.model_target import ModelTarget

#: A shadow run without enough frames ends after this multiple of its time.
_MAX_SHADOW = 4
#: Time in seconds between two looks at a model on probation.
_POLL_S = 0.1


@dataclass(frozen=True)
class _Serving:
    """The model that serves: its name for display, its version in the repository, and how to open it again."""

    label: str
    version: str  # empty for the model of --model, if it is not in the repository
    model: CameraModel
    options: CameraOptions


class _Stopped(Exception):
    """The run ends."""


class ModelUpdater:
    """Replaces the model of ``server``. ``start`` starts the thread and ``stop`` ends it.

    Attributes:
        times: a sink of the loop that the updater needs.
        power: a listener of the loop's state that the updater needs.

    Raises ``UsageError`` if the options cannot be used.
    """

    def __init__(
        self,
        options: CameraOptions,
        server: HotSwapServer,
        loop: Loop,
        model: CameraModel,
        runtime: str,
        report: Callable[[str], None],
    ) -> None:
        updates = options.updates
        if updates.repository is None or updates.trusted_root is None:
            raise UsageError(
                "--updates needs the trusted root of the repository.",
                "Give --trusted-root with the file root.json of the publisher.",
            )
        if util.find_spec("tuf") is None:
            raise UsageError("--updates needs the package tuf.", INSTALL)
        self._updates, self._server, self._loop, self._runtime = updates, server, loop, runtime
        self._window = options.model.window
        self._warm_model = options.loop.warm_model
        self._base = options
        self.name = update_name(options.model.name)
        self._repository = ModelRepository(updates.repository, updates.trusted_root)
        self._check = BackgroundCheck(updates.repository, updates.trusted_root, self.name)
        self._serving = _Serving(
            model.name, "", model, candidate_options(options, model.path, runtime, model.path)
        )
        self.times, self.power = ServingTimes(), PowerPhases()
        self._log = UpdateLog(lambda: loop.seconds, report)
        self._checks = self._failed = self._returns = 0
        self._last_failure = ""
        self._shadow_json: dict[str, Any] | None = None
        self._probation_json: dict[str, Any] | None = None
        self._shadow: ShadowProcess | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="model-updates", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and what it is doing. Calling it again does nothing."""
        self._end.set()
        self._check.stop()
        if (shadow := self._shadow) is not None:
            shadow.stop()
        if self._thread.is_alive():
            self._thread.join()

    def state(self) -> dict[str, Any]:
        """Return the part ``updates`` of the loop's state."""
        return {"model": self._serving.label, "version": self._serving.version, **self._log.state()}

    def to_json(self) -> dict[str, Any]:
        """Return the part ``updates`` of the record."""
        return {
            "repository": self._repository.location,
            "model": self.name,
            "checks": self._checks,
            "failed_checks": self._failed,
            "serving": {
                "name": self._serving.label,
                "version": self._serving.version,
                "sha256": self._serving.model.sha256,
            },
            "switches": self._server.switches,
            "returns": self._returns,
            "shadow": self._shadow_json,
            "probation": self._probation_json,
            "events": self._log.to_json(),
        }

    # Checking

    def _run(self) -> None:
        with suppress(OSError):
            normal_priority()
        self.power.begin("before")
        while not self._end.is_set():
            self._check_once()
            self._end.wait(self._updates.check_every_s)

    def _check_once(self) -> None:
        self._checks += 1
        try:
            result = self._check.run({self._serving.model.sha256, *self._repository.state().refused})
        except (AreniteError, OSError) as error:
            self._failed += 1
            if str(error) != self._last_failure:  # a network that is down for days is reported once
                self._last_failure = str(error)
                self._add("failed", "", f"{error} {self._serving.label} goes on.")
            return
        self._last_failure = ""
        if result is None or result.path is None:
            return
        try:
            self._replace(result, result.path)
        except _Stopped:
            return
        except AreniteError as error:
            if not self._end.is_set():
                self._refuse(result.target, error.problem)
        except Exception as error:  # whatever goes wrong here, the loop goes on
            self._add(
                "failed", result.target.version, f"{self._label(result.target)} was not tried: {error!r}."
            )

    def _replace(self, result: CheckResult, path: Path) -> None:
        target = result.target
        label = self._label(target)
        self._add("found", target.version, f"{label} was downloaded and verified ({target.length:,} bytes).")
        if target.kind == "web":
            raise ModelError(
                "It is a model for web pages.", "Publish a .tflite file, an image or a .onnx file."
            )
        options = candidate_options(self._base, path, self._runtime, self._serving.model.path)
        known = self._repository.state().accepted == target.sha256
        compare = self._try(target, options, shadow=self._updates.shadow_s > 0 and not known)
        self._raise_if_stopped()
        format, window = self._format()
        process = self._open_comparer() if compare and not known else None
        try:
            candidate = Candidate(options, self._serving.model, self._server.slots, label, format, window)
        except BaseException:
            if process is not None:
                process.close()
            raise
        self._switch(target, candidate, process)

    def _try(self, target: ModelTarget, options: CameraOptions, shadow: bool) -> bool:
        """Run the model in a process of its own, and with ``shadow`` compare it with the one that serves. Return
        whether their answers can be compared. Raises ``ModelError``."""
        with self._process(self._label(target), options) as process:
            kind = next((answer.kind for answer in self._loop.last.values()), None)
            differences = check_facts(
                process.facts, self._serving.model, kind, self._server.slots, self._warm_model
            )
            stateful = process.facts["keeps_state"] or keeps_state(self._serving.model.path)
            if remarks := [*differences, *process.facts["notes"]]:
                self._add("found", target.version, f"{self._label(target)}: {' '.join(remarks)}")
            if shadow:
                self._shadow_run(target, process, stateful)
        return not stateful

    def _shadow_run(self, target: ModelTarget, process: ShadowProcess, stateful: bool) -> None:
        seconds, present = self._updates.shadow_s, self._serving.label
        self.times.forget(present)
        self.power.begin("shadow")
        comparison = Comparison(self._server, present, process, self._dropped)

        def enough(result: ComparisonResult) -> bool:
            return (
                result.seconds >= seconds and len(result.agreements) >= MIN_COMPARED
            ) or result.seconds >= _MAX_SHADOW * seconds

        try:
            comparison.wait(self._end, enough)
        finally:
            result = comparison.end()
        old_ms = self.times.totals_ms(present)
        self._shadow_json = {
            "version": target.version,
            **result.to_json(),
            "latency_ms": {"old": latency_json(old_ms), "new": latency_json(result.times_ms)},
            "power_w": self.power.to_json("before", "shadow"),
        }
        self._raise_if_stopped()
        if result.error is not None:
            raise result.error
        if not result.agreements:
            self._add(
                "shadow",
                target.version,
                f"The model answered no frame in {result.seconds:.0f} s of the shadow run of "
                f"{self._label(target)}; the next check tries again.",
            )
            raise _Stopped
        if stateful:
            self._shadow_json["agreement"] = None
        self._add("shadow", target.version, self._shadow_sentence(target, stateful))
        limits = self._limits()
        broken = limits.broken_by_times(result.times_ms, old_ms)
        if broken is None and not stateful:
            broken = limits.broken_by_agreement(result.agreements)
        if broken is not None:
            raise ModelError(broken[0].upper() + broken[1:] + ".", "Publish a better version.")

    def _shadow_sentence(self, target: ModelTarget, stateful: bool) -> str:
        record = self._shadow_json
        assert record is not None
        old, new, power = record["latency_ms"]["old"], record["latency_ms"]["new"], record["power_w"]
        agreement = "not compared (state between frames)" if stateful else f"{record['agreement']:.3f}"
        watts = ""
        if power["before"] is not None and power["shadow"] is not None:
            watts = f", power {power['before']:.2f} W before and {power['shadow']:.2f} W meanwhile ({power['kind']})"
        old_p50 = "?" if old["p50"] is None else f"{old['p50']:.2f}"
        return (
            f"Shadow run of {self._label(target)} for {record['seconds']:.1f} s: agreement {agreement} on "
            f"{record['compared']} frames, {new['p50']:.2f} ms instead of {old_p50} ms per frame (median, measured)"
            f"{watts}."
        )

    # Switching

    def _switch(self, target: ModelTarget, candidate: Candidate, process: ShadowProcess | None) -> None:
        """Let ``candidate`` serve, on probation. The model before runs in ``process`` for the comparison."""
        label, before = self._label(target), self._serving
        old_ages = self.times.ages_ms(before.label)
        self.times.forget(label)
        self.power.begin("probation")
        old = self._server.replace(candidate.server)
        self._serving = _Serving(label, target.version, candidate.model, candidate.options)
        self._log.add(
            "switched",
            target.version,
            before.label,
            label,
            f"{label} serves, on probation for {self._updates.probation_s:g} s.",
        )
        try:
            broken = self._probation(target, old_ages, process)
        except _Stopped:
            return  # the model before stays ready until the run ends
        if broken is None:
            self._server.retire(old)
            with suppress(OSError):
                self._repository.accept(target.sha256)
            self._repository.forget_files({target.sha256})
            self._add("accepted", target.version, f"{label} passed its probation. {before.label} was closed.")
            self.power.begin("before")
            return
        self._server.restore(old)
        self._serving = before
        self._returns += 1
        self._log.add(
            "returned",
            target.version,
            label,
            before.label,
            f"{before.label} serves again, because {label} broke a limit: {broken}.",
        )
        self._server.retire(candidate.server)
        self._remember_refusal(target, broken)
        self.power.begin("before")

    def _probation(
        self, target: ModelTarget, old_ages: list[float], process: ShadowProcess | None
    ) -> str | None:
        """Watch the new model, and compare it with the one before, which runs in ``process``. Return a sentence about
        the limit that it broke, or None."""
        label, began, limits = self._label(target), time.monotonic(), self._limits()
        seconds = self._updates.probation_s
        comparison = None if process is None else Comparison(self._server, label, process, self._dropped)
        result: ComparisonResult | None = None
        broken: str | None = None
        alone = False
        try:
            while broken is None:
                elapsed = time.monotonic() - began
                ages = self.times.ages_ms(label)
                if comparison is not None:
                    result = comparison.result
                    if elapsed >= seconds / 2 and (
                        len(result.agreements) >= MIN_COMPARED or elapsed >= seconds
                    ):
                        result = comparison.end()
                        comparison = None
                if comparison is None and not alone:
                    alone = True  # from now on, the new model is the only one that uses power
                    self.power.begin("after")
                broken = self._broken(limits, ages, old_ages, result, at_end=elapsed >= seconds)
                if broken is None and elapsed >= seconds and ages:
                    break
                if self._end.wait(_POLL_S):
                    raise _Stopped
        finally:
            if comparison is not None:
                result = comparison.end()
            self._shadow = None
            self._probation_json = {
                "version": target.version,
                "seconds": round(time.monotonic() - began, 3),
                "compared": len(result.agreements) if result is not None else 0,
                "agreement": result.to_json()["agreement"] if result is not None else None,
                "age_ms": {"old": latency_json(old_ages), "new": latency_json(self.times.ages_ms(label))},
                "power_w": self.power.to_json("before", "after"),
                "broken": broken,
            }
        return broken

    def _broken(
        self,
        limits: UpdateLimits,
        ages: list[float],
        old_ages: list[float],
        result: ComparisonResult | None,
        at_end: bool,
    ) -> str | None:
        if (error := self._server.error) is not None:
            return f"it raised an error ({str(error).rstrip('.')})"
        if len(ages) >= MIN_ANSWERS or at_end:
            broken = limits.broken_by_ages(ages, old_ages)
            if broken is not None:
                return broken
        if result is not None and (len(result.agreements) >= MIN_COMPARED or at_end):
            return limits.broken_by_agreement(result.agreements)
        return None

    def _open_comparer(self) -> ShadowProcess | None:
        """Open the model that serves in a process of its own, for the time when it no longer serves. Return None if the
        answers are not compared or if that fails."""
        if self._updates.min_agreement == 0:
            return None
        process = self._process(self._serving.label, self._serving.options)
        try:
            process.open()
        except ModelError as error:
            process.close()
            self._raise_if_stopped()
            self._add("failed", "", f"The answers are not compared: {error.problem}")
            return None
        return process

    # Helpers

    def _process(self, label: str, options: CameraOptions) -> ShadowProcess:
        format, window = self._format()
        self._shadow = ShadowProcess(label, options, self._serving.model, self._server.slots, format, window)
        self._raise_if_stopped()
        return self._shadow

    def _format(self) -> Any:
        last = self._server.last_format
        assert last is not None  # the updater starts after the first answer
        return last

    def _limits(self) -> UpdateLimits:
        latency_ms = self._base.energy.limits.latency_ms
        if latency_ms is None and self._loop.source.live:
            fps = self._base.source.fps or self._format()[0].fps
            latency_ms = 1e3 / fps if fps else None
        return UpdateLimits(latency_ms, self._updates.min_agreement)

    def _dropped(self) -> int:
        return self._loop.source.counters.dropped

    def _label(self, target: ModelTarget) -> str:
        return f"{target.name} {target.version}"

    def _raise_if_stopped(self) -> None:
        if self._end.is_set():
            raise _Stopped

    def _add(self, event: str, version: str, reason: str) -> None:
        self._log.add(event, version, self._serving.label, self._serving.label, reason)

    def _refuse(self, target: ModelTarget, reason: str) -> None:
        self._remember_refusal(target, reason)
        self._add(
            "refused",
            target.version,
            f"{self._label(target)} is refused and not tried again: {reason} {self._serving.label} goes on.",
        )
        self.power.begin("before")

    def _remember_refusal(self, target: ModelTarget, reason: str) -> None:
        with suppress(OSError):
            self._repository.refuse(target.sha256, target.version, reason)
        self._repository.forget_files({self._serving.model.sha256})
