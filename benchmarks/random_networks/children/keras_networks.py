"""Build and train the random networks of Keras: ``keras_networks.py NETWORKS.json DATA_FOLDER OUT_FOLDER``.

NETWORKS.json has a list of descriptions (``Network.to_json``). The data of a task is in DATA_FOLDER/TASK.train.npz
and OUT_FOLDER/TASK.test.npz; both may be one folder. For each network NAME, OUT_FOLDER gets NAME.keras,
NAME.trained.json and the outputs for the test samples, NAME.outputs.npz.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

EPOCHS, BATCH, RATE = 8, 64, 0.004
#: Training ends after this time of the processor, in seconds, even if epochs remain.
MAX_SECONDS = 15.0
VOCABULARY = 24


def activated(name: Any, x: Any) -> Any:
    """Return ``x`` after the activation ``name``."""
    if name == "prelu":
        return layers.PReLU(shared_axes=[1, 2] if len(x.shape) == 4 else None)(x)
    if name == "threshold":
        return ops.threshold(x, 0.1, -0.2)
    if name == "gelu_tanh":
        return ops.gelu(x, approximate=True)
    if name == "gelu_erf":
        return ops.gelu(x, approximate=False)
    if name == "glu":
        return ops.glu(x, axis=-1)
    return layers.Activation(name)(x)


def widened(name: Any, filters: Any) -> Any:
    """Return the number of features before the activation, of which GLU leaves half."""
    return 2 * filters if name == "glu" else filters


def normalized(name: Any, x: Any) -> Any:
    """Return ``x`` after the normalization ``name``, which can be "none"."""
    if name == "batch":
        return layers.BatchNormalization(momentum=0.9)(x)
    if name == "layer":
        return layers.LayerNormalization()(x)
    if name == "group":
        return layers.GroupNormalization(4 if x.shape[-1] % 4 == 0 else 1)(x)
    return x


def finished(block: Any, x: Any) -> Any:
    """Return ``x`` after the normalization and the activation of ``block``."""
    return activated(block["activation"], normalized(block["norm"], x))


def convolution(block: Any, x: Any, stride: Any = None, **options: Any) -> Any:
    filters = widened(block["activation"], block["filters"])
    stride = block.get("stride", 1) if stride is None else stride
    x = layers.Conv2D(filters, block.get("kernel", 3), stride, padding="same", **options)(x)
    return finished(block, x)


def picture_block(block: Any, x: Any) -> Any:
    kind = block["kind"]
    if kind == "depthwise":
        x = layers.DepthwiseConv2D(3, block["stride"], padding="same", depth_multiplier=2)(x)
        x = normalized(block["norm"], x)
        return activated(
            block["activation"], layers.Conv2D(widened(block["activation"], block["filters"]), 1)(x)
        )
    if kind == "residual":
        y = convolution(block, x, stride=1)
        y = layers.Conv2D(x.shape[-1], 3, padding="same")(y)
        return layers.Add()([x, y])
    if kind == "inverted":
        y = convolution({**block, "kernel": 1, "filters": 2 * block["filters"]}, x, stride=1)
        y = layers.SeparableConv2D(block["filters"], 3, strides=block["stride"], padding="same")(y)
        return layers.BatchNormalization(momentum=0.9)(y)
    if kind == "excite":
        x = convolution(block, x)
        gate = layers.GlobalAveragePooling2D(keepdims=True)(x)
        gate = layers.Conv2D(x.shape[-1], 1, activation="sigmoid")(gate)
        return layers.Multiply()([x, gate])
    if kind == "branches":
        return layers.Concatenate()(
            [
                convolution({**block, "kernel": 1}, x),
                convolution(block, x),
                layers.MaxPooling2D(3, block["stride"], "same")(x),
            ]
        )
    if kind == "dilated":
        return convolution({**block, "kernel": 3}, x, stride=1, dilation_rate=2)
    if kind == "grouped":
        return convolution(block, x, groups=4 if x.shape[-1] % 4 == 0 and block["filters"] % 4 == 0 else 1)
    if kind == "conv":
        return convolution(block, x)
    if kind == "average pool":
        return layers.AveragePooling2D(2)(x)
    if kind == "padded max pool":
        return layers.MaxPooling2D(3, 2, padding="same")(x)
    if kind == "max pool":
        return layers.MaxPooling2D(2)(x)
    if kind == "global average":
        return layers.GlobalAveragePooling2D()(x)
    if kind == "global max":
        return layers.GlobalMaxPooling2D()(x)
    raise ValueError(kind)


def recurrent(block: Any, x: Any) -> Any:
    kind, units = block["kind"], block["units"]
    layer: Any
    if kind == "lstm":
        layer = layers.LSTM(units, return_sequences=True)
    elif kind == "rnn":
        layer = layers.SimpleRNN(units, return_sequences=True)
    else:
        layer = layers.GRU(units, return_sequences=True, reset_after=kind == "gru")
    return (layers.Bidirectional(layer) if block["both ways"] else layer)(x)


def transformer(block: Any, x: Any) -> Any:
    width, first = x.shape[-1], block["norm first"]
    y = layers.LayerNormalization()(x) if first else x
    y = layers.MultiHeadAttention(block["heads"], width // block["heads"])(y, y)
    x = layers.Add()([x, y])
    y = x = x if first else layers.LayerNormalization()(x)
    y = layers.LayerNormalization()(y) if first else y
    y = layers.Dense(widened(block["activation"], block["hidden"]))(y)
    y = layers.Dense(width)(activated(block["activation"], y))
    x = layers.Add()([x, y])
    return x if first else layers.LayerNormalization()(x)


def embedded(block: Any, x: Any) -> Any:
    steps, width = x.shape[1], block["width"]
    y = layers.Embedding(VOCABULARY, width)(x) if block["kind"] == "embedding" else layers.Dense(width)(x)
    return y + layers.Embedding(steps, width)(ops.arange(steps))


def sequence_block(block: Any, x: Any) -> Any:
    kind = block["kind"]
    if kind in ("embedding", "project"):
        return embedded(block, x)
    if kind == "transformer":
        return transformer(block, x)
    if kind == "conv steps":
        x = layers.Conv1D(widened(block["activation"], block["filters"]), 3, padding="same")(x)
        return finished(block, x)
    if kind == "mean of steps":
        return layers.GlobalAveragePooling1D()(x)
    if kind == "max of steps":
        return layers.GlobalMaxPooling1D()(x)
    if kind == "last step":
        return x[:, -1]
    return recurrent(block, x)


def u_net(blocks: Any, x: Any) -> Any:
    skipped = []
    for block in blocks:
        if block["kind"] == "down":
            x = convolution(block, x)
            skipped.append(x)
            if block["pool"] == "stride":
                x = layers.Conv2D(x.shape[-1], 3, 2, padding="same")(x)
            else:
                x = (layers.MaxPooling2D if block["pool"] == "max" else layers.AveragePooling2D)(2)(x)
        elif block["kind"] == "up":
            skip = skipped.pop()
            if block["by"] == "transposed":
                x = layers.Conv2DTranspose(skip.shape[-1], 3, 2, padding="same")(x)
            else:
                x = layers.UpSampling2D(2, interpolation=block["by"])(x)
                x = layers.Conv2D(skip.shape[-1], 3, padding="same")(x)
            x = layers.Add()([x, skip]) if block["merge"] == "add" else layers.Concatenate()([x, skip])
            x = convolution(block, x)
        elif block["kind"] == "pixel classes":
            x = layers.Conv2D(3, 1)(x)
        else:
            x = convolution(block, x)
    return x


def block_of(block: Any, x: Any) -> Any:
    if block["kind"] == "dense":
        return finished(block, layers.Dense(widened(block["activation"], block["units"]))(x))
    if block["kind"] == "flatten":
        return layers.Flatten()(x)
    return picture_block(block, x) if len(x.shape) == 4 else sequence_block(block, x)


def build(network: Any, data: Any) -> Any:
    """Return the Keras model that ``network`` describes. ``data`` has the arrays of its task."""
    inputs, features = [], []
    for i, trunk in enumerate(network["trunks"]):
        values = data[f"x{i}"]
        x = layers.Input(values.shape[1:], dtype=str(values.dtype), name=f"input_{i}")
        inputs.append(x)
        if network["kind"] == "u-net":
            x = u_net(trunk, x)
        else:
            for block in trunk:
                x = block_of(block, x)
        features.append(x)
    x = features[0] if len(features) == 1 else layers.Concatenate()(features)
    for block in network["head"]:
        x = block_of(block, x)
    outputs = []
    for k, kind in enumerate(network["outputs"]):
        y = data[f"y{k}"]
        if kind == "class map":
            outputs.append(layers.Softmax(name=f"out_{k}")(x))
        elif kind == "classes":
            outputs.append(layers.Dense(int(y.max()) + 1, activation="softmax", name=f"out_{k}")(x))
        else:
            outputs.append(layers.Dense(y.shape[1], name=f"out_{k}")(x))
    return keras.Model(inputs, outputs)


class Limit(keras.callbacks.Callback):  # type: ignore[misc]
    """Ends a training ``MAX_SECONDS`` after its first batch, before which TensorFlow compiles the network."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.start = 0.0

    def on_train_batch_end(self, batch: Any, logs: Any = None) -> None:
        self.start = self.start or time.process_time()
        if time.process_time() - self.start > MAX_SECONDS:
            self.model.stop_training = True


