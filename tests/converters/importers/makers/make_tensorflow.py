"""Write small models of every kind that the environment "tensorflow" reads to the folder given as argument.

Beside each model, write a file with its inputs and the framework's outputs.
"""

import json
import re
import shutil
import struct
import sys
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot
import tf_keras

OUT = Path(sys.argv[1])
RNG = np.random.default_rng(5)
IMAGES = (RNG.random((4, 8, 8, 3)) * 2 - 1).astype(np.float32)


def net(k, shape=(8, 8, 3)):
    """Return a small image classifier of the Keras package ``k``. Heights and widths of None are open."""
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
    """Save ``inputs`` and the framework's ``outputs``. Both are lists of arrays whose first dimension is the sample."""
    arrays: dict = {f"x{i}": np.asarray(v) for i, v in enumerate(inputs)}
    arrays |= {f"y{i}": np.asarray(v) for i, v in enumerate(outputs)}
    np.savez(OUT / f"{name}.npz", **arrays)


def keras_3():
    """Save models of Keras 3 in every format."""
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
    layers = [keras.layers.Dense(300) for _ in range(20)]
    # Small outputs have small rounding errors.
    small = keras.layers.Dense(8, kernel_initializer=keras.initializers.RandomNormal(stddev=0.01))
    deep = keras.Sequential([keras.Input((300,)), *layers, small])
    deep.save(OUT / "deep.h5")
    with h5py.File(OUT / "deep.h5", "r+") as file:
        file.attrs["empty"] = h5py.Empty("f4")
    x = RNG.random((2, 300), np.float32)
    expect("deep.h5", [x], [deep(x)])
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
    numbers = keras.Input((3,), dtype="int32")
    keras.Model(numbers, keras.layers.CategoryEncoding(4, name="bins")(numbers)).save(OUT / "bins.keras")
    steps = keras.Input((6, 4))
    recurrent = keras.Model(steps, keras.layers.Dense(2)(keras.layers.LSTM(5)(steps)))
    recurrent.save(OUT / "lstm.keras")
    long = keras.Input((2001, 3))
    keras.Model(long, keras.layers.GRU(2, name="long")(long)).save(OUT / "gru_long.keras")
    x = RNG.random((3, 6, 4), np.float32)
    expect("lstm.keras", [x], [recurrent(x)])
    masked = keras.Model(steps, keras.layers.LSTM(5)(keras.layers.Masking()(steps)))
    masked.save(OUT / "masked.keras")
    x[0, 4:] = x[1, :2] = 0  # the layer skips these steps
    expect("masked.keras", [x], [masked(x)])


def recurrent_layers(k, kind, **options):
    """Return recurrent layers of the package ``k``. ``options`` are options of each layer."""
    if kind == "stacked":
        cells = [k.layers.LSTMCell(3), k.layers.GRUCell(4)]
        return [k.layers.GRU(4, return_sequences=True, **options), k.layers.RNN(cells, **options)]
    if kind == "gru_before":
        return [k.layers.GRU(4, reset_after=False, **options)]
    return [{"lstm": k.layers.LSTM, "gru": k.layers.GRU, "rnn": k.layers.SimpleRNN}[kind](4, **options)]


def recurrent_net(k, kind, steps, **options):
    """Return a model of recurrent layers for sequences of ``steps`` time steps, and a dense layer."""
    x = y = k.Input((steps, 3), batch_size=1)
    for layer in recurrent_layers(k, kind, **options):
        y = layer(y)
    return k.Model(x, k.layers.Dense(2)(y))


def stateful():
    """Save layers that keep their state. Each sample of the expected outputs continues the sequence of the one before;
    ``whole`` is the output for all samples in one call."""
    parts = RNG.random((5, 6, 3), np.float32)
    kinds = [(keras, kind, "keras") for kind in ("lstm", "gru", "gru_before", "rnn", "stacked")]
    for k, kind, ending in (*kinds, (tf_keras, "stacked", "h5")):
        model, whole = recurrent_net(k, kind, 6, stateful=True), recurrent_net(k, kind, 30)
        for mine, other in zip(whole.trainable_weights, model.trainable_weights, strict=True):
            mine.assign(other)
        name = f"stateful_{kind}.{ending}"
        model.save(OUT / name)
        outputs = np.stack([np.asarray(model(part[None])) for part in parts])
        np.savez(OUT / f"{name}.npz", x=parts, y=outputs, whole=whole(parts.reshape(1, 30, 3)))
    x = keras.Input((6, 3), batch_size=1)
    for name, layer in (
        ("both_ways", keras.layers.Bidirectional(keras.layers.LSTM(2, stateful=True), name="ways")),
        ("backwards", keras.layers.GRU(2, stateful=True, go_backwards=True, name="turned")),
    ):
        keras.Model(x, layer(x)).save(OUT / f"stateful_{name}.keras")


