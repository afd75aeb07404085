"""The postprocessing of a trained network's outputs, which is recorded in its image."""

from __future__ import annotations

from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.steps import Boxes, Mse, Nms, TopK
from arenite.models.architectures.anchors import SCALES, anchors
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import CLASSIFY, RECONSTRUCT, TrainingData
from arenite.models.training.detection import MAX_BOX_OVERLAP, MAX_DETECTIONS

#: Boxes with a smaller probability are not reported.
SHOWN_CLASSES = 0.3


def postprocessing(network: Network, data: TrainingData) -> Postprocessing:
    """The best class, the reconstruction error (the user sets the threshold of an anomaly), or boxes."""
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
