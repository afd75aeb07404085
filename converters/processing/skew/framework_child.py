"""Run steps of a training pipeline in TensorFlow or torch, in an environment that has the framework.

The argument is the name of the framework. Each line of standard input is a job in JSON with the .npy files to read and
to write. The script answers each job with a line that has the framework's version. Arenite does not import this file,
and the file imports nothing of Arenite.
"""

import json
import sys
from typing import Any

import numpy as np


def tensorflow_job(job: Any, value: Any) -> Any:
    """Return the result of TensorFlow's function for ``job["op"]`` on the array ``value``."""
    import tensorflow as tf

    if job["op"] == "resize":
        size = (job["height"], job["width"])
        return tf.image.resize(value.astype(np.float32), size, method=job["method"]).numpy()
    if job["op"] == "spectrum":
        stft = tf.signal.stft(
            value.astype(np.float32),
            job["length"],
            job["step"],
            job["fft"],
            window_fn=tf.signal.hann_window if job["window"] == "hann" else None,
        )
        return tf.abs(stft).numpy() ** job["power"]
    if job["op"] == "mel":
        bins = job["fft"] // 2 + 1
        weights = tf.signal.linear_to_mel_weight_matrix(
            job["bins"], bins, job["rate"], job["low"], job["high"]
        )
        padded = np.zeros((len(value), bins), np.float32)
        padded[:, : value.shape[1]] = value
        return tf.tensordot(padded, weights, 1).numpy()
    mfcc = tf.signal.mfccs_from_log_mel_spectrograms(value.astype(np.float32))
    return mfcc[..., : job["coefficients"]].numpy()


def torch_job(job: Any, value: Any) -> Any:
    """Return the picture ``value`` [height, width, channels] as torch resizes it."""
    import torch

    planes = torch.from_numpy(np.ascontiguousarray(value.astype(np.float32).transpose(2, 0, 1)))[None]
    size = (job["height"], job["width"])
    if job["method"] == "nearest":
        out = torch.nn.functional.interpolate(planes, size, mode="nearest")
    else:
        out = torch.nn.functional.interpolate(
            planes, size, mode="bilinear", align_corners=False, antialias=True
        )
    return out[0].numpy().transpose(1, 2, 0)


def main() -> None:
    framework = sys.argv[1]
    run = {"tensorflow": tensorflow_job, "torch": torch_job}[framework]
    # Standard output is for answers. What frameworks print goes to standard error.
    answers, sys.stdout = sys.stdout, sys.stderr
    version = __import__(framework).__version__.split("+")[0]
    for line in sys.stdin:
        job = json.loads(line)
        np.save(job["out"], run(job, np.load(job["in"])))
        print("version", version, file=answers, flush=True)


if __name__ == "__main__":
    main()
