"""Measure the bytes of a page with a model, and the time from its navigation to its first answer with an empty cache,
in headless Chromium: a package of ``arenite web`` against LiteRT.js with the same network.

    python -m benchmarks.web.first_answer MODEL [--repeats 10] [--megabits 50 --latency-ms 40]

Both pages are the smallest ones that answer, with links with which the browser loads all their files at once. Each
navigation is that of a new browser with a new profile, and the pages take turns. The server compresses files with gzip.
An empty page shows how much of the time is that of the browser itself. Figures are valid only for the computer and the
load that the last line names.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from arenite.host.http_server.request_handler import CONTENT_TYPES
from arenite.host.interface.model import load
from arenite.host.web.browser_bench.model_forms import forms_of
from arenite.host.web.browser_bench.peers import LITERT, runtime_files
from arenite.host.web.package import write_package
from tests.browser import BROWSER, Browser


def _page(
    script: str, modules: Sequence[str] = (), scripts: Sequence[str] = (), others: Sequence[str] = ()
) -> bytes:
    """Return a page with the module ``script``. It has links for files that the script loads: modules, scripts and
    others."""
    links = [f'<link rel="modulepreload" href="{name}">' for name in modules]
    links += [f'<link rel="preload" as="script" href="{name}">' for name in scripts]
    links += [f'<link rel="preload" as="fetch" crossorigin href="{name}">' for name in others]
    head = f'<!doctype html><meta charset="utf-8"><title>Page</title>{"".join(links)}'
    return f'{head}<body><script type="module">{script}</script>'.encode()


_EMPTY_PAGE = "window.answer = [0, performance.now()];"
_OWN_PAGE = """
import { load } from "./model.js";
const { model } = await load();
model.inputs.forEach(({ data }) => data.fill(1));
model.invoke();
window.answer = [model.output.data[0], performance.now()];
"""
_LITERT_PAGE = """
import { loadAndCompile, loadLiteRt, Tensor } from "./index.js";
const file = fetch("./model.tflite").then((reply) => reply.arrayBuffer());
await loadLiteRt("./wasm/");
const model = await loadAndCompile(new Uint8Array(await file), { accelerator: "wasm" });
const inputs = model.getInputDetails().map(({ shape }) => (
  new Tensor(new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(1), [...shape])
));
const [output] = await model.run(inputs);
window.answer = [output.toTypedArray()[0], performance.now()];
"""


def pages(image: Path) -> dict[str, dict[str, bytes]]:
    """Return the files of the pages by name and path."""
    prepared = load(image).prepared
    with tempfile.TemporaryDirectory() as folder:
        package = write_package(Path(folder) / "package", {"model": prepared})
        own = {f"/{path.name}": path.read_bytes() for path in package.directory.iterdir()}
    litert = {f"/{path}": content for path, content in runtime_files(LITERT).items()}
    form = forms_of(prepared.source)[-1]
    return {
        "empty page": {"/": _page(_EMPTY_PAGE)},
        "arenite": {**own, "/": _page(_OWN_PAGE, ["./model.js"], [], ["./model-relaxed.wasm"])},
        "LiteRT.js": {
            **litert,
            "/": _page(
                _LITERT_PAGE,
                ["./index.js", "./wasm-utils.js"],
                ["./wasm/litert_wasm_internal.js"],
                ["./model.tflite", "./wasm/litert_wasm_internal.wasm"],
            ),
            "/model.tflite": form.file(),
        },
    }


def brotli_bytes(content: bytes) -> int | None:
    """Return the size after compression with brotli by Node.js. Return None if Node.js is not installed."""
    node = shutil.which("node")
    if node is None:
        return None
    program = "console.log(require('zlib').brotliCompressSync(require('fs').readFileSync(0)).length)"
    return int(subprocess.run([node, "-e", program], input=content, capture_output=True, check=True).stdout)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections that the browser drops when it ends."""


@contextmanager
def serve(files: Mapping[str, bytes], requested: set[str]) -> Iterator[str]:
    """Serve ``files``, compressed with gzip, and yield the address. ``requested`` gets the paths that were sent."""
    compressed = {path: gzip.compress(content, 9) for path, content in files.items()}

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            content = compressed.get(self.path)
            if content is not None:
                requested.add(self.path)
            suffix = "html" if self.path == "/" else self.path.rpartition(".")[2]
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Type", CONTENT_TYPES.get(suffix, "application/octet-stream"))
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def first_answer_ms(url: str, network: Mapping[str, float] | None) -> float:
    """Open the page in a new browser, and return the milliseconds from the navigation to its first answer."""
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder) / "profile") as browser:
        if network is not None:
            browser.call("Network.emulateNetworkConditions", offline=False, uploadThroughput=-1, **network)
        browser.call("Page.navigate", url=url)
        return float(browser.until("window.answer")[1])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.web.first_answer",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", type=Path, help="a quantized .tflite file")
    parser.add_argument("--repeats", type=int, default=10, help="navigations to each page (default: 10)")
    parser.add_argument("--megabits", type=float, help="emulate a network with this rate (default: loopback)")
    parser.add_argument(
        "--latency-ms", type=float, default=0.0, help="latency of the emulated network (default: 0)"
    )
    options = parser.parse_args()
    if BROWSER is None:
        sys.exit("This benchmark needs Chromium.")
    network = None
    if options.megabits is not None:
        network = {"downloadThroughput": options.megabits * 1e6 / 8, "latency": options.latency_ms}
    contents = pages(options.model)
    requested: dict[str, set[str]] = {name: set() for name in contents}
    times: dict[str, list[float]] = {name: [] for name in contents}
    for _ in range(options.repeats):
        for name, files in contents.items():
            with serve(files, requested[name]) as url:
                times[name].append(first_answer_ms(url, network))
    print("| page | files | B | gzip B | brotli B | median, ms | shortest, ms |\n|-|-:|-:|-:|-:|-:|-:|")
    totals = {}
    for name, files in contents.items():
        sent = [files[path] for path in sorted(requested[name])]
        brotli = [brotli_bytes(content) for content in sent]
        totals[name] = (
            sum(map(len, sent)),
            sum(len(gzip.compress(content, 9)) for content in sent),
            None if None in brotli else sum(n for n in brotli if n is not None),
            statistics.median(times[name]),
            min(times[name]),
        )
        cells = [f"{value:,.0f}" if value is not None else "-" for value in totals[name]]
        print(f"| {name} | {len(sent)} | {' | '.join(cells)} |")
    own, other = totals["arenite"], totals["LiteRT.js"]
    ratios = [f"1/{b / a:.1f}" if a and b else "-" for a, b in zip(own, other, strict=True)]
    print(f"| ratio | | {' | '.join(ratios)} |")
    print(f"Load of the computer at the end: {os.getloadavg()[0]:.1f}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
