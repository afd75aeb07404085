"""Lowerings of reductions, softmax and other operators along an axis."""
