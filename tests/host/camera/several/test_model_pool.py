"""Tests of ``ModelPool``, which keeps models loaded within a memory budget."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arenite.errors import UsageError
from arenite.host.camera.runtimes.base import Runtime, TensorSlot
from arenite.host.camera.runtimes.factory import open_runtime
from arenite.host.camera.several.model_pool import ModelPool
from tests.example_count import example_count
from tests.host.camera.runtimes.small_models import heavy_net, saved

MB = 1_000_000


class FakeRuntime:
    """A runtime without a model that reports a given size."""

    notes: tuple[str, ...] = ()
    threads = 1
    copies_slots = False
    slots: tuple[TensorSlot, ...] = ()

    def __init__(self, name: str, size: int) -> None:
        self.name, self.resident_bytes, self.closed = name, size, False

    def invoke(self, slot: int = 0) -> None:
        pass

    def close(self) -> None:
        assert not self.closed
        self.closed = True


#: The size of each model in bytes.
SIZES = {"a": 10, "b": 20, "c": 30, "d": 45}


class SizedPool:
    """A ``ModelPool`` whose models have the sizes ``SIZES``. ``alive`` lists the models whose runtime is not closed."""

    def __init__(self, budget: int) -> None:
        self.opened: list[FakeRuntime] = []
        self.pool = ModelPool(budget, self.open)

    def open(self, key: str) -> Runtime:
        self.opened.append(FakeRuntime(key, SIZES[key]))
        return self.opened[-1]

    @property
    def alive(self) -> list[str]:
        return [runtime.name for runtime in self.opened if not runtime.closed]


def test_the_least_recently_used_model_is_unloaded() -> None:
    sized_pool = SizedPool(60)
    for key in "abca":
        sized_pool.pool.get(key)
    assert sized_pool.pool.loaded == ("b", "c", "a")
    sized_pool.pool.get("d")
    assert sized_pool.alive == ["a", "d"]
    assert [(load.key, load.again, load.evicted) for load in sized_pool.pool.loads] == [
        ("a", False, ()), ("b", False, ()), ("c", False, ()), ("d", False, ("b", "c")),
    ]  # fmt: skip
    sized_pool.pool.get("b")
    assert sized_pool.pool.loads[-1].again
    content = sized_pool.pool.to_json()
    assert (content["evictions"], content["used"], content["budget"]) == (4, 20, 60)
    assert content["models"]["b"]["reloads"] == 1
    assert content["models"]["b"]["reload_ms"] >= 0
    assert content["models"]["d"] == {
        "bytes": 45, "loaded": False, "first_load_ms": sized_pool.pool.loads[3].ms, "reloads": 0, "reload_ms": None,
    }  # fmt: skip


def test_models_in_use_stay_loaded() -> None:
    sized_pool = SizedPool(60)
    with sized_pool.pool.use("c"):
        sized_pool.pool.get("b")
        sized_pool.pool.get("a")
        assert sized_pool.pool.loaded == ("c", "b", "a")
        with (
            sized_pool.pool.use("b"),
            pytest.raises(UsageError, match="Model d does not fit in memory together with c, b,"),
        ):
            sized_pool.pool.get("d")
        assert set(sized_pool.alive) == {"b", "c"}
    sized_pool.pool.get("d")
    assert sized_pool.alive == ["d"]


def test_a_model_above_the_budget_raises_an_error() -> None:
    sized_pool = SizedPool(40)
    sized_pool.pool.get("a")
    for _ in range(2):  # the second time, the pool already knows the size
        with pytest.raises(UsageError, match=r"Model d needs 45 bytes, but the memory budget is 40"):
            sized_pool.pool.get("d")
    assert sized_pool.alive == ["a"]
    assert len(sized_pool.opened) == 2  # the second time it is not loaded


def test_an_estimated_size_unloads_models_but_raises_no_error() -> None:
    sized_pool = SizedPool(60)
    pool = ModelPool(60, sized_pool.open, lambda key: 1000 if key == "b" else SIZES[key])
    with pool.use("a"):
        pool.get("c")
        pool.get("d")  # 45 and 10 leave no room for 30, so c is unloaded before d is loaded
        assert pool.loads[-1].evicted == ("c",)
        pool.get("b")  # because of the estimate of 1000 bytes, all unused models are unloaded
        assert pool.loaded == ("a", "b")
    assert sized_pool.alive == ["a", "b"]


def test_growth_after_the_first_run_is_counted() -> None:
    sized_pool = SizedPool(60)
    sized_pool.pool.get("a")
    sized_pool.pool.get("c")
    sized_pool.opened[1].resident_bytes = 55
    sized_pool.pool.get("c")
    assert sized_pool.alive == ["c"]
    sized_pool.opened[1].resident_bytes = 61
    with pytest.raises(UsageError, match="61 bytes"):
        sized_pool.pool.get("c")


@settings(max_examples=example_count(60))
@given(st.lists(st.tuples(st.sampled_from(sorted(SIZES)), st.booleans()), max_size=30), st.integers(45, 110))
def test_the_budget_holds_and_models_in_use_stay_open(calls: list[tuple[str, bool]], budget: int) -> None:
    sized_pool = SizedPool(budget)
    open_uses: list[Any] = []
    for key, hold in calls:
        # The pool refuses a model that does not fit beside the models in use.
        with contextlib.suppress(UsageError):
            if hold and len(open_uses) < 2:
                use = sized_pool.pool.use(key)
                open_uses.append((use, use.__enter__()))
            else:
                assert sized_pool.pool.get(key).name == key
        assert sized_pool.pool.used_bytes <= budget
        assert sorted(sized_pool.alive) == sorted(sized_pool.pool.loaded)
        assert all(not runtime.closed for _, runtime in open_uses)  # type: ignore[attr-defined]
    for use, _ in open_uses:
        use.__exit__(None, None, None)
    sized_pool.pool.close()
    assert sized_pool.alive == []


def test_threads_can_share_a_pool() -> None:
    sized_pool = SizedPool(60)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for step in range(200):
                with sized_pool.pool.use("abc"[(step * seed) % 3]) as runtime:
                    assert not runtime.closed  # type: ignore[attr-defined]
        except BaseException as error:  # the test checks the list
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sized_pool.pool.used_bytes <= 60


#: A program that runs three models in turn, 12 times in total. It prints the highest growth of the resident memory in
#: bytes, the numbers of evictions and reloads, and the bytes that the pool counts.
_RSS = """
import sys
from pathlib import Path
from typing import Any
from arenite.host.camera.several.model_pool import ModelPool
from arenite.host.camera.runtimes.process_memory import resident_bytes
from arenite.host.camera.runtimes.factory import open_runtime

