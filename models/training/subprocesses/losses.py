"""The loss functions of each task. Runs in the environment "tensorflow"."""

from typing import Any

import keras
import tensorflow as tf


def of_task(task: Any) -> Any:
    """One loss per output of the network."""
    if task == "classify":
        return keras.losses.SparseCategoricalCrossentropy()
    if task == "reconstruct":
        return keras.losses.MeanSquaredError()
    return [boxes, scores]


def boxes(wanted: Any, predicted: Any) -> Any:
    """Smooth L1 of the four offsets, over anchors that have an object (``wanted[..., 0]`` is 1), per such anchor."""
    mask, offsets = wanted[..., 0], wanted[..., 1:]
    difference = tf.abs(offsets - predicted)
    smooth = tf.where(difference < 1.0, 0.5 * difference**2, difference - 0.5)
    return tf.reduce_sum(tf.reduce_sum(smooth, -1) * mask) / tf.maximum(tf.reduce_sum(mask), 1.0)


def scores(wanted: Any, predicted: Any) -> Any:
    """Focal loss over all anchors and classes, per anchor with an object; anchors of -1 are left out.

    Lin et al., "Focal Loss for Dense Object Detection", 2017, with their 0.25 and 2.
    """
    counted = tf.cast(wanted >= 0.0, tf.float32)
    predicted = tf.clip_by_value(predicted, 1e-6, 1.0 - 1e-6)
    right = tf.where(wanted > 0.5, predicted, 1.0 - predicted)
    share = tf.where(wanted > 0.5, 0.25, 0.75)
    loss = -share * (1.0 - right) ** 2 * tf.math.log(right) * counted
    return tf.reduce_sum(loss) / tf.maximum(tf.reduce_sum(tf.cast(wanted > 0.5, tf.float32)), 1.0)
