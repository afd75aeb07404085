"""Tests of the sentence that describes an exception of a framework. The first line of such an exception rarely names
the cause."""

from __future__ import annotations

import pytest

from arenite.converters.importers.subprocesses.error_messages import describe, local_variable, remedy

_KERAS = """Exception encountered when calling layer "rnn" (type GRU).

{{function_node __wrapped__MatMul}} Matrix size-incompatible: In[0]: [1,5], In[1]: [6,8]

Call arguments received by layer "rnn" (type GRU):
  • inputs=tf.Tensor(shape=(1, 8, 5), dtype=float32)"""

_USER_CODE = """in user code:

    File "/opt/lib/python3.11/site-packages/keras/layers/elu.py", line 40, in call  *
        return tf.nn.elu(x) * self.slope
    File "/home/ann/net.py", line 12, in call  *
        return self.act(x)

    TypeError: Expected float32, but got None of type 'NoneType'.
"""

_TORCH = """Could not guard on data-dependent expression u0 > 3 (unhinted: u0 > 3).  (Size-like symbols: none)

Caused by: if n > 3:  # net.py:21 in forward (_ops.py:1 in x)
For more information, run with TORCH_LOGS="dynamic"

User Stack (most recent call last):
  (snipped, see stack below for prefix)
  File "/home/ann/net.py", line 21, in forward
    if n > 3:
"""


class GuardOnDataDependentSymNode(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "texts"),
    [
        (ValueError(_KERAS), ["layer 'rnn' (GRU): ", "Matrix size-incompatible: In[0]: [1,5]"]),
        (ValueError(_USER_CODE), ["TypeError: Expected float32, but got None", "at net.py line 12, in call"]),
        (
            GuardOnDataDependentSymNode(_TORCH),
            ["Could not guard on data-dependent expression u0 > 3", "at net.py line 21, in forward"],
        ),
        (KeyError("/Constant_output_0"), ["does not know '/Constant_output_0'"]),
        (ValueError(""), ["ValueError: it gave no reason"]),
        (RuntimeError("short reason."), ["RuntimeError: short reason"]),
    ],
)
def test_a_description_has_the_layer_the_cause_and_the_place(error: Exception, texts: list[str]) -> None:
    description = describe(error)
    for text in texts:
        assert text in description
    assert "in user code" not in description and "Exception encountered" not in description
    assert "\n" not in description and not description.endswith(".")


def test_a_local_variable_is_searched_from_the_innermost_function() -> None:
    def inner() -> None:
        graph_node = "inner"
        raise ValueError(graph_node)

    try:
        graph_node = "outer"
        inner()
    except ValueError as error:
        assert local_variable(error, "graph_node") == "inner" != graph_node
        assert local_variable(error, "missing") is None


def test_a_branch_on_data_has_a_remedy() -> None:
    assert "torch.where" in remedy(GuardOnDataDependentSymNode(_TORCH))
    assert remedy(ValueError("another reason")) == ""
