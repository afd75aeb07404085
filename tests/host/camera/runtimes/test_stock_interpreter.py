"""Tests of the runtime ``litert-interpreter`` (the unmodified TFLite interpreter), and of external delegates."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

from arenite.errors import ModelError, ToolError, UsageError
from arenite.host.camera.runtimes import stock_interpreter as module
from arenite.host.camera.runtimes.stock_interpreter import StockInterpreter
from tests.converters.small_models import conv_net
from tests.host.camera.runtimes.small_models import (
    custom_operator,
    feed,
    fixed_net,
    interpreter_outputs,
    outputs,
    picture_net,
    reversed_signature_net,
    saved,
)


def opened(path: Path, slots: int = 1, delegate: str = "", **options: str) -> StockInterpreter:
    """Open a model file with the unmodified interpreter, and with ``delegate`` if it is given."""
    return StockInterpreter(path, "litert-interpreter", 1, slots, options, delegate)


@pytest.mark.parametrize("slots", [1, 2])
def test_same_bytes_as_the_interpreter(slots: int, tmp_path: Path) -> None:
    path = saved(reversed_signature_net(), tmp_path)
    runtime = opened(path, slots)
    inputs = [feed(slot, seed) for seed, slot in enumerate(runtime.slots)]
    for slot_index in range(slots):
        runtime.invoke(slot_index)
    for slot, values in zip(runtime.slots, inputs, strict=True):
        for actual, expected in zip(outputs(slot), interpreter_outputs(path, values), strict=True):
            np.testing.assert_array_equal(actual, expected)
    assert any("copied" in note for note in runtime.notes) == (slots > 1)


def test_a_single_slot_uses_the_memory_of_the_interpreter(tmp_path: Path) -> None:
    path = saved(conv_net(), tmp_path)
    runtime = opened(path)
    (input_tensor,) = runtime.slots[0].inputs
    assert input_tensor.scale == pytest.approx(0.02)
    for value in range(0, 100, 7):
        ctypes.memset(input_tensor.address, value, input_tensor.bytes)
        runtime.invoke()
        expected = interpreter_outputs(path, [np.full(input_tensor.shape, value, np.int8)])[0]
        np.testing.assert_array_equal(outputs(runtime.slots[0])[0], expected)


def test_the_option_input_sets_the_input_size(tmp_path: Path) -> None:
    runtime = opened(saved(picture_net(), tmp_path), input="1x8x12x3")
    assert runtime.slots[0].inputs[0].shape == (1, 8, 12, 3)
    assert runtime.slots[0].outputs[0].shape == (1, 8, 12, 8)
    with pytest.raises(ModelError, match="the interpreter reported"):
        opened(saved(fixed_net(), tmp_path), input="1x8x8x3")


def test_an_unknown_operator_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Frobnicate"):
        opened(saved(custom_operator(), tmp_path))


@pytest.mark.parametrize(
    "text", ["/no/such/libdelegate.so", "libm.so.6", "libno_such_delegate.so,device=usb"]
)
def test_a_delegate_that_does_not_load_raises_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=text.split(",")[0]) as error:
        opened(saved(conv_net(), tmp_path), delegate=text)
    assert "litert-cpu" in error.value.hint


def test_delegate_options_must_be_pairs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'usb' is not an option"):
        opened(saved(conv_net(), tmp_path), delegate="libedgetpu.so.1,usb")


def test_options_reach_the_delegate(tmp_path: Path) -> None:
    """The delegate of this test rejects every call, with an error that names the options that it got."""
    source = tmp_path / "refuses.c"
    source.write_text("""
#include <stddef.h>
#include <stdio.h>
void *tflite_plugin_create_delegate(char **keys, char **values, size_t count, void (*report)(const char *))
{
    static char message[200];
    int at = 0;
    for (size_t i = 0; i < count; i++)
        at += snprintf(message + at, sizeof message - (size_t)at, "%s is %s;", keys[i], values[i]);
    report(message);
    return NULL;
}
void tflite_plugin_destroy_delegate(void *delegate) { (void)delegate; }
""")
    library = tmp_path / "librefuses.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    with pytest.raises(ToolError, match="device is usb;speed is max;"):
        opened(saved(conv_net(), tmp_path), delegate=f"{library},device=usb,speed=max")


def test_without_an_interpreter_an_error_is_raised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "_PACKAGES", ("no_such_package.interpreter",))
    with pytest.raises(UsageError, match="No TFLite interpreter"):
        opened(saved(conv_net(), tmp_path))


def test_invoke_after_close_raises_an_error(tmp_path: Path) -> None:
    runtime = opened(saved(conv_net(), tmp_path))
    runtime.close()
    with pytest.raises(UsageError, match="closed"):
        runtime.invoke()
