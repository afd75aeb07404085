"""From the outputs of a trained network to answers: the postprocessing that belongs into its image."""

from __future__ import annotations

from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.steps import Boxes, Mse, Nms, TopK
from arenite.models.architectures.anchors import SCALES, anchors
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import CLASSIFY, RECONSTRUCT, TrainingData
from arenite.models.training.detection import MAX_BOX_OVERLAP, MAX_DETECTIONS

#: Boxes of less probability are not shown.
SHOWN_CLASSES = 0.3


def postprocessing(network: Network, data: TrainingData) -> Postprocessing:
    """The best class, the error of reconstruction (what error is unusual is for the user to say), or boxes."""
    if data.task == CLASSIFY:
        return Postprocessing((TopK(),))
    if data.task == RECONSTRUCT:
        return Postprocessing((Mse(),))
    around = tuple(tuple(round(float(v), 6) for v in row) for row in anchors(network.input_shape))
    boxes = Boxes(
        centre_scale=SCALES[0],
        size_scale=SCALES[2],
        exponential=True,
        anchors=around,
        threshold=SHOWN_CLASSES,
    )
    return Postprocessing((boxes, Nms(MAX_BOX_OVERLAP, MAX_DETECTIONS)))
