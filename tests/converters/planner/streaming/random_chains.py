"""Random chains of images with residual connections, for the streaming planner."""

from __future__ import annotations

from hypothesis import strategies as st

from arenite.converters.graph.model import Op, Subgraph, Tensor
from arenite.converters.planner import OpRequirements
from arenite.converters.planner.row_requirements import RowInput, RowRequirements
from tests.converters.planner.random_graphs import Case


class ImageBuilder:
    """Builds a subgraph of int8 images, operator by operator."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.ops: list[Op] = []
        self.needs: list[OpRequirements] = []
        self.inputs: list[int] = []

    def tensor(self, *shape: int) -> int:
        """Add a tensor and return its index."""
        self.tensors.append(Tensor(len(self.tensors), f"t{len(self.tensors)}", shape, "int8"))
        return self.tensors[-1].index

    def input(self, height: int, width: int) -> int:
        """Add a graph input with one channel and return its index."""
        self.inputs.append(self.tensor(1, height, width, 1))
        return self.inputs[-1]

    def op(self, inputs: tuple[int, ...], output: int, needs: OpRequirements, name: str = "CONV_2D") -> int:
        """Add an operator and return its output."""
        self.ops.append(Op(len(self.ops), name, inputs, (output,)))
        self.needs.append(needs)
        return output

    def height(self, t: int) -> int:
        """Return the number of rows of a tensor."""
        return self.tensors[t].shape[1]

    def window(
        self,
        t: int,
        width: int,
        *,
        taps: int = 3,
        stride: int = 1,
        dilation: int = 1,
        pad_same: bool = True,
        scratch: int = 0,
        in_place: bool = False,
    ) -> int:
        """Add a convolution of ``t`` whose output rows have ``width`` bytes, and return its output. ``taps`` is the
        height of the kernel. With ``in_place``, an output row may overwrite an input row."""
        rows, reach = self.height(t), (taps - 1) * dilation + 1
        out = -(-rows // stride) if pad_same else (rows - reach) // stride + 1
        top = max((out - 1) * stride + reach - rows, 0) // 2 if pad_same else 0
        needs = RowRequirements(
            "row",
            (RowInput(0, taps, stride, dilation, top),),
            scratch=scratch,
            extra=out,
            in_place=(0,) if in_place else (),
        )
        return self.op((t,), self.tensor(1, out, width, 1), OpRequirements(scratch=2 * scratch, rows=needs))

    def add(self, a: int, b: int) -> int:
        """Add an ADD of two images of the same shape, and return its output."""
        shape = self.tensors[a].shape
        needs = RowRequirements("row", (RowInput(0), RowInput(1)), in_place=(0, 1))
        pairs = ((0, 0), (1, 0))
        return self.op((a, b), self.tensor(*shape), OpRequirements(in_place=pairs, rows=needs), "ADD")

    def mean(self, t: int) -> int:
        """Add a MEAN over the rows, which is_addition one row at a time to sums of 4 bytes, and return its output."""
        needs = RowRequirements("row", (RowInput(0),), accumulates=True, state=4 * self.tensors[t].shape[2])
        return self.op(
            (t,), self.tensor(1, 1, self.tensors[t].shape[2], 1), OpRequirements(rows=needs), "MEAN"
        )

    def dense(self, t: int, size: int) -> int:
        """Add an operator that cannot run by rows."""
        return self.op((t,), self.tensor(1, size), OpRequirements(scratch=16), "FULLY_CONNECTED")

    def view(self, t: int) -> int:
        """Add a RESHAPE to one row, and return its output."""
        return self.op(
            (t,), self.tensor(1, self.tensors[t].nbytes), OpRequirements(alias=((0, 0),)), "RESHAPE"
        )

    def case(self, *outputs: int) -> Case:
        """Return the case with these graph outputs."""
        graph = Subgraph("main", tuple(self.tensors), tuple(self.ops), tuple(self.inputs), outputs)
        return Case(graph, tuple(self.needs), {})


@st.composite
def chains(draw: st.DrawFn, max_ops: int = 9) -> Case:
    """Draw a chain of convolutions and of additions of an earlier tensor of the same shape, sometimes with a head."""
    b = ImageBuilder()
    at = b.input(draw(st.integers(1, 24)), draw(st.sampled_from([5, 16, 48])))
    tensors = [at]
    for _ in range(draw(st.integers(1, max_ops))):
        same_shape_tensors = [t for t in tensors[:-1] if b.tensors[t].shape == b.tensors[at].shape]
        is_addition: bool = draw(st.booleans())
        if is_addition and same_shape_tensors:
            at = b.add(at, draw(st.sampled_from(same_shape_tensors)))
        else:
            taps = draw(st.sampled_from([1, 1, 2, 3, 3, 5]))
            dilation = draw(st.sampled_from([1, 1, 1, 2]))
            fits = (taps - 1) * dilation < b.height(at)
            at = b.window(
                at,
                draw(st.sampled_from([b.tensors[at].shape[2], 5, 16, 48])),
                taps=taps,
                stride=draw(st.sampled_from([1, 1, 1, 2, 3])),
                dilation=dilation,
                pad_same=draw(st.booleans()) or not fits,
                scratch=draw(st.sampled_from([0, 0, 24])),
                in_place=draw(st.booleans()),
            )
        tensors.append(at)
    outputs = []
    if draw(st.integers(0, 4)) == 0:
        outputs.append(draw(st.sampled_from(tensors[1:])))
    end = draw(st.sampled_from(["none", "mean", "dense", "view"]))
    if end == "mean":
        at = b.view(b.mean(at))
    elif end == "dense":
        at = b.dense(at, 10)
    elif end == "view":
        at = b.dense(b.view(at), 10)
    return b.case(*dict.fromkeys([*outputs, at]))
