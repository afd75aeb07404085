"""The loss functions of each task. This module runs in the environment "tensorflow"."""

from typing import Any

import keras
import tensorflow as tf


def losses_of_task(task: Any) -> Any:
    """Return the loss function of the network's output, or a list with one loss function per output."""
    if task == "classify":
        return keras.losses.SparseCategoricalCrossentropy()
    if task == "reconstruct":
        return keras.losses.MeanSquaredError()
    return [boxes, scores]


def boxes(expected: Any, predicted: Any) -> Any:
    """Return the mean over all anchors with an object (``expected[..., 0]`` is 1) of the smooth L1 loss, summed over
    the four offsets. ``expected`` is the first target of ``detection.encode_targets``."""
    mask, offsets = expected[..., 0], expected[..., 1:]
    difference = tf.abs(offsets - predicted)
    smooth = tf.where(difference < 1.0, 0.5 * difference**2, difference - 0.5)
    return tf.reduce_sum(tf.reduce_sum(smooth, -1) * mask) / tf.maximum(tf.reduce_sum(mask), 1.0)


def scores(expected: Any, predicted: Any) -> Any:
    """Return the focal loss over all anchors and classes, divided by the number of anchors with an object.

    ``expected`` is the second target of ``detection.encode_targets``. Anchors with a target of -1 are ignored.
    Source: Lin et al., "Focal Loss for Dense Object Detection", 2017, with the paper's factors alpha = 0.25 and gamma
    = 2.
    """
    mask = tf.cast(expected >= 0.0, tf.float32)
    predicted = tf.clip_by_value(predicted, 1e-6, 1.0 - 1e-6)
    probability = tf.where(expected > 0.5, predicted, 1.0 - predicted)
    class_weight = tf.where(expected > 0.5, 0.25, 0.75)
    loss = -class_weight * (1.0 - probability) ** 2 * tf.math.log(probability) * mask
    return tf.reduce_sum(loss) / tf.maximum(tf.reduce_sum(tf.cast(expected > 0.5, tf.float32)), 1.0)
