"""The WebAssembly kernels compute an image of one column as one row, whose pixels they multiply together."""

from __future__ import annotations

import pytest

from arenite.firmware.generator.target import Target
from tests.fuzz.comparison import lower
from tests.fuzz.long_filters import long_filter_model


def layers(optimise: str) -> list[tuple[tuple[int, ...], dict[str, object]]]:
    """Return the output shape and the kernel's parameters of the first layer of random graphs, if it is a convolution
    for WebAssembly's SIMD over one column of more than one output."""
    target = Target.for_core("wasm32-simd", optimise)
    found = []
    for case in range(40):
        generated = lower(long_filter_model(1, case), "m_", target)
        graph, layer = generated.model.main, generated.calls[0]
        inp, out = (graph.tensors[t] for t in (layer.op.inputs[0], layer.op.outputs[0]))
        if layer.call is None or not layer.call.kernel.endswith("conv_2d_s8_simd128"):
            continue
        # At stride 1, a filter of one tap has another form.
        if inp.shape[2] == 1 and out.shape[1] > 1 and layer.op.options["stride_h"] > 1:
            found.append((out.shape, dict(layer.call.fields)))
    return found


@pytest.mark.parametrize("optimise", ["speed", "balanced"])
@pytest.mark.slow
def test_a_column_is_transposed(optimise: str) -> None:
    found = layers(optimise)
    assert len(found) > 5
    for shape, fields in found:
        assert (fields["out_h"], fields["out_w"]) == (1, shape[1])


@pytest.mark.slow
def test_a_column_stays_one_for_the_least_ram() -> None:
    found = layers("ram")
    assert len(found) > 5
    for shape, fields in found:
        assert (fields["out_h"], fields["out_w"]) == (shape[1], 1)
