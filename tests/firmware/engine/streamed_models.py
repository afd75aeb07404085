"""Models whose layers are computed row by row."""

from __future__ import annotations

from arenite.converters.graph.model import Model
from arenite.converters.planner import check
from arenite.converters.planner.streaming.plan_streaming import plan_streaming
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_lowering import lower_model
from arenite.firmware.generator.operator_needs import check_supported, op_needs
from arenite.firmware.generator.target import Target


def streamed(model: Model, target: Target, prefix: str) -> Generated | None:
    """The model with all that can be streamed; None where nothing can be."""
    check_supported(model)
    needs = op_needs(model.main, target)
    streamed_input = model.main.inputs[0] if target.stream_input else None
    made = plan_streaming(model.main, needs, streamed_input=streamed_input)
    if made is None or not made.segments:
        return None
    check(model.main, made, needs)
    return lower_model(model, made, target=target, prefix=prefix)
