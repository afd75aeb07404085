"""Quantization rules per operator, rewrites of the float graph, and the choice of each tensor's type."""
