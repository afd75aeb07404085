"""Describe an exception of a framework in one line: the layer, the cause, and the place in the user's code."""

import re
from typing import Any

#: Lines of error messages that do not name the cause.
_EMPTY = re.compile(
    r"in user code:|Traceback \(most recent call last\):|File \".*|Call arguments received by .*|Exception encountered "
    r"when calling .*|[\^~ ]+|Arguments received by .*|\* .*|• .*"
)

#: Keras's message that names the layer in which an error occurred.
_CALLING = re.compile(
    r"Exception encountered when calling (?:layer )?[\"']?([\w/.\-]+)[\"']?(?: \(type (\w+)\))?"
)
#: A place in a stack trace.
_PLACE = re.compile(r'File "([^"]+)", line (\d+), in ([\w<>]+)|\(([^()\s]+\.py):(\d+) in ([\w<>]+)\)')
#: Parts of paths that are not of the user's program.
_FRAMEWORKS = ("site-packages", "dist-packages", "/lib/python", "<string>", "<frozen", "<eval_with_key>")

_MAX_CHARACTERS = 300


def describe(error: BaseException) -> str:
    """Return what went wrong in ``error``, without a full stop, for example "layer 'rnn' (GRU): ValueError: ..., at
    net.py line 12"."""
    text = str(error)
    cause = _cause(error, text)
    calling = _CALLING.search(text)
    layer = ""
    if calling:
        layer = f"layer '{calling[1]}'" + (f" ({calling[2]})" if calling[2] else "") + ": "
    place = _place(text)
    return f"{layer}{cause}{f', at {place}' if place else ''}"


def remedy(error: BaseException) -> str:
    """Return a sentence that says what the user can try, or "" if nothing is known."""
    names = {type(error).__name__} | set(re.findall(r"\w*DataDependent\w*", str(error)))
    if any("DataDependent" in n for n in names) or "data-dependent" in str(error):
        return (
            "A shape or a branch of the model depends on the values of a tensor: use torch.where in place of if, and "
            "shapes that do not depend on the data."
        )
    return ""


def _cause(error: BaseException, text: str) -> str:
    """Return the type of ``error`` and the sentence of its message ``text`` that names the cause."""
    if isinstance(error, KeyError) and error.args:
        return f"{type(error).__name__}: the framework's converter does not know '{error.args[0]}'"
    text = re.sub(r"\{\{[^{}]*\}\}", "", text)  # TensorFlow's own names of graph nodes
    lines = [line.strip() for line in text.strip().splitlines()]
    telling = [line for line in lines if line and not _EMPTY.fullmatch(line)]
    if "in user code:" in text and telling:
        # TensorFlow quotes the code of every frame; the last line is the exception itself.
        named = [line for line in telling if re.match(r"\w*(Error|Exception)\b.*:", line)]
        telling = named[-1:] or telling[-1:]
    if not telling:
        return f"{type(error).__name__}: it gave no reason"
    words = telling[0][:_MAX_CHARACTERS].rstrip(".")
    return words if re.match(r"\w+(Error|Exception): ", words) else f"{type(error).__name__}: {words}"


def _place(text: str) -> str:
    """Return the last place in ``text`` that is not in a framework's code, such as "net.py line 12, in forward". Return
    "" if there is none."""
    places = [
        (m[1] or m[4], m[2] or m[5], m[3] or m[6])
        for m in _PLACE.finditer(text)
        if not any(f in (m[1] or m[4]) for f in _FRAMEWORKS)
    ]
    if not places:
        return ""
    path, line, function = places[-1]
    return f"{path.rpartition('/')[2]} line {line}, in {function}"


def local_variable(error: BaseException, name: str) -> Any:
    """Return the local variable ``name`` of the innermost function that has one, among the functions through which
    ``error`` was raised. Return None if no function has one."""
    found, trace = None, error.__traceback__
    while trace is not None:
        found = trace.tb_frame.f_locals.get(name, found)
        trace = trace.tb_next
    return found
