"""Write the anomaly head of a model in a library: its parameters, its state, and the functions NAME_anomaly_...()."""

from __future__ import annotations

from arenite.converters.anomaly.plan import AnomalyPlan
from arenite.firmware.library.processing_writer import ProcessingWriter, struct
from arenite.firmware.sources import STATE_STORE


def write_anomaly(w: ProcessingWriter, plan: AnomalyPlan) -> None:
    """Write the functions of the head, their declarations, the state, and the list of sources that they need."""
    w.includes.add("anomaly.h")
    # The store keeps the state in flash. A linker leaves it out of programs that do not call it.
    w.kernels |= {"anomaly.c", *(path.name for path in STATE_STORE.paths())}
    _write_state(w, plan)
    _write_learning(w, plan)
    if plan.head.rank:
        w.kernels |= {"low_rank.c", "low_rank.h"}
        w.includes.add("low_rank.h")
    if plan.head.classes:
        w.kernels.add("prototypes.c")
        _write_classes(w, plan)


def _write_state(w: ProcessingWriter, plan: AnomalyPlan) -> None:
    """Write the struct of the state and the variables of the head."""
    fields = ["ar_anomaly_head head", f"int32_t mean[{plan.size}]", f"uint32_t variance[{plan.size}]"]
    if plan.head.rank:
        fields += ["uint32_t trace", f"int32_t components[{plan.head.rank * plan.size}]"]
    if plan.head.classes:
        fields += [f"uint32_t taught[{plan.head.classes}]", f"int16_t prototypes[{plan.prototype_values}]"]
    body = "".join(f"    {field};\n" for field in fields)
    w.header.append(
        "/* The state of the anomaly head. It has no pointers and no gaps: to keep what the head learned, save these\n"
        " * bytes. A saved state is valid only with the same tag, which tells this image and these settings. */\n"
        f"typedef struct {{\n{body}}} {w.p}anomaly_state;\n"
        f"extern {w.p}anomaly_state {w.p}anomaly;\n"
        f"#define {w.upper}ANOMALY_STATE_BYTES {plan.state_dtype.itemsize}\n"
        f"#define {w.upper}ANOMALY_TAG {plan.tag(w.g.sha256):#010x}u"
    )
    members = {
        "params": f"&{w.p}anomaly_params",
        "head": f"&{w.p}anomaly.head",
        "mean": f"{w.p}anomaly.mean",
        "variance": f"{w.p}anomaly.variance",
        "threshold": "UINT32_MAX",
    }
    if plan.head.rank:
        w.source.append(f"static int32_t {w.p}anomaly_row[{plan.size}];")
        members |= {
            "low_rank": "&ar_low_rank",
            "trace": f"&{w.p}anomaly.trace",
            "components": f"{w.p}anomaly.components",
            "row": f"{w.p}anomaly_row",
        }
    if plan.head.classes:
        members |= {name: f"{w.p}anomaly.{name}" for name in ("taught", "prototypes")}
    w.source.append(
        f"{w.p}anomaly_state {w.p}anomaly;\n"
        f"static const ar_anomaly_params {w.p}anomaly_params = {struct(plan.parameters)};\n"
        f"static ar_anomaly {w.p}anomaly_head = {struct(members)};"
    )


def _function(w: ProcessingWriter, kind: str, name: str, arguments: str, body: str) -> None:
    """Write the function ``NAME_anomaly_...`` and its declaration."""
    declaration = f"{kind} {w.p}anomaly_{name}({arguments})"
    w.header.append(f"{declaration};")
    w.source.append(f"{declaration}\n{{\n    {body}\n}}")


def _write_learning(w: ProcessingWriter, plan: AnomalyPlan) -> None:
    """Write the functions that judge and learn."""
    head, output = f"&{w.p}anomaly_head", w.address(w.g.model.main.outputs[plan.head.output])
    w.header.append(
        "/* update: call it after an inference. It returns the score of the output, 16 fractional bits (about 1.0 is\n"
        " * normal), and learns the output unless it raised an alarm. alarm: 1 if the last score was above the\n"
        " * threshold. threshold: the largest normal score; 2^32 - 1 during warm-up. freeze: 1 stops learning, 0\n"
        " * continues. reset: forget what is normal. */"
    )
    if plan.units is None:
        body = f"return ar_anomaly_update({head}, (const int8_t *)({output}));"
        _function(w, "uint32_t", "update", "void", body)
    else:
        units = plan.units
        w.header.append("/* `input` is a copy that you keep: the inference overwrites the model's input. */")
        w.source.append(
            f"static const ar_anomaly_units {w.p}anomaly_units = {{{units.multiplier}, {units.output_zero}, "
            f"{units.input_zero}}};\nstatic int8_t {w.p}anomaly_difference[{plan.size}];"
        )
        body = (
            f"ar_anomaly_difference(&{w.p}anomaly_units, {plan.size}, input, (const int8_t *)({output}), "
            f"{w.p}anomaly_difference);\n    return ar_anomaly_update({head}, {w.p}anomaly_difference);"
        )
        _function(w, "uint32_t", "update", "const int8_t *input", body)
    _function(w, "uint32_t", "alarm", "void", f"return {w.p}anomaly_head.alarm;")
    _function(w, "uint32_t", "threshold", "void", f"return ar_anomaly_threshold({head});")
    _function(w, "void", "freeze", "uint32_t frozen", f"{w.p}anomaly.head.frozen = frozen != 0;")
    _function(w, "void", "reset", "void", f"ar_anomaly_reset({head});")


def _write_classes(w: ProcessingWriter, plan: AnomalyPlan) -> None:
    """Write the functions that teach and find classes."""
    head, output = f"&{w.p}anomaly_head", w.address(w.g.model.main.outputs[plan.head.output])
    w.header.append(
        "/* teach: the last output is an example of class `index`. It returns the number of examples, 0 if there is\n"
        " * no such class. classify: the nearest class of the last output, -1 if there is none. `distance`, unless it\n"
        " * is 0, receives the mean squared difference to it, 16 fractional bits. forget: forget a class. */\n"
        f"#define {w.upper}ANOMALY_CLASSES {plan.head.classes}"
    )
    embedding = f"(const int8_t *)({output})"
    _function(
        w, "uint32_t", "teach", "uint32_t index", f"return ar_anomaly_teach({head}, index, {embedding});"
    )
    _function(
        w,
        "int32_t",
        "classify",
        "uint32_t *distance",
        f"return ar_anomaly_classify({head}, {embedding}, distance);",
    )
    _function(w, "void", "forget", "uint32_t index", f"ar_anomaly_forget({head}, index);")