def train(network: Any, data: Any, folder: Any) -> None:
    """Train ``network`` on ``data``, and write its files to ``folder``."""
    keras.utils.set_random_seed(network["number"])
    model = build(network, data)
    losses = ["mse" if k == "values" else "sparse_categorical_crossentropy" for k in network["outputs"]]
    model.compile(keras.optimizers.Adam(RATE, clipnorm=1.0), losses)
    x = [data[f"x{i}"] for i in range(len(network["trunks"]))]
    y = [data[f"y{k}"] for k in range(len(losses))]
    epochs = 3 * EPOCHS if network["kind"] == "recurrent" else EPOCHS
    start = time.process_time()
    model.fit(x, y, batch_size=BATCH, epochs=epochs, verbose=0, callbacks=[Limit()])
    record = {"seconds": time.process_time() - start, "parameters": model.count_params()}
    with np.load(folder / f"{network['task']}.test.npz") as test:
        names = [f"x{i}" if len(x) > 1 else "x" for i in range(len(x))]
        results = model.predict([test[name] for name in names], verbose=0)
    results = results if isinstance(results, list) else [results]
    np.savez(folder / f"{network['name']}.outputs.npz", **{f"y{k}": y for k, y in enumerate(results)})
    model.save(folder / f"{network['name']}.keras")
    (folder / f"{network['name']}.trained.json").write_text(json.dumps(record))


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    out = Path(sys.argv[3])
    for description in json.loads(Path(sys.argv[1]).read_text()):
        with np.load(Path(sys.argv[2]) / f"{description['task']}.train.npz") as file:
            train(description, dict(file), out)
        print(description["name"], flush=True)
