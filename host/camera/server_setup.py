"""What serves the frames, as the options ask: one model, a ladder, a cascade, or several beside each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from arenite.errors import ModelError, UsageError
from arenite.host.camera.answers.answer_reader import AnswerReader
from arenite.host.camera.model.camera_model import CameraModel, open_model
from arenite.host.camera.option_parsing import parse_runtime_options
from arenite.host.camera.options import CameraOptions
from arenite.host.camera.runtimes.base import Runtime
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.serving.loop import FrameServer
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.governor.interface import Lever


class ModelServers:
    """``server`` is for the loop; ``models`` have the one of ``--model`` first. ``close`` closes all.

    ``levers``: of the governor. ``more``: parts of the summary. ``warm``: servers to be warmed up one by one.
    """

    def __init__(self, options: CameraOptions, slots: int) -> None:
        self.options, self.slots = options, slots
        self.models: list[CameraModel] = []
        self.notes: list[str] = []
        self.runtime_name = ""
        self.threads = options.threads
        self._runtime_options = parse_runtime_options(options.runtime_options)
        self.crops = False  # whether a model is shown parts of frames, so that these matter in full detail
        self.warm: list[Any] = []
        self.levers: list[Callable[[], Lever]] = []
        self.more: dict[str, Callable[[], Any]] = {}
        self._pool: Any = None
        self._stack = ExitStack()
        chosen = [name for name in ("ladder", "cascade", "rerun", "also") if getattr(options, name)]
        if len(chosen) > 1:
            names = " and ".join(f"--{name.replace('rerun', 'rerun-below')}" for name in chosen)
            raise UsageError(f"{names} cannot be given together.", "Choose one way to use several models.")
        whole = [name for name in chosen if name != "ladder"] + ["memory-budget"] * bool(options.memory_mb)
        if options.cache and whole:
            raise UsageError(
                f"--cache does not go with --{whole[0].replace('rerun', 'rerun-below')}.",
                "It is for one model, or a ladder of models; --motion goes with all.",
            )
        try:
            if options.memory_mb is not None:
                self._open_pool(int(options.memory_mb * 1e6))
            self.server: FrameServer = self._build()
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        self._stack.close()

    def _build(self) -> FrameServer:
        options = self.options
        if options.ladder:
            return self._ladder([options.model, *options.ladder])
        if options.cascade:
            return self._cascade(options.cascade)
        if options.rerun:
            return self._rerun(options.rerun)
        if options.also:
            from arenite.host.camera.several.pooled_server import ModelGroup

            return ModelGroup([self._single(name) for name in (options.model, *options.also)])
        if options.threads > 1:
            return self._threads(options.threads)
        return self._single(options.model)

    # One model

    def _model(self, name: str) -> CameraModel:
        """Options about what belongs to a model are about the first one."""
        options = self.options
        own = (
            {}
            if self.models
            else {k: getattr(options, k) for k in ("preprocessing", "postprocessing", "labels")}
        )
        model = open_model(name, **own)
        self.models.append(model)
        self.notes += [note for note in model.notes if note not in self.notes]
        return model

    def _runtime(
        self,
        model: CameraModel,
        name: str | None = None,
        threads: int | None = None,
        options: dict[str, str] | None = None,
    ) -> Runtime:
        told = {}
        if model.free:
            from arenite.host.camera.several.variant_options import input_shape_option

            told["input"] = input_shape_option(model)

        path = model.path

        def opened() -> Runtime:
            return open_runtime(
                path,
                name or self.options.runtime,
                threads=threads or self.options.threads,
                slots=self.slots,
                options=told | self._runtime_options | (options or {}),
                measure=self.options.measure_runtimes,
            )

        try:
            made = opened()
        except ModelError:
            from arenite.host.camera.model.tflite_repair import repaired_copy

            again = repaired_copy(path) if path.suffix == ".tflite" else None
            if again is None:
                raise
            path, said = again
            made = opened()
            self.notes.append(f"{model.path.name} is refused as it is, and was mended: {' '.join(said)}")
        if getattr(made, "copying", False) and not self.options.overlap:
            # Nobody asked for frames that overlap: no copies then.
            made.close()
            self.slots = 1
            made = opened()
        if not self.runtime_name:
            self.runtime_name = made.name
            self.threads = getattr(made, "threads", self.threads)
        self.notes += [note for note in getattr(made, "notes", ()) if note not in self.notes]
        return made

    def _single(self, name: str) -> Any:
        model = self._model(name)
        if self._pool is not None:
            from arenite.host.camera.several.pooled_server import PooledModelServer

            return PooledModelServer(model, self._pool, str(model.path))
        server = ModelServer(model, self._runtime(model))
        self._stack.callback(server.close)
        self.warm.append(server)
        return server

    def _open_pool(self, budget: int) -> None:
        from arenite.host.camera.several.model_pool import ModelPool

        def opener(key: str) -> Runtime:
            model = next(each for each in self.models if each.path == Path(key))
            return self._runtime(model)

        self.slots = 1
        self._pool = ModelPool(budget, opener, lambda key: Path(key).stat().st_size)
        self._stack.callback(self._pool.close)
        self.more["memory"] = self._pool.to_json

    # Several

    def _cascade(self, text: str) -> FrameServer:
        from arenite.host.camera.several.cascade import Cascade, CascadeStage
        from arenite.host.camera.several.cascade_rules import parse_cascade

        plans = parse_cascade(text)
        self.crops = any(plan.rule is not None and plan.rule.margin is not None for plan in plans)
        stages = [CascadeStage(self._single(plan.model), plan.rule) for plan in plans]
        made = Cascade(stages)
        self.more["cascade"] = made.to_json
        return made  # type: ignore[return-value]

    def _rerun(self, text: str) -> FrameServer:
        from arenite.host.camera.several.cascade import Cascade, CascadeStage
        from arenite.host.camera.several.cascade_rules import LowConfidenceRule, parse_rerun

        below, name = parse_rerun(text)
        made = Cascade(
            [
                CascadeStage(self._single(self.options.model), LowConfidenceRule(below)),
                CascadeStage(self._single(name)),
            ]
        )
        self.more["cascade"] = made.to_json
        return made  # type: ignore[return-value]

    def _ladder(self, texts: list[str]) -> FrameServer:
        """Costs are measured before the loop begins: each variant is opened once."""
        from arenite.host.camera.several.variant_lever import VariantLever
        from arenite.host.camera.several.variant_options import (
            input_shape_option,
            parse_variant,
            with_input_size,
        )
        from arenite.host.camera.several.variant_server import ModelVariant, VariantServer

        rungs: list[ModelVariant] = []
        specs = [parse_variant(text) for text in texts]
        opened: dict[str, CameraModel] = {}
        for spec in specs:
            if spec.model not in opened:
                opened[spec.model] = self._model(spec.model)
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
                return ModelServer(model, self._runtime(model, runtime, options=extra), label)

            server = open_variant()
            # Another size may have outputs that the postprocessing does not suit: better told now than later.
            AnswerReader(model.postprocessing, server.runtime.slots[0], model.labels)
            rungs.append(ModelVariant(spec.label, _seconds(server.runtime), open_variant))
            server.close()
        rungs.sort(key=lambda variant: -variant.cost)
        ladder = VariantServer(rungs)
        self._stack.callback(ladder.close)
        lever = VariantLever(ladder)
        lever.name = _what_differs(specs)
        self.levers.append(lambda: lever)
        self.more["ladder"] = ladder.to_json
        self.warm.append(ladder)
        return ladder  # type: ignore[return-value]

    def _threads(self, count: int) -> FrameServer:
        """A ladder of the same model on fewer and fewer threads."""
        from arenite.host.camera.several.variant_server import ModelVariant, VariantServer
        from arenite.host.governor.levers import threads_lever

        model = self._model(self.options.model)
        if self._pool is not None:
            raise UsageError("--memory-budget goes with one thread.", "Leave out --threads.")

        def variant(threads: int) -> ModelVariant:
            def open_variant() -> ModelServer:
                return ModelServer(model, self._runtime(model, threads=threads))

            return ModelVariant(f"{threads} threads", threads / count, open_variant)

        ladder = VariantServer([variant(threads) for threads in range(count, 0, -1)])
        self._stack.callback(ladder.close)
        self.levers.append(lambda: threads_lever(count, lambda label: ladder.move(count - int(label))))
        self.warm.append(ladder)
        return ladder  # type: ignore[return-value]


def _seconds(runtime: Runtime) -> float:
    """Of an inference, warm: the fastest of a few."""
    fastest = float("inf")
    for _ in range(5):
        begin = time.monotonic()
        runtime.invoke()
        fastest = min(fastest, time.monotonic() - begin)
    return fastest


def _what_differs(specs: list[Any]) -> str:
    if len({spec.model for spec in specs}) > 1:
        return "model"
    return "resolution" if len({spec.size for spec in specs}) > 1 else "accelerator"
