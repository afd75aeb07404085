"""Other runtimes that run TFLite models in a page, and the forms of a model that they accept.

Their files come from npm, pinned by hash, into the cache. They are no part of Arenite or of its packages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Tensor
from arenite.converters.tflite.float_edges import (
    has_float_edge,
    quantized_values,
    real_values,
    with_float_edges,
)
from arenite.converters.tflite.writer import to_flatbuffer
from arenite.host.bench.samples import Samples
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


@dataclass(frozen=True)
class Peer:
    """Another runtime: its name for the user, and its packages with the files that a page needs.

    Each file has the name in the package, and the path below the folder of the runtime on the server. The first package
    is the runtime itself, whose version is reported.
    """

    name: str
    files: tuple[tuple[Package, Mapping[str, str]], ...]

    @property
    def package(self) -> Package:
        return self.files[0][0]


LITERT = Peer(
    "litert",
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
PEERS = {peer.name: peer for peer in (LITERT, TFJS_TFLITE)}

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


@dataclass(frozen=True)
class ModelForm:
    """A form of the model for other runtimes. ``edges`` is "own" for the model's own inputs and outputs, "float" if the
    quantized ones are float32 with a QUANTIZE or DEQUANTIZE."""

    edges: str
    model: Model
    source: Model

    def task(self) -> dict[str, Any]:
        """Return what the page needs to know about the form, without the addresses of its files."""
        graph = self.model.main
        return {
            name: [
                {"dtype": t.dtype, "elements": t.elements, "shape": t.shape}
                for t in (graph.tensors[i] for i in indices)
            ]
            for name, indices in (("inputs", graph.inputs), ("outputs", graph.outputs))
        }

    def inputs(self, samples: Samples) -> bytes:
        """Return the inputs of all samples as bytes, in the types of the form."""
        tensors = [self.source.main.tensors[i] for i in self.source.main.inputs]
        return b"".join(
            self._input(tensor, value).tobytes()
            for row in samples.inputs
            for tensor, value in zip(tensors, row, strict=True)
        )

    def _input(self, tensor: Tensor, value: np.ndarray) -> np.ndarray:
        return real_values(tensor, value) if self._is_converted(tensor) else np.ascontiguousarray(value)

    def output_bytes(self) -> int:
        """Return the bytes of one sample's outputs."""
        return sum(self.model.main.tensors[i].nbytes for i in self.model.main.outputs)

    def outputs(self, data: bytes, samples: int) -> list[list[np.ndarray]]:
        """Return the outputs of each sample in the types of the model, from the bytes that the page sent."""
        at, rows = 0, []
        graph, source = self.model.main, self.source.main
        for _ in range(samples):
            row = []
            for index, original in zip(graph.outputs, source.outputs, strict=True):
                tensor, wanted = graph.tensors[index], source.tensors[original]
                array = np.frombuffer(data, DTYPES[tensor.dtype], tensor.elements, at).reshape(tensor.shape)
                row.append(quantized_values(wanted, array) if self._is_converted(wanted) else array)
                at += tensor.nbytes
            rows.append(row)
        return rows

    def _is_converted(self, tensor: Tensor) -> bool:
        return self.edges == "float" and has_float_edge(tensor)

    def file(self) -> bytes:
        """Return the TFLite file."""
        return to_flatbuffer(self.model)


def forms_of(source: Model) -> Sequence[ModelForm]:
    """Return the forms of a model that a runtime may accept, the first one that it should try first."""
    # Without signatures every runtime orders inputs and outputs as the graph does.
    plain = replace(source, signatures=(), metadata={})
    graph = plain.main
    own = ModelForm("own", plain, source)
    if not any(has_float_edge(graph.tensors[i]) for i in (*graph.inputs, *graph.outputs)):
        return (own,)
    return (own, ModelForm("float", with_float_edges(plain), source))
