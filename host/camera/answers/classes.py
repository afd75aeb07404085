"""Read the best classes of an output from the results of the C code."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from arenite.converters.processing.post.plan import TopKPlan
from arenite.host.camera.answers.answer import Answer, Class
from arenite.host.camera.answers.postprocess_call import PreparedCall
from arenite.host.camera.answers.scores import key_to_real
from arenite.host.camera.runtimes.base import TensorMemory


def classes_reader(
    plan: TopKPlan, memory: TensorMemory, labels: tuple[str, ...], call: PreparedCall
) -> Callable[[Any], Answer]:
    """Return a function that reads the best classes. It ignores its argument, because classes have no coordinates."""
    if plan.values is not None:  # with a softmax, the keys are probabilities in units of 1/65536
        real = key_to_real("int32", 1.0 / 65536, 0, False)
    else:
        real = key_to_real(memory.dtype, memory.scale or 1.0, memory.zero_point, plan.step.logits)
    names = (*labels, *[""] * (plan.count - len(labels)))
    function, arguments, results = call.function, call.arguments, call.results
    # One call unpacks all k entries of the buffer. Only the first ``count`` entries are valid.
    unpack = struct.Struct("<" + "iI" * plan.step.k).unpack_from

    def read(_: Any) -> Answer:
        count = function(*arguments)
        entries = unpack(results)
        return Answer(
            "classes",
            tuple([Class(i := entries[k + 1], names[i], real(entries[k])) for k in range(0, 2 * count, 2)]),
        )

    return read
