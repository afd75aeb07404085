"""Other runtimes that run models in a page.

Their files come from npm, pinned by hash, into the cache. They are no part of Arenite or of its packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from arenite.models.manifest import Package
from arenite.models.npm_files import npm_files, npm_package

_LITERT = npm_package(
    "@litertjs/core",
    "2.5.3",
    "a97660833e9e7e1063c95e12016718881240b14f7438728a2f62785e912d30fd",
    11_817_097,
    "Apache-2.0",
)
_LITERT_UTILS = npm_package(
    "@litertjs/wasm-utils",
    "2.5.3",
    "ce2a1f8379c067be49e59752e5a7f40db6be09f6e497f0f11e59f17b515366a7",
    4_698,
    "Apache-2.0",
)
_TFJS_TFLITE = npm_package(
    "@tensorflow/tfjs-tflite",
    "0.0.1-alpha.10",
    "ce63551608097a5ecb0f0128fc64c53c15843a851fcd17f83e66e1908a628d71",
    7_753_592,
    "Apache-2.0",
)
_ONNXRUNTIME_WEB = npm_package(
    "onnxruntime-web",
    "1.30.0",
    "d2228df7e4616bc3348bf504ee888f3bec43789a273f0a63f3e68d203ce3bf71",
    33_106_585,
    "MIT",
)


@dataclass(frozen=True)
class Peer:
    """Another runtime: its name for the user, its packages with the files that a page needs, and the format of its
    models, "tflite" or "onnx".

    Each file has the name in the package, and the path below the folder of the runtime on the server. The first package
    is the runtime itself, whose version is reported.
    """

    name: str
    files: tuple[tuple[Package, Mapping[str, str]], ...]
    model_format: str = "tflite"

    @property
    def package(self) -> Package:
        return self.files[0][0]


LITERT = Peer(
    "litertjs",
    (
        (
            _LITERT,
            {
                "package/dist/index.js": "index.js",
                # LiteRT.js loads the first pair if the browser has relaxed SIMD, else the second one.
                "package/wasm/litert_wasm_internal.js": "wasm/litert_wasm_internal.js",
                "package/wasm/litert_wasm_internal.wasm": "wasm/litert_wasm_internal.wasm",
                "package/wasm/litert_wasm_compat_internal.js": "wasm/litert_wasm_compat_internal.js",
                "package/wasm/litert_wasm_compat_internal.wasm": "wasm/litert_wasm_compat_internal.wasm",
            },
        ),
        (_LITERT_UTILS, {"package/dist/index.js": "wasm-utils.js"}),
    ),
)
TFJS_TFLITE = Peer(
    "tfjs-tflite",
    (
        (
            _TFJS_TFLITE,
            {
                "package/wasm/tflite_web_api_client.js": "tflite_web_api_client.js",
                # The runtime asks for its build with threads in every page that may have them. The bench uses one
                # thread, so it gives the build without threads, which does not synchronize.
                "package/wasm/tflite_web_api_cc_simd.js": "tflite_web_api_cc_simd_threaded.js",
                "package/wasm/tflite_web_api_cc_simd.wasm": "tflite_web_api_cc_simd.wasm",
            },
        ),
    ),
)
ONNXRUNTIME_WEB = Peer(
    "onnxruntime-web",
    (
        (
            _ONNXRUNTIME_WEB,
            {
                "package/dist/ort.wasm.min.mjs": "ort.js",
                # The only build. With one thread it starts no workers.
                "package/dist/ort-wasm-simd-threaded.mjs": "ort-wasm.js",
                "package/dist/ort-wasm-simd-threaded.wasm": "ort-wasm.wasm",
            },
        ),
    ),
    "onnx",
)
PEERS = {peer.name: peer for peer in (LITERT, TFJS_TFLITE, ONNXRUNTIME_WEB)}

#: Imports of packages, which a browser cannot resolve, and the files that they mean.
_IMPORTS = {b'"@litertjs/wasm-utils"': b'"./wasm-utils.js"'}


def runtime_files(peer: Peer, progress: bool = True) -> dict[str, bytes]:
    """Return the files of the runtime by their paths below its folder. With ``progress``, a download that takes long is
    shown.

    Raises ``ToolError`` if they are not in the cache and cannot be downloaded.
    """
    files = {}
    for package, paths in peer.files:
        for member, content in npm_files(package, tuple(paths), progress=progress).items():
            for name, path in _IMPORTS.items():
                content = content.replace(name, path) if member.endswith(".js") else content
            files[paths[member]] = content
    return files
