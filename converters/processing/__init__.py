"""Preprocessing and postprocessing: the steps that a user writes down, the NumPy reference that computes them, and C
code that gives the same bytes."""
