"""Read an answer from a model's outputs in the runtime's own memory.

Everything that does not change from frame to frame is prepared once: the C call with its arguments, the layout of its
result, the labels. Each frame then costs one call, and the creation of the few objects of its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from arenite.converters.graph.tensor import Quantization, Tensor
from arenite.converters.processing.post.plan import MsePlan, TopKPlan, plan_post
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.host.camera.answers.answer import Answer
from arenite.host.camera.answers.classes import classes_reader
from arenite.host.camera.answers.default_postprocessing import default_postprocessing
from arenite.host.camera.answers.frame_mapping import FrameMapping, WholeFrame
from arenite.host.camera.answers.postprocess_call import call_for
from arenite.host.camera.answers.scores import score_reader, values_reader
from arenite.host.camera.runtimes.base import TensorMemory, TensorSlot


class AnswerReader:
    """Reads the answer of each inference from the outputs of ``slot``. If the model gets another part of the frame,
    assign a new ``geometry``.

    Args:
        spec: the postprocessing. None means the best classes if the model has one output of shape [1, n], else the
            values of the first output.
        slot: the outputs to read. The postprocessing ``mse`` also reads the inputs.
        labels: one label per class. Classes after the last label have no label.
        geometry: the part of the frame that the input shows; None for the whole frame.

    Raises:
        UsageError: ``spec`` does not fit the outputs.
    """

    __slots__ = ("_read", "geometry")

    def __init__(
        self,
        spec: Postprocessing | None,
        slot: TensorSlot,
        labels: Sequence[str] = (),
        geometry: FrameMapping | None = None,
    ) -> None:
        self.geometry: FrameMapping = geometry if geometry is not None else WholeFrame()
        self._read: Callable[[FrameMapping], Answer] = _build_reader(spec, slot, tuple(labels))

    def read(self) -> Answer:
        return self._read(self.geometry)


def _build_reader(
    spec: Postprocessing | None, slot: TensorSlot, labels: tuple[str, ...]
) -> Callable[[FrameMapping], Answer]:
    """Return a function that reads the present answer. Its argument maps coordinates of the input to the frame."""
    inputs, outputs = ([_tensor(memory) for memory in tensors] for tensors in (slot.inputs, slot.outputs))
    if spec is None:
        spec = default_postprocessing(outputs)
        if spec is None:
            return values_reader(slot.outputs[0])
    plan = plan_post(spec, inputs, outputs)
    call = call_for(plan, slot)
    if isinstance(plan, TopKPlan):
        return classes_reader(plan, slot.outputs[plan.step.output], labels, call)
    if isinstance(plan, MsePlan):
        return score_reader(partial(call.function, *call.arguments))
    # Imported here to shorten the start of the loop, because other models do not need it.
    from arenite.converters.processing.post.detector_plan import BoxesPlan

    if isinstance(plan, BoxesPlan):
        from arenite.host.camera.answers.boxes import boxes_reader

        return boxes_reader(plan, labels, call)
    from arenite.converters.processing.post.landmark_mask_plan import PointsPlan
    from arenite.host.camera.answers.points_and_masks import mask_reader, points_reader

    if isinstance(plan, PointsPlan):
        return points_reader(plan, slot.outputs, call)
    return mask_reader(plan, call)


def _tensor(memory: TensorMemory) -> Tensor:
    """Return a tensor with the type of ``memory``. If an integer tensor has no scale, its real values are the
    integers."""
    quant = None if memory.dtype == "float32" else Quantization((memory.scale or 1.0,), (memory.zero_point,))
    return Tensor(0, memory.name, memory.shape, memory.dtype, quant)
