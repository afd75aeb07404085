"""Feed samples to a device, by either protocol, and bring back what it gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.errors import DeviceError
from arenite.converters.graph import DTYPES, Tensor
from arenite.firmware.generator.generate import Generated
from arenite.host.bench.samples import Samples
from arenite.host.link.client import DeviceClient, DeviceMemory
from arenite.host.link.mlperf import MonitorClient
from arenite.host.link.transport import Transport

#: progress(step, done, total)
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Measured:
    """What the device gave: outputs per sample, ticks of each inference, and what its protocol tells beside.

    ``tick_hz``: rate of the counter; 0 where the board's profile knows. The MLPerf monitor tells nothing of layers,
    of the time before the first layer, or of memory: these are empty or None.
    """

    outputs: list[list[np.ndarray]]
    ticks: list[int]
    tick_hz: int
    init_ticks: list[int]
    layer_ticks: list[tuple[int, ...]]
    memory: DeviceMemory | None


def measure(
    line: Transport, generated: Generated, samples: Samples, stateful: bool, progress: Progress
) -> Measured:
    """Feed every sample by Arenite's protocol.

    Raises ``DeviceError``: no answer, other firmware, a restart, or overwritten guard words around the arena.
    """
    client = DeviceClient(line)
    info = client.connect(generated.sha256)
    results, ticks, init, layers = [], [], [], []
    for k, inputs in enumerate(samples.inputs):
        progress("run", k, len(samples))
        for position, value in enumerate(inputs):
            client.write_input(position, np.ascontiguousarray(value).tobytes())
        run = client.infer(fresh=k == 0 or not stateful)
        ticks.append(run.total)
        init.append(run.init)
        layers.append(client.layer_ticks(info.layer_count) if info.layer_count else ())
        results.append(
            [_array(client.read_output(i, t.nbytes), t) for i, t in enumerate(output_tensors(generated))]
        )
    progress("run", len(samples), len(samples))
    memory = client.memory()
    if memory.guards_damaged:
        raise DeviceError(
            f"{memory.guards_damaged} guard words around the arena were overwritten.",
            "This is a bug in a kernel or in the plan: please report it with the model.",
        )
    if memory.stack_overflowed:
        raise DeviceError(
            f"The stack of {memory.stack_bytes} B was used to its last word, and may have overflowed.",
            "This is a bug in the stack prediction: please report it with the model.",
        )
    return Measured(results, ticks, info.tick_hz, init, layers, memory)


def measure_mlperf(
    line: Transport, generated: Generated, samples: Samples, stateful: bool, progress: Progress
) -> Measured:
    """Feed every sample through the MLPerf Tiny monitor, one timed inference each, always with fresh state."""
    assert not stateful
    client = MonitorClient(line)
    client.connect()
    results, ticks = [], []
    for k, inputs in enumerate(samples.inputs):
        progress("run", k, len(samples))
        client.load(b"".join(np.ascontiguousarray(v).tobytes() for v in inputs))
        ticks.append(client.infer().microseconds)
        results.append(_split(client.raw_outputs(), output_tensors(generated)))
    progress("run", len(samples), len(samples))
    return Measured(results, ticks, 1_000_000, [], [], None)


def output_tensors(generated: Generated) -> list[Tensor]:
    graph = generated.model.main
    return [graph.tensors[i] for i in graph.outputs]


def _array(raw: bytes, tensor: Tensor) -> np.ndarray:
    dtype = DTYPES[tensor.dtype]
    assert dtype is not None
    return np.frombuffer(raw, dtype).reshape(tensor.shape)


def _split(raw: bytes, tensors: Sequence[Tensor]) -> list[np.ndarray]:
    if len(raw) != sum(t.nbytes for t in tensors):
        raise DeviceError(
            f"The monitor sent {len(raw)} bytes of output.", "Its firmware serves another model: flash it."
        )
    arrays, at = [], 0
    for tensor in tensors:
        arrays.append(_array(raw[at : at + tensor.nbytes], tensor))
        at += tensor.nbytes
    return arrays
