"""Train scikit-learn models, and export each one with skl2onnx and with emlearn.

Runs in an environment with these three packages: ``python train_models.py FOLDER``.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import emlearn
import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

TREE_METHODS = ("inline", "inline-soft", "loadable", "loadable-soft")
NETWORK_METHODS = ("loadable",)  # emlearn 0.23.2 cannot write the inline form


def whole_numbers(x: np.ndarray) -> np.ndarray:
    """Return features as whole numbers that use 14 bits, as a program with integer sensors would scale them."""
    largest = np.maximum(np.abs(x).max(axis=0), 1e-9)
    return np.round(x / largest * 8191).astype(np.float32)


def main(folder: Path) -> None:
    warnings.filterwarnings("ignore")
    np.seterr(all="ignore")  # importing emlearn makes NumPy raise errors for underflow
    digits, cancer, wine = (f(return_X_y=True) for f in (load_digits, load_breast_cancer, load_wine))
    made = make_classification(3000, 20, n_informative=12, n_classes=5, random_state=0)
    trees = {
        "tree_wine": (DecisionTreeClassifier(random_state=0), wine),
        "forest_cancer": (RandomForestClassifier(10, random_state=0), cancer),
        "forest_digits": (RandomForestClassifier(10, random_state=0), digits),
        "extra_digits": (ExtraTreesClassifier(20, max_depth=8, random_state=0), digits),
        "forest_made": (RandomForestClassifier(30, max_depth=8, min_samples_leaf=4, random_state=0), made),
    }
    for name, (model, (x, y)) in trees.items():
        _export(folder, name, model, whole_numbers(x), y, TREE_METHODS)
    networks = {
        "mlp_digits": (MLPClassifier((32,), random_state=0, max_iter=300), digits),
        "mlp_cancer": (MLPClassifier((16, 8), random_state=0, max_iter=300), cancer),
    }
    for name, (model, (x, y)) in networks.items():
        _export(folder, name, model, StandardScaler().fit_transform(x).astype(np.float32), y, NETWORK_METHODS)


def _export(
    folder: Path, name: str, model: Any, x: np.ndarray, y: np.ndarray, methods: tuple[str, ...]
) -> None:
    x_train, x_test, y_train, y_test = train_test_split(x, y, random_state=0, test_size=0.4)
    model.fit(x_train, y_train)
    (folder / f"{name}.onnx").write_bytes(to_onnx(model, x_train[:1]).SerializeToString())
    answers = model.predict(x_test)
    np.savez(folder / f"{name}.npz", x=x_test, y=y_test, answers=answers, train=x_train)
    for method in methods:
        file = str(folder / f"{name}_{method}.h")
        if methods == TREE_METHODS:
            # In a "soft" model a leaf has the probabilities of the classes, with 8 bits, instead of one class.
            form, _, voting = method.partition("-")
            soft = {"leaf_bits": 8} if voting else {}
            emlearn.convert(model, method=form, dtype="int16_t", **soft).save(
                file=file, name="em", format="c"
            )
        else:
            emlearn.convert(model).save(file=file, name="em", inference=[method])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    print(Path(emlearn.includedir))
