"""Recipe searches on a real Dask cluster, whose scheduler and workers are separate processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from arenite.converters.quantize.search.budget import Budget
from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions
from arenite.errors import ToolError, UsageError
from tests.converters.quantize.search.search_runs import plain_flash, run
from tests.converters.quantize.search.weighted_costs import CrashingCosts, FileSizeCosts

pytestmark = pytest.mark.slow

pytest.importorskip("optuna", reason="needs optuna")
distributed = pytest.importorskip("distributed", reason="needs dask")

ROOT = Path(__file__).parents[4]


def start(*arguments: str) -> subprocess.Popen:
    """Start a Dask command in the background."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    no_output = subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=no_output,
        stderr=no_output,
    )


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a scheduler with two workers and return its address."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    common = ("--scheduler-file", str(file), "--no-dashboard")
    processes = [start("scheduler", "--host", "127.0.0.1", "--port", "0", *common)]
    try:
        worker = ("--nthreads", "1", "--no-nanny", "--local-directory", str(folder))
        processes += [start("worker", *worker, *common) for _ in range(2)]
        with distributed.Client(scheduler_file=str(file), timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            address = client.scheduler.address
        yield address
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_search_runs_on_the_cluster(scheduler: str, tmp_path: Path) -> None:
    limit = plain_flash() - 3500
    result = run(
        Budget(flash=limit, drop=0.03), RecipeSearchOptions(trials=8, dask=scheduler), FileSizeCosts(tmp_path)
    )
    assert result.chosen is not None and result.chosen.build.flash <= limit
    # This process makes the first call, for plain int8. The workers make the other calls.
    callers = {name.split("-")[1] for name in os.listdir(tmp_path)}
    assert len(callers) >= 2 and len(os.listdir(tmp_path)) >= 6
    alone = {o.sha256: o for o in run(Budget(flash=limit, drop=0.03), RecipeSearchOptions(trials=8)).trials}
    assert all(alone[o.sha256] == o for o in result.trials if o.sha256 in alone)


def test_a_missing_scheduler_is_an_error() -> None:
    start_s = time.monotonic()
    with pytest.raises(UsageError, match="no Dask scheduler at tcp"):
        run(Budget(), RecipeSearchOptions(trials=2, dask="tcp://127.0.0.1:9"))
    with pytest.raises(UsageError, match="no Dask scheduler at nonsense"):
        run(Budget(), RecipeSearchOptions(trials=2, dask="nonsense://"))
    assert time.monotonic() - start_s < 60


def test_a_crashed_worker_process_is_an_error() -> None:
    with pytest.raises(ToolError, match="worker process of the search ended"):
        run(Budget(), RecipeSearchOptions(trials=6, workers=2), CrashingCosts(os.getpid()))


def test_an_interruption_ends_the_workers_and_the_search_can_resume(tmp_path: Path) -> None:
    study_file, log = tmp_path / "search.db", tmp_path / "log"
    log.mkdir()
    script = (
        "from pathlib import Path\n"
        "from arenite.converters.quantize.search.budget import Budget\n"
        "from arenite.converters.quantize.search.recipe_search import RecipeSearchOptions\n"
        "from tests.converters.quantize.search.search_runs import run\n"
        "from tests.converters.quantize.search.weighted_costs import FileSizeCosts\n"
        "if __name__ == '__main__':\n"
        f"    run(Budget(flash=9000), RecipeSearchOptions(trials=30, workers=2, study_file=Path({str(study_file)!r})),"
        f" FileSizeCosts(Path({str(log)!r}), 1.0))\n"
    )
    file = tmp_path / "searching.py"
    file.write_text(script)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen(
        [sys.executable, str(file)], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 200
        while len(os.listdir(log)) < 6:
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGINT)  # like Ctrl+C in a terminal, which also interrupts the workers
        _, stderr = child.communicate(timeout=60)
    finally:
        child.kill()
        child.wait()
    assert child.returncode != 0 and stderr.count(b"KeyboardInterrupt") == 1, stderr
    calls = len(os.listdir(log))
    time.sleep(1.5)
    assert len(os.listdir(log)) == calls  # no worker continues
    result = run(Budget(flash=9000), RecipeSearchOptions(trials=8, study_file=study_file))
    assert 1 <= result.resumed <= calls and len(result.trials) >= result.resumed
