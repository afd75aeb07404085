"""Send samples to a device by Arenite's protocol or the MLPerf Tiny monitor, and collect its answers."""

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
from arenite.host.link.device_replies import DeviceMemory
from arenite.host.link.mlperf_monitor import MonitorClient
from arenite.host.link.transport import Transport

#: A function that shows progress. It is called with the name of a step, the number of finished items, and the number of
#: all items of this step.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class DeviceMeasurement:
    """The outputs of each sample, the ticks of each inference, and the other figures that the protocol reports.

    ``outputs[k]`` has one array per model output for sample ``k``. ``tick_hz`` is the rate of the counter; 0 means that
    the board's profile states it. The MLPerf monitor does not report the ticks of layers (``layer_ticks``), the ticks
    before the first layer (``init_ticks``), or memory. With it, the two lists are empty and ``memory`` is None.
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
    """Send every sample by Arenite's protocol, and return the measurement. If ``stateful``, the model's variables keep
    their values from one sample to the next.

    Raises ``DeviceError`` if the device does not answer, runs other firmware or restarts, or if guard words around the
    arena were overwritten.
    """
    session = FramedSession(transport, generated)
    answers = []
    for k, inputs in enumerate(samples.inputs):
        progress("run", k, len(samples))
        answer = session.answer(inputs, None, fresh=k == 0 or not stateful)
        if answer is None:
            raise DeviceError(
                f"The connection on {transport.port} is too noisy for sample {k}.",
                "Check cable, speed and ground.",
            )
        answers.append(answer)
    progress("run", len(samples), len(samples))
    return collect_measurement(generated, answers, session.tick_hz, session.memory())


def collect_measurement(
    generated: Generated, answers: Sequence[DeviceAnswer], tick_hz: int, memory: DeviceMemory | None
) -> DeviceMeasurement:
    """Return the answers as a measurement. ``memory`` is None if the answers come from the MLPerf monitor."""
    tensors = output_tensors(generated)
    has_memory = memory is not None
    return DeviceMeasurement(
        [split_outputs(a.outputs, tensors) for a in answers],
        [a.ticks for a in answers],
        tick_hz,
        [a.init for a in answers] if has_memory else [],
        [a.layers for a in answers] if has_memory else [],
        memory,
    )


def measure_mlperf(
    transport: Transport, generated: Generated, samples: Samples, stateful: bool, progress: Progress
) -> DeviceMeasurement:
    """Send every sample to the MLPerf Tiny monitor, run one timed inference of each, and return the measurement. The
    monitor resets the model's state before each inference, so ``stateful`` must be false."""
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
    """Split the bytes of all outputs into one array per output. Raises ``DeviceError`` if the number of bytes is
    wrong."""
    if len(raw) != sum(t.nbytes for t in tensors):
        raise DeviceError(
            f"The device sent {len(raw)} bytes of output, but the model has {sum(t.nbytes for t in tensors)}.",
            "Its firmware runs another model. Flash the firmware of this model.",
        )
    arrays, offset = [], 0
    for tensor in tensors:
        arrays.append(_array(raw[offset : offset + tensor.nbytes], tensor))
        offset += tensor.nbytes
    return arrays
