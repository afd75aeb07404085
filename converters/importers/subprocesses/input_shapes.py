"""Fix the open dimensions of a source's inputs. Arenite and the framework's process both use this module, so it imports
nothing but the standard library."""

from typing import Any


class ShapeProblem(Exception):
    """A shape of an input is wrong or missing. ``problem`` says what is wrong, ``hint`` what to try.

    ``kind`` is "usage" for a wrong or missing option, or "model" for a model that cannot be converted.
    """

    def __init__(self, problem: Any, hint: Any, kind: Any = "usage") -> None:
        super().__init__(problem)
        self.kind, self.problem, self.hint = kind, problem, hint


def fixed_input_shapes(user_shapes: Any, inputs: Any) -> Any:
    """Return a list with the shape of each input, without open dimensions.

    ``inputs`` is a list of (name, shape with None for each open dimension, or None if not even the number of
    dimensions is known).
    ``user_shapes`` maps the names of inputs to the shapes that the user gave; "" stands for the only input. An open
    first dimension (the batch) becomes 1 if the user gave no shape. Raises ``ShapeProblem`` if a size is wrong or
    missing.
    """
    for name, shape in inputs:
        if shape is None:
            raise ShapeProblem(
                f"Input '{name}' has no shape, not even a number of dimensions.",
                "Export the model with input shapes (in TensorFlow: with an input signature that states the shape).",
                "model",
            )
    user_shapes = dict(user_shapes)
    if "" in user_shapes and len(inputs) == 1:
        user_shapes[inputs[0][0]] = user_shapes.pop("")
    names = [name for name, _ in inputs]
    for name in user_shapes:
        if name not in names:
            wrong = f"no input '{name}'" if name else f"{len(inputs)} inputs"
            raise ShapeProblem(
                f"The model has {wrong}; its inputs are {', '.join(names)}.", "Write --input-shape NAME=..."
            )
    return [_fixed(name, shape, user_shapes.get(name), len(inputs) > 1) for name, shape in inputs]


def _fixed(name: Any, shape: Any, user_shape: Any, several: Any) -> Any:
    """Return the shape of one input without open dimensions. ``several`` says whether the model has several inputs."""
    shape_text = "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"
    if user_shape is not None:
        if len(user_shape) != len(shape) or any(
            d is not None and d != size for d, size in zip(shape, user_shape, strict=True)
        ):
            raise ShapeProblem(
                f"The shape {list(user_shape)} does not fit input '{name}', which is {shape_text}.",
                "Give the same number of dimensions, with the fixed ones unchanged.",
            )
        return tuple(user_shape)
    shape = (1, *shape[1:]) if shape and shape[0] is None else tuple(shape)
    if None not in shape:
        return shape
    dimension = shape.index(None)
    template = ",".join("?" if d is None else str(d) for d in shape)
    prefix = f"{name}=" if several else ""
    raise ShapeProblem(
        f"Dimension {dimension} of input '{name}' {shape_text} is not fixed, but a microcontroller needs a fixed size.",
        f"Give its size: --input-shape {prefix}{template}, with numbers for the question marks.",
    )
