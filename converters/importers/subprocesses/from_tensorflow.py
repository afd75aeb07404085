"""Convert Keras files and SavedModel folders to TFLite. This script runs in the environment "tensorflow"."""

from typing import Any

from keras_files import checked_config
from protocol import main
from saved_model_files import check_saved_model


def _convert_keras(job: Any) -> Any:
    checked = checked_config(job.source, job.kind)
    from from_keras import convert  # TensorFlow takes seconds and 300 MB, so it is imported after the check

    return convert(job, checked)


def _convert_saved_model(job: Any) -> Any:
    check_saved_model(job.source)
    from from_saved_model import convert

    return convert(job)


if __name__ == "__main__":
    main(
        {"keras": _convert_keras, "keras-h5": _convert_keras, "saved_model": _convert_saved_model},
        ["tensorflow", "keras", "tf_keras", "tensorflow-model-optimization"],
    )