def with_dead_outputs():
    """Save a model whose outputs are zero for every input."""
    x = keras.Input((4,))
    keras.Model(x, keras.layers.Dense(2, kernel_initializer="zeros")(x)).save(OUT / "dead.keras")


def mixed_precision():
    """Save models that compute in float16 and store float32 weights."""
    for k, name in ((keras, "mixed.keras"), (tf_keras, "mixed.h5")):
        k.mixed_precision.set_global_policy("mixed_float16")
        model = net(k)
        model.save(OUT / name)
        k.mixed_precision.set_global_policy("float32")


def keras_2():
    """Save a model of Keras 2."""
    model = net(tf_keras)
    model.save(OUT / "keras2.h5")
    expect("keras2.h5", [IMAGES], [model(IMAGES)])


class CustomLayer(keras.layers.Layer):
    def call(self, x):
        return x * 2


def with_python_code():
    """Save models with a class of their own, and with Lambda layers."""
    x = keras.Input((4,))
    keras.Model(x, CustomLayer()(x)).save(OUT / "own.keras")
    keras.Model(x, CustomLayer()(x)).save(OUT / "own.h5")
    keras.Model(x, keras.layers.Lambda(lambda v: v * 2)(x)).save(OUT / "lambda.keras")
    x = tf_keras.Input((4,))
    tf_keras.Model(x, tf_keras.layers.Lambda(lambda v: v * 2)(x)).save(OUT / "lambda.h5")


def _share_text(path, count, size):
    """Add an attribute "names" of ``count`` texts to an HDF5 file. All are the same text of ``size`` bytes in it."""
    with h5py.File(path, "r+") as file:
        file.attrs.create("names", [b"x" * size] + [b"y"] * (count - 1))
    data = bytearray(path.read_bytes())
    # A reference to a text: its size, the position of its heap and its number in there.
    sizes = (match.start() for match in re.finditer(re.escape(struct.pack("<I", size)), data))
    start = next(
        at
        for at in sizes
        if data[(heap := int.from_bytes(data[at + 4 : at + 12], "little")) : heap + 4] == b"GCOL"
    )
    data[start : start + 16 * count] = bytes(data[start : start + 16]) * count
    path.write_bytes(data)


