"""Read generated C text: which variables and functions it defines, their bytes, and what they refer to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:.*\\\n)*.*$", re.MULTILINE)
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<![\w.])(?:0x[0-9a-fA-F]+|\d[\d.]*(?:e[+-]?\d+)?)[uUlLf]*")
_VARIABLE = re.compile(
    r"(?P<words>[\w *]*?)(?P<name>\w+)(?P<dimensions>(?:\[[^]]*\])*)"
    r"(?P<attributes>(?: +(?:AR_\w+(?:\([^)]*\))?|__attribute__\(\(.*?\)\)))*) *(?:= *(?P<value>.*))?;",
    re.DOTALL,
)
_FUNCTION = re.compile(
    r"(?P<words>[\w *]*?)(?P<name>\w+)\((?P<arguments>[^{]*)\)\s*(?P<body>\{.*\})", re.DOTALL
)
#: Bytes of the scalar types of C on a 32-bit processor.
_SCALARS = {"char": 1, "int8_t": 1, "uint8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4}
_SCALARS |= {"int64_t": 8, "uint64_t": 8, "int": 4, "float": 4, "ar_layer_fn": 4}


@dataclass(frozen=True)
class Definition:
    """A variable or a function. ``kind`` is that of :class:`Section`, ``c_type`` the type of a variable's elements,
    ``size`` its bytes (0 for a function), ``text`` the whole text, and ``refs`` the names in it."""

    name: str
    kind: str
    c_type: str
    size: int
    text: str
    refs: tuple[str, ...]


def without_comments(text: str) -> str:
    """Return C text without comments."""
    return _COMMENT.sub(" ", text)


def mark(number: int) -> str:
    """Return what stands for the name of model ``number`` of an application: ``@`` for the first one."""
    return f"@{number or ''}"


def normalized(text: str, prefixes: Sequence[str], numbers: bool = False) -> str:
    """Return C text in which the names of models are their marks and white space is single; without ``numbers``, each
    number is 0. ``prefixes`` are those of the models' C names."""
    text = without_comments(text)
    for number, prefix in longest_first(prefixes):
        text = re.sub(rf"\b{re.escape(prefix)}", f"{mark(number)}_", text)
        text = re.sub(rf"(?:\b|(?<=\bAR_)){re.escape(prefix.upper())}", f"@{mark(number)}_", text)
    return " ".join((text if numbers else _NUMBER.sub("0", text)).split())


def longest_first(prefixes: Sequence[str]) -> list[tuple[int, str]]:
    """Return the prefixes with their numbers, the longest first: a shorter one may be its beginning."""
    return sorted(enumerate(prefixes), key=lambda entry: -len(entry[1]))


def definitions(text: str, size_of: Callable[[str], int]) -> list[Definition]:
    """Return the variables and functions that generated C text defines. ``size_of`` returns the bytes of a
    structure."""
    found = []
    for statement in _statements(_DIRECTIVE.sub("", without_comments(text))):
        function = _FUNCTION.fullmatch(statement)
        if function is not None and "=" not in statement.split("{")[0]:
            refs = tuple(sorted({*_NAME.findall(function["body"])} - {function["name"]}))
            found.append(Definition(function["name"], "text", "", 0, statement, refs))
            continue
        variable = _VARIABLE.fullmatch(statement)
        words = variable["words"].replace("*", " * ").split() if variable is not None else []
        if variable is None or not words or words[0] in ("extern", "typedef", "struct"):
            continue
        found.append(_variable(variable, words, size_of))
    return found


def _variable(match: re.Match[str], words: list[str], size_of: Callable[[str], int]) -> Definition:
    """Return the definition of a variable. ``words`` are its type and qualifiers."""
    value = (match["value"] or "").strip()
    is_const = words[-1] == "const" or ("*" not in words and "const" in words)
    c_type = "*" if "*" in words else words[-1]
    size = 4 if c_type == "*" else _SCALARS[c_type] if c_type in _SCALARS else size_of(c_type)
    for dimension in re.findall(r"\[([^]]*)\]", match["dimensions"]):
        size *= int(dimension) if dimension.strip() else _count(value)
    has_value = bool(value) and re.sub(r"[{}\s,]|\.\w+ *=|\b0[uU]?\b", "", value) != ""
    kind = "rodata" if is_const else "data" if has_value else "bss"
    kind = "weights" if "ar_weights" in match["attributes"] else kind
    refs = tuple(sorted({*_NAME.findall(_STRING.sub("", value))}))
    return Definition(match["name"], kind, c_type, size, match[0], refs)


def _count(value: str) -> int:
    """Return the number of elements in an initializer: a string, or values in braces."""
    if value.startswith('"'):
        return len(re.findall(r"\\[0-7]{3}|\\.|.", value[1:-1], re.DOTALL)) + 1
    depth = count = 0
    is_empty = True
    for character in _STRING.sub("s", value):
        depth += (character in "{([") - (character in "})]")
        if character == "," and depth == 1:
            count += 1
            is_empty = True
        elif not character.isspace() and not (character == "{" and depth == 1) and depth:
            is_empty = False
    return count + (not is_empty)


def _statements(text: str) -> Iterator[str]:
    """Yield the definitions and declarations of a file."""
    depth = start = 0
    at = 0
    while at < len(text):
        character = text[at]
        if character == '"':
            match = _STRING.match(text, at)
            at = match.end() if match else at + 1
            continue
        depth += (character == "{") - (character == "}")
        at += 1
        is_end = character == ";" or (character == "}" and "=" not in text[start:at].split("{")[0])
        is_type = re.match(r"\s*(typedef|struct \w+\s*\{)", text[start:at]) is not None
        if depth == 0 and is_end and not (is_type and character == "}"):
            yield text[start:at].strip()
            start = at