runtime = open_runtime(Path(sys.argv[2]))  # the libraries and their own memory do not count
runtime.invoke()
runtime.close()
start = resident_bytes()
pool = ModelPool(int(sys.argv[1]), lambda key: open_runtime(Path(key)), lambda key: Path(key).stat().st_size)
highest = 0
for turn in range(12):
    with pool.use(sys.argv[2 + turn % 3]) as runtime:
        runtime.invoke()
        highest = max(highest, resident_bytes() - start)
print(highest, pool.evictions, sum(load.again for load in pool.loads), pool.used_bytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc of Linux")
def test_real_models_stay_within_the_memory_budget(tmp_path: Path) -> None:
    """Each of the three models takes over 12 MB of memory when it is loaded, because the runtime copies the weights.
    With a budget of 30 MB, at most two models are loaded."""
    paths = [str(saved(heavy_net(4096 + k), tmp_path, f"{k}.tflite")) for k in range(3)]

    def run(budget: int) -> list[int]:
        process = subprocess.run(
            [sys.executable, "-c", _RSS, str(budget), *paths], check=True, capture_output=True, text=True, timeout=60
        )  # fmt: skip
        return [int(word) for word in process.stdout.split()]

    highest, evictions, reloads, used = run(100 * MB)
    assert highest > 36 * MB
    assert (evictions, reloads) == (0, 0)
    assert 36 * MB < used < 60 * MB
    highest, evictions, reloads, used = run(30 * MB)  # nearly every run has to load its model
    assert highest < 32 * MB
    assert evictions >= 9
    assert reloads >= 8
    assert used <= 30 * MB


def test_real_models_answer_after_a_reload(tmp_path: Path) -> None:
    paths = {str(k): saved(heavy_net(512 + k), tmp_path, f"{k}.tflite") for k in range(2)}
    pool = ModelPool(3 * MB, lambda key: open_runtime(paths[key]))
    outputs: dict[str, set[bytes]] = {"0": set(), "1": set()}
    for step in range(8):
        with pool.use(str(step % 2)) as runtime:
            runtime.slots[0].inputs[0].array()[...] = 1
            runtime.invoke()
            outputs[str(step % 2)].add(runtime.slots[0].outputs[0].array().tobytes())
    assert [len(answers) for answers in outputs.values()] == [1, 1]
    pool.close()
