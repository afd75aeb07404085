"""Postprocessing: the steps that a user writes down, their plans for the outputs of a model, and the NumPy
reference."""
