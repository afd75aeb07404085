"""Convert Keras files and SavedModel folders to TFLite. This script runs in the environment "tensorflow"."""

import from_keras
import from_saved_model
from protocol import main

if __name__ == "__main__":
    main(
        {
            "keras": from_keras.convert,
            "keras-h5": from_keras.convert,
            "saved_model": from_saved_model.convert,
        },
        ["tensorflow", "keras", "tf_keras", "tensorflow-model-optimization"],
    )
