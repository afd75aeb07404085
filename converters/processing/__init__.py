"""Preprocessing and postprocessing: steps as data, the NumPy reference, and C code that gives the same bytes."""
