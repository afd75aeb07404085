"""Build the server that the options describe: one model, variants of a model, a cascade, or several models."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arenite.errors import ModelError, UsageError
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.host.camera.option_parsing import parse_runtime_options
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.runtimes.base import Runtime
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving.frame_server import FrameServer, StagedServer
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.governor.interface import Lever

if TYPE_CHECKING:
    from arenite.host.camera.several.model_pool import ModelPool
    from arenite.host.camera.several.variant_options import VariantSpec


class ModelServers:
    """The server for the loop, with its models and runtimes.

    ``slots`` is the number of frames that the server should be able to process at the same time.
    ``previous`` is an earlier version of the model; with it, only the model of ``--model`` is opened, with one runtime.

    Attributes:
        server: serves the frames.
        models: all models; the model of ``--model`` comes first.
        warm: the servers to warm up, one by one.
        levers: functions that create levers for the governor.
        parts: functions that return further parts of the result's JSON, by the key of the part.
        crops: whether a model gets parts of frames, so that frames must keep their full resolution.
        notes: sentences for display, about the models and runtimes.
        runtime_name, threads: the name and the number of threads of the first runtime that was opened.

    ``close`` closes all models and runtimes.
    """

    def __init__(self, options: CameraOptions, slots: int, previous: CameraModel | None = None) -> None:
        self.options, self.slots = options.model, slots
        self._previous, self._replaceable = previous, options.updates.repository is not None
        self._overlap = options.loop.overlap
        self.models: list[CameraModel] = []
        self.notes: list[str] = []
        self.runtime_name = ""
        self.threads = self.options.threads
        self._runtime_options = parse_runtime_options(self.options.runtime_options)
        self.crops = False
        self.warm: list[StagedServer] = []
        self.levers: list[Callable[[], Lever]] = []
        self.parts: dict[str, Callable[[], Any]] = {}
        self._pool: ModelPool | None = None
        self._stack = ExitStack()
        self._check_combination(options)
        try:
            if self.options.memory_mb is not None and previous is None:
                self._open_pool(int(self.options.memory_mb * 1e6))
            self.server: FrameServer = self._build_server()
        except BaseException:
            self._stack.close()
            raise

    @staticmethod
    def _check_combination(options: CameraOptions) -> None:
        """Raise ``UsageError`` for options that exclude each other."""
        model = options.model
        values = {
            "--ladder": model.variants,
            "--cascade": model.cascade,
            "--rerun-below": model.rerun_below,
            "--also": model.also,
        }
        chosen = [name for name, value in values.items() if value]
        if len(chosen) > 1:
            raise UsageError(
                f"{' and '.join(chosen)} cannot be given together.", "Choose one way to use several models."
            )
        if options.updates.repository is not None:
            chosen += ["--memory-budget"] * bool(model.memory_mb) + ["--scenario"] * bool(
                options.loop.scenario
            )
            if chosen:
                raise UsageError(
                    f"--updates does not work with {' and '.join(chosen)}.", "Use --updates with one model."
                )
        unstaged = [name for name in chosen if name != "--ladder"] + ["--memory-budget"] * bool(
            model.memory_mb
        )
        if options.loop.cache and unstaged:
            raise UsageError(
                f"--cache does not work with {unstaged[0]}.",
                "Use --cache with one model or with --ladder; --motion also works with several models.",
            )

    def close(self) -> None:
        self._stack.close()

    def _build_server(self) -> FrameServer:
        options = self.options
        if self._previous is not None:
            return self._build_single(options.name)
        if self._replaceable:
            return self._build_replaceable(options.name)
        if options.variants:
            return self._build_variants([options.name, *options.variants])
        if options.cascade:
            return self._build_cascade(options.cascade)
        if options.rerun_below:
            return self._build_rerun(options.rerun_below)
        if options.also:
            from arenite.host.camera.several.pooled_server import ModelGroup

            return ModelGroup([self._build_single(name) for name in (options.name, *options.also)])
        if options.threads > 1:
            return self._build_thread_variants(options.threads)
        return self._build_single(options.name)

    # One model

    def _open_model(self, name: str) -> CameraModel:
        """Open and return a model. The options of preprocessing, postprocessing and labels apply to the first model
        only."""
        if self.models:
            model = open_model(name)
        else:
            options = self.options
            model = open_model(
                name,
                preprocessing=options.preprocessing,
                postprocessing=options.postprocessing,
                labels=options.labels,
                previous=self._previous,
            )
        self.models.append(model)
        self.notes += [note for note in model.notes if note not in self.notes]
        return model

    def _open_runtime(
        self,
        model: CameraModel,
        name: str | None = None,
        threads: int | None = None,
        options: dict[str, str] | None = None,
    ) -> Runtime:
        input_option = {}
        if model.any_size:
            from arenite.host.camera.several.variant_options import input_shape_option

            input_option["input"] = input_shape_option(model)

        path = model.path

        def open_path() -> Runtime:
            return open_runtime(
                path,
                name or self.options.runtime,
                threads=threads or self.options.threads,
                slots=self.slots,
                options=input_option | self._runtime_options | (options or {}),
                measure=self.options.measure_runtimes,
                trial=True,
            )

        try:
            runtime = open_path()
        except ModelError:
            from arenite.host.camera.model.tflite_repair import repaired_copy

            repaired = repaired_copy(path) if path.suffix == ".tflite" else None
            if repaired is None:
                raise
            path, repairs = repaired
            runtime = open_path()
            self.notes.append(
                f"The runtime refused {model.path.name}; a repaired copy is used: {' '.join(repairs)}"
            )
        if runtime.copies_slots and not self._overlap:
            # With several slots this runtime copies tensors, and overlapping was not requested, so use one slot.
            runtime.close()
            self.slots = 1
            runtime = open_path()
        if not self.runtime_name:
            self.runtime_name, self.threads = runtime.name, runtime.threads
        self.notes += [note for note in runtime.notes if note not in self.notes]
        return runtime

    def _build_single(self, name: str) -> FrameServer:
        model = self._open_model(name)
        if self._pool is not None:
            from arenite.host.camera.several.pooled_server import PooledModelServer

            return PooledModelServer(model, self._pool, str(model.path))
        server = ModelServer(model, self._open_runtime(model))
        self._stack.callback(server.close)
        self.warm.append(server)
        return server

    def _build_replaceable(self, name: str) -> FrameServer:
        from arenite.host.camera.several.hot_swap_server import HotSwapServer

        model = self._open_model(name)
        server = HotSwapServer(ModelServer(model, self._open_runtime(model)))
        self._stack.callback(server.close)
        self.warm.append(server)
        return server

    def _open_pool(self, budget_bytes: int) -> None:
        from arenite.host.camera.several.model_pool import ModelPool

        def opener(key: str) -> Runtime:
            model = next(model for model in self.models if model.path == Path(key))
            return self._open_runtime(model)

        self.slots = 1
        self._pool = ModelPool(budget_bytes, opener, lambda key: Path(key).stat().st_size)
        self._stack.callback(self._pool.close)
        self.parts["memory"] = self._pool.to_json

    # Several models

    def _build_cascade(self, text: str) -> FrameServer:
        from arenite.host.camera.several.cascade import Cascade, CascadeStage
        from arenite.host.camera.several.cascade_rules import parse_cascade

        plans = parse_cascade(text)
        self.crops = any(plan.rule is not None and plan.rule.crop_factor is not None for plan in plans)
        stages = [CascadeStage(self._build_single(plan.model), plan.rule) for plan in plans]
        cascade = Cascade(stages)
        self.parts["cascade"] = cascade.to_json
        return cascade

    def _build_rerun(self, text: str) -> FrameServer:
        from arenite.host.camera.several.cascade import Cascade, CascadeStage
        from arenite.host.camera.several.cascade_rules import LowConfidenceRule, parse_rerun

        below, name = parse_rerun(text)
        cascade = Cascade(
            [
                CascadeStage(self._build_single(self.options.name), LowConfidenceRule(below)),
                CascadeStage(self._build_single(name)),
            ]
        )
        self.parts["cascade"] = cascade.to_json
        return cascade

    def _build_variants(self, texts: list[str]) -> FrameServer:
        """Return a server of model variants. Open each variant once before the loop begins, to measure its cost."""
        from arenite.host.camera.several.variant_lever import VariantLever
        from arenite.host.camera.several.variant_options import (
            input_shape_option,
            parse_variant,
            with_input_size,
        )
        from arenite.host.camera.several.variant_server import ModelVariant, VariantServer

        variants: list[ModelVariant] = []
        specs = [parse_variant(text) for text in texts]
        opened: dict[str, CameraModel] = {}
        for spec in specs:
            if spec.model not in opened:
                opened[spec.model] = self._open_model(spec.model)
            model = opened[spec.model]
            extra: dict[str, str] = {}
            if spec.size is not None:
                model = with_input_size(model, spec.size)
                self.models.append(model)
                extra["input"] = input_shape_option(model)

            def open_variant(
                model: CameraModel = model,
                runtime: str | None = spec.runtime,
                extra: dict[str, str] = extra,
                label: str = spec.label,
            ) -> ModelServer:
                return ModelServer(model, self._open_runtime(model, runtime, options=extra), label)

            server = open_variant()
            # Creating a reader raises an error if the outputs of this variant do not fit the postprocessing. That must
            # happen before the loop begins.
            AnswerReader(model.postprocessing, server.runtime.slots[0], model.labels)
            variants.append(ModelVariant(spec.label, _inference_s(server.runtime), open_variant))
            server.close()
        variants.sort(key=lambda variant: -variant.cost)
        server_of_variants = VariantServer(variants)
        self._stack.callback(server_of_variants.close)
        lever = VariantLever(server_of_variants)
        lever.name = _lever_name(specs)
        self.levers.append(lambda: lever)
        self.parts["ladder"] = server_of_variants.to_json
        self.warm.append(server_of_variants)
        return server_of_variants

    def _build_thread_variants(self, count: int) -> FrameServer:
        """Return a server whose variants are the same model with ``count`` threads, ``count`` - 1 threads, and so
        on."""
        from arenite.host.camera.several.variant_server import ModelVariant, VariantServer
        from arenite.host.governor.levers import threads_lever

        model = self._open_model(self.options.name)
        if self._pool is not None:
            raise UsageError("--memory-budget works with one thread only.", "Leave out --threads.")

        def variant(threads: int) -> ModelVariant:
            def open_variant() -> ModelServer:
                return ModelServer(model, self._open_runtime(model, threads=threads))

            return ModelVariant(f"{threads} threads", threads / count, open_variant)

        server = VariantServer([variant(threads) for threads in range(count, 0, -1)])
        self._stack.callback(server.close)
        self.levers.append(lambda: threads_lever(count, lambda label: server.move(count - int(label))))
        self.warm.append(server)
        return server


def _inference_s(runtime: Runtime) -> float:
    """Return the time of the fastest of five inferences, in seconds."""
    fastest = float("inf")
    for _ in range(5):
        begin = time.monotonic()
        runtime.invoke()
        fastest = min(fastest, time.monotonic() - begin)
    return fastest


def _lever_name(specs: list[VariantSpec]) -> str:
    """Return the name of the governor's lever: the property in which the variants differ."""
    if len({spec.model for spec in specs}) > 1:
        return "model"
    return "resolution" if len({spec.size for spec in specs}) > 1 else "accelerator"
