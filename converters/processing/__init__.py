"""Preprocessing and postprocessing: steps as data, the NumPy reference and the C code with the same bytes."""
