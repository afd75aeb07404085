"""Postprocessing: steps as data, plans bound to a model, and the NumPy reference."""
