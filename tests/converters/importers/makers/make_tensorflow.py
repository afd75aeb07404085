"""Write small models of every kind that the environment "tensorflow" reads, with inputs and outputs, to a folder.

The folder is the argument.
"""

import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot
import tf_keras

OUT = Path(sys.argv[1])
RNG = np.random.default_rng(5)
IMAGES = (RNG.random((4, 8, 8, 3)) * 2 - 1).astype(np.float32)


def net(k, shape=(8, 8, 3)):
    flatten = k.layers.GlobalAveragePooling2D() if None in shape else k.layers.Flatten()
    return k.Sequential(
        [
            k.Input(shape),
            k.layers.Conv2D(4, 3, padding="same"),
            k.layers.BatchNormalization(),
            k.layers.ReLU(),
            k.layers.DepthwiseConv2D(3),
            flatten,
            k.layers.Dense(5, activation="softmax"),
        ]
    )


def expect(name, inputs, outputs):
    """Save inputs and the framework's outputs: lists of arrays whose first dimension is the sample."""
    arrays: dict = {f"x{i}": np.asarray(v) for i, v in enumerate(inputs)}
    arrays |= {f"y{i}": np.asarray(v) for i, v in enumerate(outputs)}
    np.savez(OUT / f"{name}.npz", **arrays)


def keras_3():
    keras.utils.set_random_seed(1)
    model = net(keras)
    model.compile("sgd", "sparse_categorical_crossentropy")
    model.fit(IMAGES, np.arange(4), epochs=2, verbose=0)  # batch statistics that are not 0 and 1
    model.save(OUT / "keras3.keras")
    model.save(OUT / "keras3.h5")
    model.export(OUT / "saved", verbose=False)
    for name in ("keras3.keras", "keras3.h5", "saved"):
        expect(name, [IMAGES], [model(IMAGES)])
    model.save_weights(OUT / "only.weights.h5")
    any_size = net(keras, (None, None, 3))
    any_size.save(OUT / "open.keras")
    expect("open.keras", [IMAGES], [any_size(IMAGES)])
    x = keras.Input((8, 8, 3))
    smooth = keras.Model(x, keras.layers.Conv2D(4, 3, activation="swish")(x))  # has a custom gradient
    smooth.save(OUT / "swish.keras")
    expect("swish.keras", [IMAGES], [smooth(IMAGES)])
    right, left = keras.Input((4,), name="right"), keras.Input((3,), name="left")
    both = keras.layers.Concatenate()([left, right])
    outputs = [both, keras.layers.Dense(2)(right)]
    two_inputs = keras.Model([right, left], outputs)
    two_inputs.save(OUT / "two.keras")
    a, b = RNG.random((3, 4), np.float32), RNG.random((3, 3), np.float32)
    expect("two.keras", [a, b], two_inputs([a, b]))
    keras.Model({"right": right, "left": left}, outputs).save(OUT / "named.keras")
    expect("named.keras", [b, a], two_inputs([a, b]))  # Keras sorts inputs that have names
    steps = keras.Input((6, 4))
    recurrent = keras.Model(steps, keras.layers.Dense(2)(keras.layers.LSTM(5)(steps)))
    recurrent.save(OUT / "lstm.keras")
    x = RNG.random((3, 6, 4), np.float32)
    expect("lstm.keras", [x], [recurrent(x)])


def with_dead_outputs():
    x = keras.Input((4,))
    keras.Model(x, keras.layers.Dense(2, kernel_initializer="zeros")(x)).save(OUT / "dead.keras")


def mixed_precision():
    for k, name in ((keras, "mixed.keras"), (tf_keras, "mixed.h5")):
        k.mixed_precision.set_global_policy("mixed_float16")
        model = net(k)
        model.save(OUT / name)
        k.mixed_precision.set_global_policy("float32")


def keras_2():
    model = net(tf_keras)
    model.save(OUT / "keras2.h5")
    expect("keras2.h5", [IMAGES], [model(IMAGES)])


class CustomLayer(keras.layers.Layer):
    def call(self, x):
        return x * 2


def with_python_code():
    x = keras.Input((4,))
    keras.Model(x, CustomLayer()(x)).save(OUT / "own.keras")
    keras.Model(x, CustomLayer()(x)).save(OUT / "own.h5")
    keras.Model(x, keras.layers.Lambda(lambda v: v * 2)(x)).save(OUT / "lambda.keras")
    x = tf_keras.Input((4,))
    tf_keras.Model(x, tf_keras.layers.Lambda(lambda v: v * 2)(x)).save(OUT / "lambda.h5")


def quantization_aware():
    layers = tf_keras.layers
    model = tfmot.quantization.keras.quantize_model(
        tf_keras.Sequential(
            [
                tf_keras.Input((8, 8, 3)),
                layers.Conv2D(4, 3, padding="same", activation="relu"),
                layers.Flatten(),
                layers.Dense(5),
            ]
        )
    )
    model.compile("sgd", tf_keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(IMAGES, np.arange(4), epochs=1, verbose=0)
    expect("qat", [IMAGES], [model(IMAGES, training=False)])
    model.save(OUT / "qat.h5")
    model.save(OUT / "qat.keras")
    tf.saved_model.save(model, OUT / "qat_saved")


def shrunk():
    sparsity = tfmot.sparsity.keras
    pruned = sparsity.prune_low_magnitude(net(tf_keras), sparsity.ConstantSparsity(0.5, 0, frequency=1))
    pruned.compile("sgd", "sparse_categorical_crossentropy")
    pruned.fit(IMAGES, np.arange(4), epochs=3, verbose=0, callbacks=[sparsity.UpdatePruningStep()])
    pruned.save(OUT / "pruned.h5")
    expect("pruned.h5", [IMAGES], [pruned(IMAGES, training=False)])
    clustering = tfmot.clustering.keras
    start = clustering.CentroidInitialization.LINEAR
    clustered = clustering.cluster_weights(net(tf_keras), number_of_clusters=4, cluster_centroids_init=start)
    clustered.save(OUT / "clustered.h5")
    expect("clustered.h5", [IMAGES], [clustering.strip_clustering(clustered)(IMAGES)])


class Calls(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def double(self, x):
        return {"y": x * 2.0}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def triple(self, x):
        return {"y": x * 3.0}

    @tf.function(input_signature=[tf.TensorSpec([1, 4, 4], tf.float32, name="x")])
    def inverse(self, x):
        return {"y": tf.linalg.inv(x)}


def signatures():
    calls = Calls()
    tf.saved_model.save(calls, OUT / "several", signatures={"double": calls.double, "triple": calls.triple})
    x = RNG.random((3, 4), np.float32)
    expect("several", [x], [x * 3])
    tf.saved_model.save(calls, OUT / "inverse", signatures=calls.inverse)


for make in (
    keras_3,
    with_dead_outputs,
    mixed_precision,
    keras_2,
    with_python_code,
    quantization_aware,
    shrunk,
    signatures,
):
    make()
