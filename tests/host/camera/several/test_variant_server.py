"""Tests of ``VariantServer``, a ladder of model variants from large to small. Each level of the ladder is a model,
and the next one is loaded while the present one serves frames."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from arenite.errors import ModelError, UsageError
from arenite.host.camera.frames.frame import Frame
from arenite.host.camera.serving.model_server import ModelServer
from arenite.host.camera.serving.warm_up import warm_up
from arenite.host.camera.several.variant_lever import VariantLever
from arenite.host.camera.several.variant_server import ModelVariant, VariantServer
from tests.host.camera.frames.photo_frames import frame_of, photograph
from tests.host.camera.serving.real_servers import CLASSIFIERS, server_of

#: The declared cost of an inference of each model in ``CLASSIFIERS``. Only the ratios of the costs are used.
COSTS = (400.0, 7.5, 1.25)


class Loader:
    """Opens real models. ``open`` lists the open models, ``loads`` counts the loaded models. Loading waits while
    ``loading_allowed`` is not set."""

    def __init__(self, slots: int = 1) -> None:
        self.slots = slots
        self.open: list[str] = []
        self.max_open = 0
        self.loads = 0
        self.loading_allowed = threading.Event()
        self.loading_allowed.set()
        self.fail: Exception | None = None

    def variant(self, name: str, cost: float) -> ModelVariant:
        return ModelVariant(name, cost, lambda: self.load(name))

    def load(self, name: str) -> ModelServer:
        self.loading_allowed.wait(60)
        if self.fail is not None:
            raise self.fail
        server = server_of(name, self.slots)
        self.open.append(server.name)
        self.loads += 1
        self.max_open = max(self.max_open, len(self.open))
        close_server = server.close

        def close() -> None:
            self.open.remove(server.name)
            close_server()

        server.close = close  # type: ignore[method-assign]
        return server

    def ladder(self, keep: int = 2) -> VariantServer:
        return VariantServer(
            [self.variant(name, cost) for name, cost in zip(CLASSIFIERS, COSTS, strict=True)], keep
        )


@pytest.fixture
def loader() -> Iterator[Loader]:
    """A loader of models with one set of tensors each."""
    new_loader = Loader()
    yield new_loader
    new_loader.loading_allowed.set()


def picture() -> Frame:
    """Return a frame with a photograph."""
    return frame_of(photograph(2))


def alone(name: str, frame: Frame) -> object:
    """Return the answer of the model ``name`` without a ladder."""
    server = server_of(name)
    answer = server.serve(frame).answer
    server.close()
    return answer


def test_each_level_answers_like_its_model(loader: Loader) -> None:
    ladder, frame = loader.ladder(), picture()
    for level in (0, 1, 2, 1, 0):
        ladder.move(level)
        assert ladder.wait(60)
        served = ladder.serve(frame)
        assert (served.model, ladder.active, ladder.name) == (CLASSIFIERS[level], level, CLASSIFIERS[level])
        assert served.answer == alone(CLASSIFIERS[level], frame)
    assert ladder.switches == 4
    ladder.close()
    assert loader.open == []


def test_frames_are_served_while_the_next_model_loads(loader: Loader) -> None:
    ladder, frame = loader.ladder(), picture()
    ladder.serve(frame)
    loader.loading_allowed.clear()
    ladder.move(1)
    assert ladder.level == 1
    for _ in range(5):
        assert ladder.serve(frame).model == CLASSIFIERS[0]
    assert not ladder.wait(0.0)
    loader.loading_allowed.set()
    assert ladder.wait(60)
    assert ladder.serve(frame).model == CLASSIFIERS[1]
    ladder.close()


def test_the_level_changes_while_a_model_loads(loader: Loader) -> None:
    ladder, frame = loader.ladder(), picture()
    loader.loading_allowed.clear()
    for level in (1, 2, 1, 2):
        ladder.move(level)
    loader.loading_allowed.set()
    assert ladder.wait(60)
    assert ladder.serve(frame).model == CLASSIFIERS[2]
    ladder.close()
    assert loader.open == []


def test_the_number_of_open_models_is_limited(loader: Loader) -> None:
    ladder, frame = loader.ladder(keep=2), picture()
    for level in (1, 2, 0, 2, 1, 0):
        ladder.move(level)
        assert ladder.wait(60)
        ladder.serve(frame)
        assert len(loader.open) <= 2
    assert loader.max_open == 2
    ladder.close()


def test_an_answered_slot_keeps_no_model_open() -> None:
    """Warming up uses both slots (sets of tensors), frames without overlap use only one. The unused slot must not keep
    its model open."""
    loader = Loader(slots=2)
    ladder, frame = loader.ladder(keep=2), picture()
    warm_up(ladder, frame.format, None)
    for level in (1, 2, 0, 2):
        ladder.move(level)
        assert ladder.wait(60)
        ladder.prepare(frame)
        ladder.invoke()
        ladder.answer()
        assert ladder.model_of() == CLASSIFIERS[level]
    assert loader.max_open == 2
    ladder.close()


def test_kept_models_are_not_loaded_again(loader: Loader) -> None:
    ladder, frame = loader.ladder(keep=3), picture()
    for level in (1, 2, 0, 2, 1, 0):
        ladder.move(level)
        assert ladder.wait(60)
        ladder.serve(frame)
    assert loader.loads == 3
    ladder.close()


def test_a_prepared_frame_is_finished_by_its_model() -> None:
    loader = Loader(slots=2)
    ladder, frame = loader.ladder(), picture()
    assert ladder.slots == 2
    ladder.prepare(frame, 0)
    for level in (1, 2):
        ladder.move(level)
        assert ladder.wait(60)
        ladder.prepare(frame, 1)
        ladder.invoke(1)
    ladder.invoke(0)
    assert ladder.model_of(0) == CLASSIFIERS[0]
    assert ladder.model_of(1) == CLASSIFIERS[2]
    assert ladder.answer(0) == alone(CLASSIFIERS[0], frame)
    assert ladder.answer(1) == alone(CLASSIFIERS[2], frame)
    assert ladder.input(1).nbytes == 32 * 32 * 3
    ladder.close()
    assert loader.open == []


def test_a_model_that_does_not_load_changes_nothing(loader: Loader) -> None:
    ladder, frame = loader.ladder(), picture()
    loader.fail = ModelError("The model is damaged.")
    ladder.move(1)
    assert ladder.wait(60)
    assert ladder.serve(frame).model == CLASSIFIERS[0]
    assert ladder.level == 0
    with pytest.raises(ModelError, match="damaged"):
        ladder.move(1)
    loader.fail = None
    ladder.move(1)
    assert ladder.wait(60)
    assert ladder.serve(frame).model == CLASSIFIERS[1]
    ladder.close()


def test_a_model_with_too_few_slots_raises_an_error(loader: Loader) -> None:
    two_slots = Loader(slots=2)
    ladder = VariantServer([two_slots.variant(CLASSIFIERS[1], 2.0), loader.variant(CLASSIFIERS[2], 1.0)])
    ladder.move(1)
    assert ladder.wait(60)
    with pytest.raises(UsageError, match="has 1 slots, but 2 are in use"):
        ladder.move(1)
    assert loader.open == []
    ladder.close()


def test_costs_are_declared_then_measured(loader: Loader) -> None:
    ladder, frame = loader.ladder(), picture()
    lever = VariantLever(ladder)
    assert (lever.name, lever.levels, lever.level) == ("resolution", 3, 0)
    assert lever.cost(0) == 1.0
    assert lever.cost(1) == COSTS[1] / COSTS[0]
    for level in (0, 2):
        lever.move(level)
        assert ladder.wait(60)
        for _ in range(5):
            ladder.serve(frame)
    state = ladder.to_json()
    times = state["invoke_ms"]
    assert set(times) == {CLASSIFIERS[0], CLASSIFIERS[2]}
    assert lever.cost(2) == pytest.approx(times[CLASSIFIERS[2]] / times[CLASSIFIERS[0]], rel=0.05)
    assert (lever.label(1), lever.level, state["level"]) == (CLASSIFIERS[1], 2, 2)
    ladder.close()


def test_invalid_variants_raise_an_error(loader: Loader) -> None:
    with pytest.raises(UsageError, match="at least two"):
        VariantServer([loader.variant(CLASSIFIERS[0], 1.0)])
    with pytest.raises(UsageError, match="costs more"):
        VariantServer([loader.variant(CLASSIFIERS[2], 1.0), loader.variant(CLASSIFIERS[0], 2.0)])
    ladder = loader.ladder()
    with pytest.raises(UsageError, match="no level 3"):
        ladder.move(3)
    ladder.close()
