"""Write the decision and the gate of a model in a library: NAME_decide(), NAME_gate() and their state."""

from __future__ import annotations

import numpy as np

from arenite.converters.decision.compiled import gate_fields, plan_fields
from arenite.converters.decision.plan import DecisionPlan, GatePlan
from arenite.firmware.library.processing_writer import ProcessingWriter, struct


def write_decision(w: ProcessingWriter, plan: DecisionPlan) -> None:
    """Write the functions that turn the scores of one inference after the other into events, and their state."""
    w.includes.add("decision.h")
    w.kernels.add("decision.c")
    name = f"{w.p}decide"
    fields = {
        "on": w.table("decide_on", np.array(plan.on, np.int32)),
        "off": w.table("decide_off", np.array(plan.off, np.int32)),
        **plan_fields(plan),
    }
    timers = 1 if plan.exclusive else plan.classes
    history = "0" if plan.factor else f"{name}_history"
    w.source += [
        f"static const ar_decision_plan {name}_plan = {struct(fields)};",
        f"static int32_t {name}_smoothed[{plan.classes}];\n"
        f"static uint16_t {name}_heard[{plan.classes}];\n"
        f"static uint64_t {name}_quiet_until[{timers}];"
        + ("" if plan.factor else f"\nstatic int8_t {history}[{plan.hops * plan.classes}];"),
        f"static ar_decision {name}_state = {{\n    &{name}_plan, {name}_smoothed, {name}_heard, "
        f"{name}_quiet_until, {history}, 0,\n}};",
        f"static uint8_t {name}_is_reset;",
        f"void {name}_reset(void)\n{{\n    ar_decision_reset(&{name}_state);\n    {name}_is_reset = 1;\n}}",
        f"static uint32_t {name}_with(const int8_t *scores, uint64_t at, ar_event *events)\n{{\n"
        f"    if ({name}_is_reset == 0) {{\n        {name}_reset();\n    }}\n"
        f"    return ar_decide(&{name}_state, scores, at, events);\n}}",
        f"uint32_t {name}(uint64_t at, ar_event events[{w.upper}EVENTS])\n{{\n"
        f"    return {name}_with((const int8_t *)({w.address(w.g.model.main.outputs[plan.output])}), at, events);\n}}",
        f"uint32_t {name}_closed(uint64_t at, ar_event events[{w.upper}EVENTS])\n{{\n"
        f"    return {name}_with(0, at, events);\n}}",
        f"uint32_t {name}_is_active(void) {{ return ar_decision_active(&{name}_state); }}",
        f"uint32_t {name}_end(uint64_t at, ar_event events[{w.upper}EVENTS])\n{{\n"
        f"    return ar_decision_end(&{name}_state, at, events);\n}}",
    ]
    w.header.append(
        "/* Call it after each inference, before the next one of any model. `at` is the index of the last sample that\n"
        " * the inference depends on. It writes the events that start or end, and returns their number. */\n"
        f"#define {w.upper}EVENTS {plan.max_events}\n"
        f"uint32_t {name}(uint64_t at, ar_event events[{w.upper}EVENTS]);\n"
        "/* Call it in place of an inference and its decision while a gate is closed: every class has the lowest"
        " score. */\n"
        f"uint32_t {name}_closed(uint64_t at, ar_event events[{w.upper}EVENTS]);\n"
        "/* Returns whether an event has started and not ended. */\n"
        f"uint32_t {name}_is_active(void);\n"
        "/* Forgets all scores and events. */\n"
        f"void {name}_reset(void);\n"
        "/* Ends all events before a gap, and returns their number. `at` is the index of the last sample. Call\n"
        f" * {name}_reset() after it. */\n"
        f"uint32_t {name}_end(uint64_t at, ar_event events[{w.upper}EVENTS]);"
    )


def write_gate(w: ProcessingWriter, plan: GatePlan) -> None:
    """Write the function that measures a block of samples and returns whether the model must run."""
    w.includes.add("gate_stream.h")
    w.kernels |= {"gate.c", "gate_stream.c"}
    name, values = f"{w.p}gate", f"{w.upper}GATE_VALUES"
    w.source += [
        f"static const ar_gate_plan {name}_plan = {struct(gate_fields(plan))};",
        f"static ar_gate_sums {name}_sums[{plan.channels}];",
        f"static ar_gate_stream {name}_state = {{{{&{name}_plan, 0, 0}}, {name}_sums, {plan.block}, 0}};",
        f"uint32_t {name}(const int16_t samples[{values}])\n{{\n"
        f"    return ar_gate_samples(&{name}_state.gate, samples, {plan.block});\n}}",
        f"void {name}_feed(const int16_t *samples, uint32_t count) {{ ar_gate_feed(&{name}_state, samples, count); }}",
        f"uint32_t {name}_is_open(void) {{ return ar_gate_is_open(&{name}_state); }}",
        f"void {name}_reset(void) {{ ar_gate_restart(&{name}_state); }}",
    ]
    w.header.append(
        f"/* Measures {plan.block} samples of {plan.channels} channel{'s' * (plan.channels > 1)}, and returns whether"
        " the model must run. */\n"
        f"#define {values} {plan.block * plan.channels}\n"
        f"uint32_t {name}(const int16_t samples[{values}]);\n"
        "/* The same for samples as they arrive, any number of them: the gate measures each complete block. */\n"
        f"void {name}_feed(const int16_t *samples, uint32_t count);\n"
        f"uint32_t {name}_is_open(void);\n"
        "/* Closes the gate and forgets all samples, after a gap. */\n"
        f"void {name}_reset(void);"
    )
