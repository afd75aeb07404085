"""Quantize weights: scales, rounding, equalization and bias correction."""
