"""Train a network with Keras. This script runs in the environment "tensorflow", where Arenite is not installed.

Its only argument is a folder with ``job.json`` (network, task, epochs, batch, rate, seed, shift, threads, outputs) and
``data.npz``. During the training it writes one JSON object per line to standard output: ``{"done": batches, "total":
batches, "loss": loss}``. It writes its results to the folder: the files of ``outputs``, ``predictions.npz`` (the
network's outputs for the test samples), ``weights.npz`` and ``result.json``.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["TF_ENABLE_ONEDNN_OPTS"] = (
    "1"  # must be set before TensorFlow is loaded; training is twice as fast, and still gives the same bytes each time
)

import keras
import losses
import numpy as np
import tensorflow as tf
from keras_network import build


class Batches(keras.utils.PyDataset):  # type: ignore[misc]
    """Shuffled batches for the training. All pictures of a batch are moved by the same random distance of up to
    ``shift`` pixels in each direction. ``y`` has one array of targets per output."""

    def __init__(self, x: Any, y: Any, batch: Any, shift: Any, seed: Any) -> None:
        super().__init__()
        self.x, self.y, self.batch, self.shift = x, y, batch, shift
        self.random = np.random.default_rng(seed)
        self.on_epoch_end()

    def __len__(self) -> Any:
        return max(1, len(self.x) // self.batch)

    def __getitem__(self, index: Any) -> Any:
        indices = self.order[index * self.batch : (index + 1) * self.batch]
        x = self.x[indices]
        if self.shift:
            x = shift_pictures(x, *self.random.integers(-self.shift, self.shift, 2, endpoint=True))
        return x, tuple(y[indices] for y in self.y) if len(self.y) > 1 else self.y[0][indices]

    def on_epoch_end(self) -> None:
        self.order = self.random.permutation(len(self.x))


def shift_pictures(x: Any, dy: Any, dx: Any) -> Any:
    """Return the pictures ``x`` moved down by ``dy`` rows and to the right by ``dx`` columns. New pixels get the
    value of the picture's top left pixel."""
    y = np.broadcast_to(x[:, :1, :1], x.shape).copy()
    h, w = x.shape[1:3]
    y[:, max(dy, 0) : h + min(dy, 0), max(dx, 0) : w + min(dx, 0)] = x[
        :, max(-dy, 0) : h + min(-dy, 0), max(-dx, 0) : w + min(-dx, 0)
    ]
    return y


class Report(keras.callbacks.Callback):  # type: ignore[misc]
    """Writes the progress of the training to ``stream``, about three times per second. ``total`` is the number of
    batches."""

    def __init__(self, total: Any, stream: Any) -> None:
        super().__init__()
        self.done, self.total, self.stream, self.next = 0, total, stream, 0.0

    def on_train_batch_end(self, batch: Any, logs: Any = None) -> None:
        self.done += 1
        if time.monotonic() >= self.next or self.done == self.total:
            self.next = time.monotonic() + 0.3
            status = {"done": self.done, "total": self.total, "loss": float((logs or {}).get("loss", 0.0))}
            print(json.dumps(status), file=self.stream, flush=True)


def weights_of(model: Any, network: Any) -> Any:
    """Return {"LAYER/PART": array} for the layers with weights. The parts are kernel and bias, or, for layers with
    batch normalization, kernel, gamma, beta, mean and variance."""
    layer_parts = {}
    for layer in network["layers"]:
        if layer["kind"] not in ("conv", "depthwise", "dense"):
            continue
        name = layer["name"]
        parts = model.get_layer(name).get_weights()
        layer_parts[f"{name}/kernel"] = parts[0]
        if layer["normalize"]:
            normalization = model.get_layer(name + "_bn").get_weights()
            layer_parts |= {
                f"{name}/{k}": v
                for k, v in zip(("gamma", "beta", "mean", "variance"), normalization, strict=True)
            }
        else:
            layer_parts[f"{name}/bias"] = parts[1]
    return layer_parts


def main(folder: Any) -> None:
    stream = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print to standard output goes to standard error
    job = json.loads((folder / "job.json").read_text("utf-8"))
    keras.utils.set_random_seed(job["seed"])
    tf.config.experimental.enable_op_determinism()
    tf.config.threading.set_intra_op_parallelism_threads(job["threads"])
    with np.load(folder / "data.npz") as data:
        x, x_test = data["x"], data["x_test"]
        y = [data[f"y{i}"] for i in range(len([n for n in data.files if n.startswith("y")]))]
    model = build(job["network"])
    batches = Batches(x, y, min(job["batch"], len(x)), job["shift"], job["seed"])
    total = job["epochs"] * len(batches)
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, total, warmup_target=job["rate"], warmup_steps=max(1, total // 20)
    )
    model.compile(keras.optimizers.Adam(rate), loss=losses.losses_of_task(job["task"]))
    started = time.monotonic()
    model.fit(batches, epochs=job["epochs"], verbose=0, callbacks=[Report(total, stream)], shuffle=False)
    seconds = time.monotonic() - started
    predictions = model.predict(x_test, batch_size=256, verbose=0)
    predictions = predictions if isinstance(predictions, list) else [predictions]
    np.savez(folder / "predictions.npz", **{f"p{i}": p for i, p in enumerate(predictions)})
    np.savez(folder / "weights.npz", **weights_of(model, job["network"]))
    for name in job["outputs"]:
        if name.endswith((".keras", ".h5")):
            model.save(folder / name)
        else:
            model.export(folder / name, verbose=False)
    result = {"seconds": seconds, "parameters": model.count_params(), "keras": keras.__version__}
    result["tensorflow"] = tf.__version__
    (folder / "result.json").write_text(json.dumps(result), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
