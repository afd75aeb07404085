"""Compare the shapes that a file states with the shapes that its operators produce."""

from __future__ import annotations

from arenite.converters.graph.model import Op, Subgraph
from arenite.converters.graph.shapes import arithmetic_rules, movement_rules  # noqa: F401  (they register the rules)
from arenite.converters.graph.shapes.rule import RULES, Shape, ShapeContext, ShapeProblem, UnknownShape
from arenite.errors import UnsupportedModelError


def infer_shapes(graph: Subgraph, op: Op) -> tuple[Shape, ...] | None:
    """Return the shapes of the outputs of ``op``, or None if they depend on computed values or ``op`` has no rule.

    Raises ``UnsupportedModelError`` if the inputs do not fit together.
    """
    shape_rule = RULES.get(op.name)
    if shape_rule is None:
        return None
    tensors = graph.tensors
    context = ShapeContext(
        op,
        tuple(tensors[i] if i >= 0 else None for i in op.inputs),
        tuple(tensors[i] for i in op.outputs),
    )
    try:
        return tuple(tuple(s) for s in shape_rule(context))
    except UnknownShape:
        return None
    except ShapeProblem as error:
        raise UnsupportedModelError(
            f"operator {op.index} {op.name}: {error}.", "The model is damaged: convert it again."
        ) from None


def check_shapes(graph: Subgraph) -> None:
    """Compare the shape of every operator's outputs in the file with the shape that its rule computes.

    Raises ``UnsupportedModelError`` for the first operator whose inputs do not fit together, or whose output has
    another shape in the file. The error names the operator and the tensor.
    """
    for op in graph.ops:
        shapes = infer_shapes(graph, op)
        if shapes is None:
            continue
        if len(shapes) != len(op.outputs):
            raise UnsupportedModelError(
                f"operator {op.index} {op.name}: gives {len(shapes)} tensors, but the file has {len(op.outputs)}.",
                "The model is damaged: convert it again.",
            )
        for index, shape in zip(op.outputs, shapes, strict=True):
            t = graph.tensors[index]
            if t.shape != shape:
                raise UnsupportedModelError(
                    f"operator {op.index} {op.name}, tensor {index} '{t.name}', field shape: is {list(t.shape)}, but "
                    f"the operator gives {list(shape)}.",
                    "Export the model with fixed shapes, or convert it again.",
                )
