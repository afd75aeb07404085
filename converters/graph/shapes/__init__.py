"""Compute output shapes from input shapes as LiteRT's kernels do, and check the shapes in a model file against them.

A file states the shape of every tensor, and LiteRT computes the shapes again. If the two differ, code that is generated
from the file would read and write past its tensors. So no code is generated before ``check_shapes`` has passed.
"""

from arenite.converters.graph.shapes.check import check_shapes, infer_shapes

__all__ = ["check_shapes", "infer_shapes"]
