"""Build small quantized graphs by hand or at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arenite.converters.graph.model import DTYPES, Model, Op, Quantization, Subgraph, Tensor

#: The standard deviation of stored values that are uniform over the range of their type. The scales of random operators
#: are derived from it, so that outputs use a large part of their range and few of them saturate.
INT8_DEVIATION, INT16_DEVIATION = 74, 19000
#: Codes of fused activations for a random choice: none (twice, so that it is more frequent), RELU, RELU_N1_TO_1, RELU6.
ACTIVATIONS = (0, 0, 1, 2, 3)
#: The smallest and the largest zero point of each type.
Q_RANGE = {"int8": (-128, 127), "int16": (-32768, 32767), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


def f32(value: float) -> float:
    """Return ``value`` rounded to float32, as scales are stored."""
    return float(np.float32(value))


class GraphBuilder:
    """Collects tensors and operators; ``build`` returns the model. Methods take and return the indices of tensors."""

    def __init__(self, rng: np.random.Generator | None = None, max_elements: int = 4096) -> None:
        self.rng = rng if rng is not None else np.random.default_rng(0)
        self.max_elements = max_elements
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self.inputs: list[int] = []
        self.extra_subgraphs: list[Subgraph] = []

    # -- tensors -------------------------------------------------------------------------------------------

    def tensor(
        self,
        shape: Sequence[int],
        dtype: str = "int8",
        quant: Quantization | None = None,
        data: np.ndarray | None = None,
        is_variable: bool = False,
    ) -> int:
        """Add a tensor and return its index."""
        index = len(self.tensors)
        shape = tuple(int(d) for d in shape)
        self.tensors.append(Tensor(index, f"t{index}", shape, dtype, quant, data, is_variable))
        return index

    def input(self, shape: Sequence[int], dtype: str = "int8", quant: Quantization | None = None) -> int:
        """Add a graph input and return its tensor index."""
        index = self.tensor(shape, dtype, quant)
        self.inputs.append(index)
        return index

    def const(self, values: Any, dtype: str, quant: Quantization | None = None) -> int:
        """Add a constant tensor with these stored values and return its index."""
        np_dtype = DTYPES[dtype]
        array = np.asarray(values, dtype=np_dtype)
        return self.tensor(array.shape, dtype, quant, array)

    def pick(
        self,
        dtypes: Sequence[str] = ("int8",),
        rank: int | Sequence[int] | None = None,
        *,
        zero_point: int | None = None,
        quantized: bool = True,
    ) -> int:
        """Return an input for the next operator: often an existing tensor that fits, otherwise a new graph input.

        ``rank`` is the allowed rank or ranks (default 1 to 4). If ``zero_point`` is given, the tensor has this zero
        point (int16 tensors always have 0). With ``quantized=False``, integers may be without scale and zero point.
        Tensors have at most ``max_elements`` elements.
        """
        ranks = [1, 2, 3, 4] if rank is None else [rank] if isinstance(rank, int) else list(rank)
        produced = {*self.inputs, *(i for op in self.ops for i in op.outputs)}
        fitting = [
            t.index
            for t in self.tensors
            if t.index in produced
            and t.data is None
            and not t.is_variable
            and t.dtype in dtypes
            and len(t.shape) in ranks
            and 0 < t.elements <= self.max_elements
            and (not quantized or t.quant is not None or t.dtype in ("int32", "int64", "bool", "float32"))
            and (zero_point is None or (t.quant is not None and t.quant.zero_point == (zero_point,)))
        ]
        if fitting and self.rng.random() < 0.7:
            return int(self.rng.choice(fitting))
        dtype = str(self.rng.choice(list(dtypes)))
        shape = self.shape(int(self.rng.choice(ranks)))
        has_quant = dtype in ("int8", "int16", "uint8") and quantized
        return self.input(shape, dtype, self.quant(dtype, zero_point) if has_quant else None)

    def shape(self, rank: int, largest: int = 12) -> tuple[int, ...]:
        """Return a random shape with ``rank`` dimensions of up to ``largest`` and at most ``max_elements`` elements.

        The batch, the first dimension of rank 4, is mostly 1.
        """
        while True:
            dims = [int(d) for d in self.rng.integers(1, largest + 1, rank)]
            if rank == 4 and self.rng.random() < 0.8:
                dims[0] = 1
            if np.prod(dims, dtype=np.int64) <= self.max_elements // 4:
                return tuple(dims)

    def quant(
        self, dtype: str = "int8", zero_point: int | None = None, scale: float | None = None
    ) -> Quantization:
        """Return a per-tensor quantization, random where no value is given. For int16 the zero point is 0, as TFLite
        requires."""
        low, high = Q_RANGE[dtype]
        if zero_point is None:
            zero_point = (
                0
                if dtype == "int16"
                else int(self.rng.choice([low, 0, high, int(self.rng.integers(low, high + 1))]))
            )
        if scale is None:
            scale = float(np.exp(self.rng.uniform(np.log(1e-3), np.log(0.5))))
            if dtype == "int16":
                scale /= 256
        return Quantization((f32(scale),), (zero_point,))

    def __getitem__(self, index: int) -> Tensor:
        return self.tensors[index]

    # -- operators -----------------------------------------------------------------------------------------

    def op(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options_type: str = "",
        version: int = 1,
        intermediates: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """Append an operator. Options that are not given have the schema's default values."""
        self.ops.append(
            Op(
                len(self.ops),
                name,
                tuple(inputs),
                tuple(outputs),
                full_options(options_type, options),
                options_type,
                version,
                intermediates=tuple(intermediates),
            )
        )

    def build(self) -> Model:
        """Return the model. Every computed tensor that no operator reads is an output."""
        read = {i for op in self.ops for i in op.inputs}
        outputs = [
            i for op in self.ops for i in op.outputs if i not in read and self.tensors[i].dtype != "resource"
        ]
        main = Subgraph("main", tuple(self.tensors), tuple(self.ops), tuple(self.inputs), tuple(outputs))
        return Model((main, *self.extra_subgraphs))


def full_options(options_type: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the schema's defaults of ``options_type`` updated with ``values``. Unknown names raise ``KeyError``."""
    from arenite.converters.tflite.schema_names import options_object, snake

    if not options_type:
        return dict(values)
    defaults = {snake(k): v for k, v in vars(options_object(options_type)).items()}
    unknown = set(values) - set(defaults)
    if unknown:
        raise KeyError(f"{options_type} has no {sorted(unknown)}; it has {sorted(defaults)}")
    return {**defaults, **values}
