"""Lower models to C code that computes layers row by row."""

from __future__ import annotations

from arenite.converters.graph.model import Model
from arenite.converters.planner import check
from arenite.converters.planner.streaming.plan_streaming import plan_streaming
from arenite.firmware.generator.generated_model import Generated
from arenite.firmware.generator.model_lowering import lower_model
from arenite.firmware.generator.operator_needs import check_supported, op_needs
from arenite.firmware.generator.target import Target


def lower_streamed(model: Model, target: Target, prefix: str) -> Generated | None:
    """Lower the model with a streaming plan. Return None if no layer can be streamed."""
    check_supported(model)
    needs = op_needs(model.main, target)
    streamed_input = model.main.inputs[0] if target.stream_input else None
    streaming_plan = plan_streaming(model.main, needs, streamed_input=streamed_input)
    if streaming_plan is None or not streaming_plan.segments:
        return None
    check(model.main, streaming_plan, needs)
    return lower_model(model, streaming_plan, target=target, prefix=prefix)
