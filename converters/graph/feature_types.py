"""The types of the features of tree ensembles. The command line reads them without loading NumPy."""

from __future__ import annotations

FEATURE_TYPES = ("float32", "int16", "int8")
