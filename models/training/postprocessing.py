"""Choose the postprocessing of a trained network's outputs, which is recorded in the network's image."""

from __future__ import annotations

from arenite.converters.processing.post.postprocessing import Postprocessing
from arenite.converters.processing.post.steps import Boxes, Mse, Nms, TopK
from arenite.models.architectures.anchors import SCALES, anchors
from arenite.models.architectures.network import Network
from arenite.models.datasets.training_data import CLASSIFY, RECONSTRUCT, TrainingData
from arenite.models.training.detection import MAX_BOX_OVERLAP, MAX_DETECTIONS

#: Boxes with a lower score are not reported.
MIN_REPORTED_SCORE = 0.3


def postprocessing(network: Network, data: TrainingData) -> Postprocessing:
    """Return the postprocessing for the task of ``data``: it computes the best class, the reconstruction error, or
    boxes.

    For the reconstruction error, the user sets the threshold above which an input is an anomaly.
    """
    if data.task == CLASSIFY:
        return Postprocessing((TopK(),))
    if data.task == RECONSTRUCT:
        return Postprocessing((Mse(),))
    anchor_boxes = tuple(tuple(round(float(v), 6) for v in row) for row in anchors(network.input_shape))
    boxes = Boxes(
        centre_scale=SCALES[0],
        size_scale=SCALES[2],
        exponential=True,
        anchors=anchor_boxes,
        threshold=MIN_REPORTED_SCORE,
    )
    return Postprocessing((boxes, Nms(MAX_BOX_OVERLAP, MAX_DETECTIONS)))
