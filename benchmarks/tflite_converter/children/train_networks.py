"""Train ten networks with Keras, and convert each to int8 with TFLiteConverter: ``train_networks.py FOLDER NAME...``.

FOLDER has TASK.npz for each task, and TASK.more.npz with more test samples. It gets NAME.keras, NAME.tflite (int8 by
TensorFlow), and NAME.npz and NAME.more.npz with the float model's outputs for the test samples. A network whose
NAME.tflite exists is not trained again.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers


def _mlp() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((40,)),
            layers.Dense(64, activation="relu"),
            layers.Dense(32, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )


def _cnn() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((24, 24, 1)),
            layers.Conv2D(8, 5, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(32, activation="relu"),
            layers.Dense(8, activation="softmax"),
        ]
    )


def _normalized(x: Any, layer: layers.Layer, activation: str | None = "relu") -> Any:
    x = layers.BatchNormalization()(layer(x))
    return layers.Activation(activation)(x) if activation else x


def _dscnn() -> keras.Model:
    inputs = keras.Input((24, 24, 1))
    x = _normalized(inputs, layers.Conv2D(16, 5, strides=2, padding="same", use_bias=False))
    for channels in (24, 32, 32):
        x = _normalized(x, layers.DepthwiseConv2D(3, padding="same", use_bias=False))
        x = _normalized(x, layers.Conv2D(channels, 1, use_bias=False))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(8, activation="softmax")(x))


def _resnet() -> keras.Model:
    inputs = keras.Input((24, 24, 1))
    x = _normalized(inputs, layers.Conv2D(12, 3, padding="same", use_bias=False))
    for channels, strides in ((12, 1), (24, 2), (32, 2)):
        y = _normalized(x, layers.Conv2D(channels, 3, strides=strides, padding="same", use_bias=False))
        y = _normalized(y, layers.Conv2D(channels, 3, padding="same", use_bias=False), None)
        if strides > 1:
            x = layers.Conv2D(channels, 1, strides=strides, padding="same")(x)
        x = layers.ReLU()(layers.Add()([x, y]))
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(8, activation="softmax")(x))


def _mobilenet() -> keras.Model:
    inputs = keras.Input((24, 24, 1))
    x = _normalized(inputs, layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False), "relu6")
    for channels, strides in ((8, 1), (16, 2), (16, 1)):
        y = _normalized(x, layers.Conv2D(4 * x.shape[-1], 1, use_bias=False), "relu6")
        y = _normalized(
            y, layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False), "relu6"
        )
        y = _normalized(y, layers.Conv2D(channels, 1, use_bias=False), None)
        x = layers.Add()([x, y]) if strides == 1 and x.shape[-1] == channels else y
    x = _normalized(x, layers.Conv2D(48, 1, use_bias=False), "relu6")
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(8, activation="softmax")(x))


def _squeeze() -> keras.Model:
    inputs = keras.Input((24, 24, 1))
    x = _normalized(inputs, layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False), "hard_swish")
    for channels in (24, 32):
        x = _normalized(x, layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False), "hard_swish")
        gate = layers.GlobalAveragePooling2D(keepdims=True)(x)
        gate = layers.Conv2D(8, 1, activation="relu")(gate)
        gate = layers.Conv2D(x.shape[-1], 1, activation="sigmoid")(gate)
        x = layers.Multiply()([x, gate])
        x = _normalized(x, layers.Conv2D(channels, 1, use_bias=False), "hard_swish")
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, layers.Dense(8, activation="softmax")(x))


def _waveform() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((128, 1)),
            layers.Conv1D(16, 9, strides=2, activation="relu"),
            layers.Conv1D(24, 5, strides=2, activation="relu"),
            layers.Conv1D(24, 3, activation="tanh"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(5, activation="softmax"),
        ]
    )


def _transformer() -> keras.Model:
    inputs = keras.Input((24, 24, 1))
    x = layers.Conv2D(24, 4, strides=4)(inputs)
    x = layers.Reshape((36, 24))(x)
    for _ in range(2):
        y = layers.LayerNormalization()(x)
        y = layers.MultiHeadAttention(2, 12)(y, y)
        x = layers.Add()([x, y])
        y = layers.LayerNormalization()(x)
        y = layers.Dense(24)(layers.Dense(48, activation="gelu")(y))
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    return keras.Model(inputs, layers.Dense(8, activation="softmax")(x))


def _autoencoder() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((144,)),
            layers.Dense(48, activation="relu"),
            layers.Dense(12),
            layers.Dense(48, activation="relu"),
            layers.Dense(144),
        ]
    )


def _unet() -> keras.Model:
    inputs = keras.Input((24, 24, 1))
    a = layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    b = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.MaxPooling2D()(a))
    c = layers.Conv2D(24, 3, padding="same", activation="relu")(layers.MaxPooling2D()(b))
    d = layers.Conv2DTranspose(16, 2, strides=2)(c)
    d = layers.Conv2D(16, 3, padding="same", activation="relu")(layers.Concatenate()([b, d]))
    e = layers.Conv2DTranspose(8, 2, strides=2)(d)
    e = layers.Conv2D(8, 3, padding="same", activation="relu")(layers.Concatenate()([a, e]))
    return keras.Model(inputs, layers.Conv2D(2, 1, activation="softmax")(e))


#: The task, the function that returns the network, and the number of epochs.
NETWORKS: dict[str, tuple[str, Callable[[], keras.Model], int]] = {
    "mlp": ("rows", _mlp, 20),
    "cnn": ("gratings", _cnn, 6),
    "dscnn": ("gratings", _dscnn, 8),
    "resnet": ("gratings", _resnet, 5),
    "mobilenet": ("gratings", _mobilenet, 8),
    "squeeze": ("gratings", _squeeze, 8),
    "waveform": ("waves", _waveform, 10),
    "transformer": ("gratings", _transformer, 10),
    "autoencoder": ("patches", _autoencoder, 20),
    "unet": ("blobs", _unet, 4),
}


def train(name: str, folder: Path) -> None:
    task, build, epochs = NETWORKS[name]
    keras.utils.set_random_seed(7)
    with np.load(folder / f"{task}.npz") as data:
        arrays = {key: data[key] for key in data.files}
    model = build()
    loss = "mse" if name == "autoencoder" else "sparse_categorical_crossentropy"
    model.compile(keras.optimizers.Adam(0.003), loss)
    model.fit(arrays["x_train"], arrays["y_train"], batch_size=64, epochs=epochs, verbose=0)
    model.save(folder / f"{name}.keras")
    outputs = model.predict(arrays["x_test"], batch_size=100, verbose=0)
    np.savez(folder / f"{name}.npz", outputs=outputs)
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([row[None]] for row in arrays["x_calibration"])
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    (folder / f"{name}.tflite").write_bytes(converter.convert())


def predict_more(name: str, folder: Path) -> None:
    """Write the float model's outputs for TASK.more.npz."""
    with np.load(folder / f"{NETWORKS[name][0]}.more.npz") as data:
        x = data["x"]
    outputs = keras.saving.load_model(folder / f"{name}.keras").predict(x, batch_size=100, verbose=0)
    np.savez(folder / f"{name}.more.npz", outputs=outputs)


if __name__ == "__main__":
    for network in sys.argv[2:] or NETWORKS:
        if not (Path(sys.argv[1]) / f"{network}.tflite").exists():
            train(network, Path(sys.argv[1]))
        predict_more(network, Path(sys.argv[1]))
        print(network, flush=True)
