"""Convert a Keras model to float16 and to int8 TFLite with TensorFlow's own converter.

This program runs in the environment "tensorflow". Arguments: the model, calibration.npz, and the two TFLite files.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

source, samples, float16, int8 = sys.argv[1:]
model = keras.models.load_model(source)


def converter():
    tflite_converter = tf.lite.TFLiteConverter.from_keras_model(model)
    tflite_converter.optimizations = [tf.lite.Optimize.DEFAULT]
    return tflite_converter


halves = converter()
halves.target_spec.supported_types = [tf.float16]
Path(float16).write_bytes(halves.convert())

with np.load(samples) as file:
    x = file["x"].astype(np.float32)
integers = converter()
integers.representative_dataset = lambda: ([row[None]] for row in x)
integers.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
integers.inference_input_type = integers.inference_output_type = tf.int8
Path(int8).write_bytes(integers.convert())
