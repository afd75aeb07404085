"""Output shapes from input shapes, as LiteRT's kernels compute them, and a check that a model's file agrees.

A file states the shape of every tensor, and LiteRT computes them anew. Where the two differ, code that is generated
from the file would read and write past its tensors; so nothing is generated before ``check_shapes`` has passed.
"""

from arenite.converters.graph.shapes.check import check_shapes, infer

__all__ = ["check_shapes", "infer"]
