"""Feed samples to a device, by either protocol, and collect its answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from arenite.converters.graph.model import DTYPES, Tensor
from arenite.errors import DeviceError
from arenite.firmware.generator.generated_model import Generated
from arenite.host.bench.devices.journal import DeviceAnswer
from arenite.host.bench.devices.session import FramedSession
from arenite.host.bench.samples import Samples
from arenite.host.link.client import DeviceMemory
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import Transport

#: The function that is called with (step, done, total).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class DeviceMeasurement:
    """The answers of a device: outputs per sample, ticks of each inference, and the other figures that its
    protocol reports.

    ``tick_hz``: rate of the counter; 0 where the board's profile states it. The MLPerf monitor reports
    nothing about layers, the time before the first layer, or memory: these are empty or None.
    """

    outputs: list[list[np.ndarray]]
    ticks: list[int]
    tick_hz: int
    init_ticks: list[int]
    layer_ticks: list[tuple[int, ...]]
    memory: DeviceMemory | None


def measure(
    transport: Transport, generated: Generated, samples: Samples, stateful: bool, progress: Progress
) -> DeviceMeasurement:
    """Feed every sample by Arenite's protocol.

    Raises ``DeviceError``: no answer, other firmware, a restart, or overwritten guard words around the arena.
    """
    asker = FramedSession(transport, generated)
    answers = []
    for k, inputs in enumerate(samples.inputs):
        progress("run", k, len(samples))
        answer = asker.answer(inputs, None, fresh=k == 0 or not stateful)
        if answer is None:
            raise DeviceError(
                f"The connection on {transport.port} is too noisy for sample {k}.",
                "Check cable, speed and ground.",
            )
        answers.append(answer)
    progress("run", len(samples), len(samples))
    return collect_measurement(generated, answers, asker.tick_hz, asker.memory())


def collect_measurement(
    generated: Generated, answers: Sequence[DeviceAnswer], tick_hz: int, memory: DeviceMemory | None
) -> DeviceMeasurement:
    """The answers in the form that a report is made from; ``memory`` is None where the MLPerf monitor gave
    them."""
    tensors = output_tensors(generated)
    framed = memory is not None
    return DeviceMeasurement(
        [split_outputs(a.outputs, tensors) for a in answers],
        [a.ticks for a in answers],
        tick_hz,
        [a.init for a in answers] if framed else [],
        [a.layers for a in answers] if framed else [],
        memory,
    )


def measure_mlperf(
    transport: Transport, generated: Generated, samples: Samples, stateful: bool, progress: Progress
) -> DeviceMeasurement:
    """Feed every sample through the MLPerf Tiny monitor, one timed inference each, always with fresh state."""
    assert not stateful
    client = MonitorClient(transport)
    client.connect()
    results, ticks = [], []
    for k, inputs in enumerate(samples.inputs):
        progress("run", k, len(samples))
        client.load(b"".join(np.ascontiguousarray(v).tobytes() for v in inputs))
        ticks.append(client.infer().microseconds)
        results.append(split_outputs(client.raw_outputs(), output_tensors(generated)))
    progress("run", len(samples), len(samples))
    return DeviceMeasurement(results, ticks, 1_000_000, [], [], None)


def output_tensors(generated: Generated) -> list[Tensor]:
    graph = generated.model.main
    return [graph.tensors[i] for i in graph.outputs]


def _array(raw: bytes, tensor: Tensor) -> np.ndarray:
    dtype = DTYPES[tensor.dtype]
    assert dtype is not None
    return np.frombuffer(raw, dtype).reshape(tensor.shape)


def split_outputs(raw: bytes, tensors: Sequence[Tensor]) -> list[np.ndarray]:
    """All output bytes, one output after the other, as arrays.  Raises ``DeviceError`` for too many or few."""
    if len(raw) != sum(t.nbytes for t in tensors):
        raise DeviceError(
            f"The monitor sent {len(raw)} bytes of output.",
            "Its firmware serves another model: flash the right one.",
        )
    arrays, at = [], 0
    for tensor in tensors:
        arrays.append(_array(raw[at : at + tensor.nbytes], tensor))
        at += tensor.nbytes
    return arrays
