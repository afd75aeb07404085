"""A page accepts no mutated metadata, and refuses all of it in words."""

from __future__ import annotations

import http.server
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.browser import BROWSER, Browser
from tests.host.web.updates.root_rotation import rotate_roots
from tests.host.web.updates.update_site import Site, build

pytest.importorskip("ziglang", reason="needs ziglang")
pytest.importorskip("tuf", reason="needs tuf")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium"),
]

COUNT = 1500
FILES = ("2.root.json", "3.root.json", "timestamp.json", "3.snapshot.json", "3.targets.json")
#: Values that take the place of parts of the metadata.
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2, 3, 4, 99, 1.5, 1e300, 2**53, 2**64, "", "root", "timestamp", "2030-01-01T00:00:00Z",
    "9999-99-99T99:99:99Z", "0" * 64, "0" * 128, "é", "\U0001f600", [], {}, [[]],
    {"__proto__": {}}, {"sha256": "0" * 64},
)  # fmt: skip


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Return another file than ``content``: some bytes, or a part of its JSON, are different."""
    kind = rng.randrange(4)
    while True:
        if kind == 0:
            changed = _bytes(content, rng)
        elif kind == 1:
            changed = content[: rng.randrange(len(content))] + rng.choice(
                (b"", b"}", b"[" * 100_000, b"\xff")
            )
        else:
            changed = json.dumps(_parts(json.loads(content), rng, 1 + rng.randrange(3))).encode()
        if changed != content:
            return changed


def _bytes(content: bytes, rng: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(1 + rng.randrange(4)):
        at = rng.randrange(len(data))
        data[at : at + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(data)


def _parts(content: Any, rng: random.Random, count: int) -> Any:
    """Return JSON with ``count`` changed parts. Their depth is random."""
    for _ in range(count):
        content = _changed(content, rng)
    return content


def _changed(content: Any, rng: random.Random) -> Any:
    if isinstance(content, dict) and content and rng.random() < 0.9:
        key = rng.choice(list(content))
        action = rng.randrange(8)
        if action == 0:
            return {k: v for k, v in content.items() if k != key}
        if action == 1:
            return {**content, rng.choice(("x", "root", "__proto__", "expires", "meta")): rng.choice(VALUES)}
        if action == 2:
            return {**content, key: content[rng.choice(list(content))]}
        return {**content, key: _changed(content[key], rng)}
    if isinstance(content, list) and content and rng.random() < 0.8:
        at = rng.randrange(len(content))
        if rng.random() < 0.3:
            return rng.choice(([], content + content, content[:at]))
        return [*content[:at], _changed(content[at], rng), *content[at + 1 :]]
    if isinstance(content, int) and rng.random() < 0.5:
        return content + rng.choice((-1, 1))
    if isinstance(content, str) and content and rng.random() < 0.5:
        at = rng.randrange(len(content))
        return content[:at] + rng.choice("0123456789abcdefZ") + content[at + 1 :]
    return rng.choice(VALUES)


class _MutatingHandler(http.server.SimpleHTTPRequestHandler):
    """Serves ``/SEED/metadata/FILE`` with one file changed as SEED says, and other paths as they are."""

    protocol_version = "HTTP/1.1"  # keeps connections, which is faster
    site: ClassVar[Site]

    def do_GET(self) -> None:
        seed, _, rest = self.path.lstrip("/").partition("/")
        if not seed.isdecimal():
            super().do_GET()
            return
        path = self.site.repository / rest
        if not path.is_file():
            self.send_error(404)
            return
        rng = random.Random(int(seed))
        victim = rng.choice(FILES)
        content = path.read_bytes()
        if path.name == victim and seed != "0":
            content = mutated(content, rng)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(site: Site) -> Iterator[str]:
    handler = type("Handler", (_MutatingHandler,), {"site": site})
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *args: handler(*args, directory=str(site.folder))
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


#: Checks the repositories of the seeds, each with an empty memory. Returns how many were refused, how many gave the
#: same content as the one without changes (another form of the same JSON, or a signature that does not
#: count), and what else happened.
CHECK = """
(async (first, last) => {
  const { ModelRepository } = await import("./model_repository.js");
  const { canonicalBytes } = await import("./canonical_json.js");
  const settings = await (await fetch("./updates.json")).json();
  const root = new TextEncoder().encode(settings.root);
  const text = (bytes) => new TextDecoder().decode(canonicalBytes(JSON.parse(new TextDecoder().decode(bytes)).signed));
  const find = async (seed) => {
    const values = new Map();
    const state = { refused: {}, minCounter: {} };
    const store = {
      get: async (name) => values.get(name), put: async (name, value) => { values.set(name, value); },
      state: async () => state, change: async (change) => change(state),
    };
    const repository = new ModelRepository(new URL(`/${seed}/`, location.href), root, store);
    const { metadata, ...target } = await repository.find("net");
    const files = [...values.get("roots"), ...["timestamp", "snapshot", "targets"].map((name) => values.get(name))];
    return JSON.stringify([target, [...target.files], files.map(text)]);
  };
  const wanted = await find(0);
  const found = { refused: 0, same: 0, others: [] };
  const seeds = Array.from({ length: last - first }, (_, k) => first + k);
  const test = async (seed) => {
    try {
      if (await find(seed) === wanted) found.same++; else found.others.push(`${seed}: accepted`);
    } catch (error) {
      const inWords = ["Refused", "Unavailable"].includes(error.name) &&
        /^([A-Z]|http).*[.)]$/s.test(error.message.trim());
      if (inWords) found.refused++; else found.others.push(`${seed}: ${error.name} ${error.message}`);
    }
  };
  const lane = async () => {
    while (seeds.length > 0) {
      await test(seeds.pop());
    }
  };
  await Promise.all(Array.from({ length: 6 }, lane));
  return found;
})"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """A site whose repository has three roots and a model."""
    built = build(tmp_path_factory.mktemp("mutations"))
    built.publish("same", "2.0.0")
    rotate_roots(built)
    return built


def test_no_mutated_metadata_is_accepted(site: Site, tmp_path: Path) -> None:
    step = 200
    with serving(site) as address, Browser(tmp_path / "profile") as browser:
        browser.open(f"{address}/page/")
        refused = same = 0
        for first in range(1, COUNT + 1, step):
            last = min(first + step, COUNT + 1)
            found = browser.value(f"{CHECK}({first}, {last})")
            assert found["others"] == []
            refused += found["refused"]
            same += found["same"]
        assert refused + same == COUNT
        assert refused > 0.9 * COUNT, (refused, same)