def hostile():
    """Write files that run code, or read other files, if a framework opens them without checks."""
    marker = str(OUT / "code-ran")
    x = tf_keras.Input((4,))
    layer = tf_keras.layers.Lambda(
        lambda v, path: (__import__("os").mknod(path), v)[1], arguments={"path": marker}
    )
    Path(marker).unlink(missing_ok=True)
    tf_keras.Model(x, layer(x)).save(OUT / "escaped.h5")
    Path(marker).unlink()  # saving the model has called the function, which created the file
    with h5py.File(OUT / "escaped.h5", "r+") as file:
        text = file.attrs["model_config"]
        file.attrs["model_config"] = text.replace('"class_name": "Lambda"', '"class_name": "\\u004cambda"')
        assert "u004c" in file.attrs["model_config"]
    x = tf_keras.Input((4,))
    tf_keras.Model(x, tf.multiply(x, 2.0)).save(OUT / "call.h5")
    with h5py.File(OUT / "call.h5", "r+") as file:
        text = file.attrs["model_config"]
        assert '"function": "math.multiply"' in text
        file.attrs["model_config"] = text.replace('"function": "math.multiply"', '"function": "io.read_file"')
    shutil.copy(OUT / "keras2.h5", OUT / "elsewhere.h5")
    with h5py.File(OUT / "elsewhere.h5", "r+") as file:
        file["model_weights"]["secret"] = h5py.ExternalLink("/etc/passwd", "/")
    shutil.copy(OUT / "keras2.h5", OUT / "raw.h5")
    with h5py.File(OUT / "raw.h5", "r+") as file:
        file["model_weights"].create_dataset("w", (8,), "u1", external=[("/etc/passwd", 0, 8)])
    shutil.copy(OUT / "keras2.h5", OUT / "bomb.h5")
    with h5py.File(OUT / "bomb.h5", "r+") as file:
        file["model_weights"].create_dataset("w", (1 << 40,), "f4", chunks=(1 << 20,), compression="gzip")
    for name, options in (
        ("fill", {"shape": (250_000_000,), "fillvalue": 1.0}),
        ("part", {"shape": (1,), "maxshape": (None,), "chunks": (250_000_000,), "compression": "gzip"}),
        ("texts", {"shape": (8000,), "dtype": h5py.string_dtype()}),
    ):
        shutil.copy(OUT / "keras2.h5", OUT / f"{name}.h5")
        with h5py.File(OUT / f"{name}.h5", "r+") as file:
            file["model_weights"].create_dataset("w", **{"dtype": "f4", **options})
    shutil.copy(OUT / "keras2.h5", OUT / "names.h5")
    _share_text(OUT / "names.h5", 3000, 1 << 20)
    shutil.copy(OUT / "keras2.h5", OUT / "units.h5")
    with h5py.File(OUT / "units.h5", "r+") as file:
        text = file.attrs["model_config"]
        assert '"units": 5' in text
        file.attrs["model_config"] = text.replace('"units": 5', '"units": 50000000')
    layer = {"module": "keras.layers", "class_name": "TFSMLayer", "config": {"filepath": str(OUT / "saved")}}
    text = json.dumps({"class_name": "Sequential", "config": {"layers": [layer]}})
    for name, config in (("tfsm.keras", text), ("long.keras", text + " " * (40 << 20))):
        with zipfile.ZipFile(OUT / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
            archive.writestr("config.json", config)
            archive.write(OUT / "keras2.h5", "model.weights.h5")
    with (
        zipfile.ZipFile(OUT / "keras3.keras") as good,
        zipfile.ZipFile(OUT / "zeros.keras", "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in good.namelist():
            archive.writestr(name, bytes(100 << 20) if name.endswith(".h5") else good.read(name))
    # Valid as a Keras 3 archive and, by its name, as an HDF5 file with a Lambda layer.
    with zipfile.ZipFile(OUT / "both.zip", "w") as archive, zipfile.ZipFile(OUT / "keras3.keras") as good:
        for name in good.namelist():
            archive.writestr(name, good.read(name))
    user_block = 1 << 20
    with (
        h5py.File(OUT / "escaped.h5") as old,
        h5py.File(OUT / "both.h5", "w", userblock_size=user_block) as new,
    ):
        for key, value in old.attrs.items():
            new.attrs[key] = value
        old.copy("model_weights", new)
    archive_bytes = (OUT / "both.zip").read_bytes()
    assert len(archive_bytes) < user_block
    data = bytearray((OUT / "both.h5").read_bytes())
    data[:16] = archive_bytes[:16]
    (OUT / "both.h5").write_bytes(bytes(data) + archive_bytes)


def quantization_aware():
    """Save a model with quantization-aware training in every format."""
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
    """Save a pruned and a clustered model."""
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
    """Has several functions, which become signatures of a SavedModel."""

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
    """Save a SavedModel with two signatures, and a SavedModel with an operator that TFLite lacks."""
    calls = Calls()
    tf.saved_model.save(calls, OUT / "several", signatures={"double": calls.double, "triple": calls.triple})
    x = RNG.random((3, 4), np.float32)
    expect("several", [x], [x * 3])
    tf.saved_model.save(calls, OUT / "inverse", signatures=calls.inverse)


class ReadsFiles(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([1, 4], tf.float32, name="x")])
    def reads(self, x):
        return {"y": x * tf.cast(tf.strings.length(tf.io.read_file("/etc/passwd")), tf.float32)}


class WritesFiles(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([1, 4], tf.float32, name="x")])
    def writes(self, x):
        tf.raw_ops.SaveV2(prefix=str(OUT / "written"), tensor_names=["x"], shape_and_slices=[""], tensors=[x])
        return {"y": x * 2.0}


def with_file_operators():
    """Save models with operators that read and write files."""
    reader, writer = ReadsFiles(), WritesFiles()
    tf.saved_model.save(reader, OUT / "reads", signatures=reader.reads)
    tf.saved_model.save(writer, OUT / "writes", signatures=writer.writes)


for make in (
    keras_3,
    stateful,
    with_dead_outputs,
    mixed_precision,
    keras_2,
    with_python_code,
    hostile,
    quantization_aware,
    shrunk,
    signatures,
    with_file_operators,
):
    make()
