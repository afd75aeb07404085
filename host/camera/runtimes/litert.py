"""Run models on LiteRT's CompiledModel, which is called through ctypes. Accelerators: CPU (XNNPACK), GPU and NPU.

The model file is mapped into memory, not read. Each slot has its own tensor buffers, and the model reads and writes
them in place: on the CPU, a byte that is written to ``TensorMemory.address`` is in the model's input. A GPU or NPU
buffer that the processor cannot address is copied once per invocation; ``notes`` then says so.

The GPU accelerator needs a Vulkan driver (WebGPU), and the NPU accelerator needs a dispatch library of the vendor. The
NPU code has never run on such hardware.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from arenite.errors import ModelError, UsageError
from arenite.host.camera.runtimes import litert_library as lite
from arenite.host.camera.runtimes import litert_options
from arenite.host.camera.runtimes.base import TensorSlot
from arenite.host.camera.runtimes.litert_buffers import SignatureTensor, SlotBuffers, signature_tensor
from arenite.host.camera.runtimes.litert_library import Handle, LiteRtError, Size
from arenite.host.camera.runtimes.process_memory import allocated_bytes, mapped_bytes, parse_shape

_NAMES = {"litert-cpu": lite.CPU, "litert-gpu": lite.GPU | lite.CPU, "litert-npu": lite.NPU | lite.CPU}
_NOTHING_TO_FREE = lite.OpaqueDeleter(lambda _: None)


class CompiledModel:
    """The ``Runtime`` for LiteRT. Its options are:

    * ``input`` (and ``input1``, …): another shape of an input, such as 1x192x192x3;
    * ``weight_cache``: a file for XNNPACK's packed weights, which later runs map into memory;
    * ``precision``: the precision of the GPU, fp16 or fp32;
    * ``dispatch`` and ``plugins``: folders of the NPU vendor's libraries;
    * ``signature``: the key of the model's signature to run.

    Only one thread at a time may call ``invoke``, even for different slots. Meanwhile, other threads may write and read
    other slots.

    Raises ``ModelError`` with LiteRT's message, ``UsageError``, and ``OSError`` if the library is not usable.
    """

    def __init__(self, path: Path, name: str, threads: int, slots: int, options: Mapping[str, str]) -> None:
        self.name = name
        self.path = path
        self.threads = threads
        self.notes: tuple[str, ...] = ()
        self.copies_slots = False
        before = allocated_bytes()
        self._lib = lite.library()
        self._resources = contextlib.ExitStack()
        try:
            _, log = lite.with_captured_log(lambda: self._load(threads, slots, options))
        except LiteRtError as error:
            self._resources.close()
            raise ModelError(
                f"{name} cannot run {path}: LiteRT reported: {error.message}.",
                "Try --runtime litert-interpreter, or convert the model again.",
            ) from error
        except BaseException:
            self._resources.close()
            raise
        if log:
            self.notes += (f"LiteRT reported: {log}",)
        self.resident_bytes = max(allocated_bytes() - before, self._buffer_bytes)
        #: Runs the model on the inputs of a slot.
        self.invoke: Callable[..., None] = self._invoke_first

    # Loading

    def _load(self, threads: int, slots: int, options: Mapping[str, str]) -> None:
        lib, accelerators = self._lib, _NAMES[self.name]
        self._environment = litert_options.shared_environment(
            accelerators, options.get("dispatch", ""), options.get("plugins", "")
        )
        self._model = lib.make("LiteRtCreateModelFromFile", self._environment, os.fsencode(self.path))
        self._resources.callback(lib.c.LiteRtDestroyModel, self._model)
        self._compiled = self._compile(accelerators, threads, options)
        self._resources.callback(lib.c.LiteRtDestroyCompiledModel, self._compiled)
        if accelerators != lite.CPU:
            self._check_accelerated()
        self._index, self._signature = self._choose_signature(options)
        self._resize(options)
        inputs, outputs = self._signature_tensors("Input"), self._signature_tensors("Output")
        self._buffer_bytes = slots * sum(tensor.bytes for tensor in inputs + outputs)
        buffers = [SlotBuffers(lib, self._environment, inputs, outputs) for _ in range(slots)]
        for slot_buffers in buffers:
            self._resources.callback(slot_buffers.close)
        order_in, order_out = self._file_order("Input", len(inputs)), self._file_order("Output", len(outputs))
        self.slots = tuple(
            TensorSlot(tuple(slot.inputs[i] for i in order_in), tuple(slot.outputs[i] for i in order_out))
            for slot in buffers
        )
        self._buffers = buffers
        self._staged = any(slot.staged for slot in buffers)
        if self._staged:
            self.notes += (f"{self.name} has its own memory: inputs and outputs are copied once each.",)
        if not mapped_bytes(self.path) and os.path.exists("/proc/self/maps"):
            self.notes += ("The model file is not mapped.",)
        # The arguments of LiteRtRunCompiledModel are converted only once, so that a call through ctypes costs only 0.5
        # µs.
        self._run = lib.c["LiteRtRunCompiledModel"]
        self._calls = [slot.arguments(self._compiled, self._index) for slot in buffers]

    def _compile(self, accelerators: int, threads: int, options: Mapping[str, str]) -> Handle:
        lib = self._lib
        compile_options = lib.make("LiteRtCreateOptions")
        try:
            lib.call("LiteRtSetOptionsHardwareAccelerators", compile_options, accelerators)
            payloads = litert_options.option_texts(threads, options)
            texts = {key: ctypes.create_string_buffer(text.encode()) for key, text in payloads.items()}
            for key, text in texts.items():
                opaque = lib.make("LiteRtCreateOpaqueOptions", key.encode(), text, _NOTHING_TO_FREE)
                lib.call("LiteRtAddOpaqueOptions", compile_options, opaque)
            return lib.make("LiteRtCreateCompiledModel", self._environment, self._model, compile_options)
        finally:
            lib.c.LiteRtDestroyOptions(compile_options)

    def _check_accelerated(self) -> None:
        """Add a note if operators run on the CPU. LiteRT gives no message when it runs operators on the CPU because the
        accelerator does not support them."""
        full = ctypes.c_bool()
        function = "LiteRtCompiledModelIsNonCpuFullyAccelerated"
        if hasattr(self._lib.c, function):
            self._lib.call(function, self._compiled, ctypes.byref(full))
            if not full.value:
                self.notes += ("Some operators, or all, run on the CPU.",)

    def _choose_signature(self, options: Mapping[str, str]) -> tuple[int, Handle]:
        """Return the index and the handle of the signature that the options name, or of the first signature."""
        lib, keys = self._lib, []
        for i in range(lib.size("LiteRtGetNumModelSignatures", self._model)):
            signature = lib.make("LiteRtGetModelSignature", self._model, Size(i))
            key = ctypes.c_char_p()
            lib.call("LiteRtGetSignatureKey", signature, ctypes.byref(key))
            keys.append((key.value or b"").decode("utf-8", "replace"))
            if options.get("signature", keys[0]) == keys[-1]:
                return i, signature
        raise UsageError(
            f"{self.path} has no signature '{options.get('signature')}'.",
            f"Give one of its signatures: {', '.join(keys)}.",
        )

    def _resize(self, options: Mapping[str, str]) -> None:
        count = self._lib.size("LiteRtGetNumSignatureInputs", self._signature)
        for place, index in enumerate(self._file_order("Input", count)):
            text = options.get(f"input{place}", options.get("input", "") if place == 0 else "")
            if not text:
                continue
            shape = parse_shape(text)
            try:
                self._lib.call(
                    "LiteRtCompiledModelResizeInputTensorNonStrict", self._compiled, Size(self._index),
                    Size(index), (ctypes.c_int * len(shape))(*shape), Size(len(shape)),
                )  # fmt: skip
                self._output_layouts()
            except LiteRtError as error:
                error.message = f"an input of {text} is refused: {error.message}"
                raise

    def _output_layouts(self) -> list[lite.Layout]:
        """Return the layouts of the outputs in the signature's order. LiteRT first allocates the tensors for the
        present shapes of the inputs."""
        count = self._lib.size("LiteRtGetNumSignatureOutputs", self._signature)
        layouts = (lite.Layout * count)()
        self._lib.call(
            "LiteRtGetCompiledModelOutputTensorLayouts",
            self._compiled, Size(self._index), Size(count), layouts, ctypes.c_bool(True),
        )  # fmt: skip
        return list(layouts)

    def _signature_tensors(self, kind: str) -> list[SignatureTensor]:
        lib, index = self._lib, Size(self._index)
        count = lib.size(f"LiteRtGetNumSignature{kind}s", self._signature)
        layouts = self._output_layouts() if kind == "Output" else [lite.Layout() for _ in range(count)]
        tensors = []
        for i, layout in enumerate(layouts):
            if kind == "Input":
                function = "LiteRtGetCompiledModelInputTensorLayout"
                lib.call(function, self._compiled, index, Size(i), ctypes.byref(layout))
            handle = lib.make(f"LiteRtGetSignature{kind}TensorByIndex", self._signature, Size(i))
            needs = lib.make(
                f"LiteRtGetCompiledModel{kind}BufferRequirements", self._compiled, index, Size(i)
            )
            tensors.append(signature_tensor(lib, handle, layout, needs, self.path))
        return tensors

    def _file_order(self, kind: str, count: int) -> list[int]:
        """Return the index in the signature of each input or output (``kind``), in the order of the file's subgraph.
        The stock interpreter, labels and recorded preprocessing use the order of the subgraph."""
        lib = self._lib
        function = f"LiteRtGetSignature{kind}TensorByIndex"
        index_of = {lib.make(function, self._signature, Size(i)).value: i for i in range(count)}
        subgraph = lib.make("LiteRtGetSignatureSubgraph", self._signature)
        total = lib.size(f"LiteRtGetNumSubgraph{kind}s", subgraph)
        handles = [lib.make(f"LiteRtGetSubgraph{kind}", subgraph, Size(i)).value for i in range(total)]
        order = [index_of[handle] for handle in handles if handle in index_of]
        # A signature may name a tensor twice, or leave a tensor out. Then use the order of the signature.
        return order if len(order) == count else list(range(count))

    # Running

    def _invoke_first(self, slot: int = 0) -> None:
        """Run the model for the first time. XNNPACK packs the weights and the arena is mapped in this run, so add that
        memory to ``resident_bytes``."""
        before = allocated_bytes()
        self._invoke_checked(slot)
        self.resident_bytes += max(0, allocated_bytes() - before)
        self.invoke = self._invoke_checked if self._staged else self._fast_invoke()

    def _fast_invoke(self) -> Callable[..., None]:
        """Return a function for ``invoke`` that only calls LiteRT and checks the status."""
        run, calls, fail = self._run, self._calls, self._fail

        def invoke(slot: int = 0) -> None:
            if run(*calls[slot]):
                fail(slot)

        return invoke

    def _invoke_checked(self, slot: int = 0) -> None:
        if self._staged:
            self._buffers[slot].upload()
        if self._run(*self._calls[slot]):
            self._fail(slot)
        if self._staged:
            self._buffers[slot].download()

    def _fail(self, slot: int) -> None:
        """Run the model again to capture LiteRT's messages about the failure. Raises ``ModelError`` if it fails
        again."""
        try:
            lite.with_captured_log(lambda: self._run_again(slot))
        except LiteRtError as error:
            raise ModelError(
                f"{self.name} failed on {self.path}: LiteRT reported: {error.message}.",
                "Try another runtime: --runtime litert-interpreter.",
            ) from error

    def _run_again(self, slot: int) -> None:
        if status := self._run(*self._calls[slot]):
            raise LiteRtError("LiteRtRunCompiledModel", status)

    def close(self) -> None:
        """Free all memory, including that of the slots."""
        if not hasattr(self, "_closed"):
            self._closed = True
            self.invoke = self._invoke_closed
            self._resources.close()

    def _invoke_closed(self, slot: int = 0) -> None:
        raise UsageError(f"The runtime of {self.path} is closed.", "Open it again.")
