"""Choose the postprocessing of a model that does not record its postprocessing."""

from __future__ import annotations

from collections.abc import Sequence

from arenite.converters.graph.quantized_arithmetic import INTEGER_RANGE
from arenite.converters.graph.tensor import Tensor
from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.steps import TopK

#: The number of classes in an answer.
TOP_CLASSES = 5


def default_postprocessing(outputs: Sequence[Tensor]) -> Postprocessing | None:
    """Return the step that takes the best classes, if the model has one output of shape [1, n]; None for other outputs.

    The step applies a softmax if the output is quantized and can represent values outside 0 to 1.
    """
    tensor = outputs[0]
    classes = tensor.shape[-1] if tensor.shape else 1
    if len(outputs) > 1 or classes < 2 or tensor.elements != classes or classes > 65535:
        return None
    if tensor.dtype not in ("float32", *INTEGER_RANGE):
        return None
    softmax = False
    if tensor.quant is not None and not tensor.quant.per_axis and tensor.dtype in INTEGER_RANGE:
        low, high = ((q - tensor.zero_point) * tensor.scale for q in INTEGER_RANGE[tensor.dtype])
        # The range of quantized probabilities may be slightly wider than 0 to 1.
        softmax = low < -0.1 or high > 1.1
    return Postprocessing((TopK(min(TOP_CLASSES, classes), softmax=softmax),))
