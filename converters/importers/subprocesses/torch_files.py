"""Check a file of torch.export before PyTorch reads it, and write a copy without the parts that could run code.

A ``.pt2`` file is an archive of a program (as JSON) and tensors. PyTorch evaluates its symbolic expressions and its
guards as Python, unpickles its constants and its example inputs, and loads compiled libraries from it. This module
accepts only tensors and a program of known operators. PyTorch reads the copy, not the original file, so it cannot find
members of the archive that were not checked.
"""

import ast
import json
import math
import os
import re
import zipfile
from typing import Any

from protocol import Refusal
from size_limits import FREE_BYTES, HINT, MAX_VALUES, max_expanded_bytes

#: The maximum size of all members together, and of the JSON that describes the program.
MAX_BYTES = 2 << 30
MAX_PROGRAM_BYTES = 64 << 20

#: The maximum number of values of all weights that are in the file fewer times than in the model.
_MAX_STRETCHED = FREE_BYTES // 4

_AGAIN = "Export the float model again with torch.export.save, without compiled code and custom classes."

#: The names of accepted members. All members are in one folder, whose name is removed first, except in files of PyTorch
#: 2.7 and older.
_MEMBERS = re.compile(
    r"archive_format|archive_version|byteorder|version|\.data/\w+|\.format_version|\.storage_alignment"
    r"|models/[^/]+\.json|extra/.*|data/sample_inputs/[^/]+\.pt"
    r"|data/(weights|constants)/(weight_\d+|tensor_\d+|[^/]+_config\.json|[^/]+\.pt)"
    r"|serialized_(exported_program\.json|state_dict\.pt|constants\.pt|example_inputs\.pt|state_dict\.json)"
    r"|extra_files/.*"
)
#: The names of files with tensors.
_TENSOR_FILE = re.compile(r"(weight|tensor)_\d+|[\w.]+\.pt|")

#: The names of accepted operators.
_TARGET = re.compile(
    r"torch\.ops\.(aten|prims|quantized_decomposed|quantized|higher_order)\.\w+(\.\w+)?"
    r"|_operator\.[a-z_]+|math\.[a-z0-9]+|torch\.sym_\w+|torch\._sym_\w+"
)
#: Operators of ATen that open files.
_FILE_OPERATORS = re.compile(r"torch\.ops\.aten\.(from_file|save|load)\b")

#: The accepted types of the structure of inputs or outputs. None is a tensor.
_TREE_TYPES = (
    None,
    "builtins.tuple",
    "builtins.list",
    "builtins.dict",
    "collections.OrderedDict",
    "torch.Size",
)

#: The accepted parts of an expression for the sizes of a shape: nodes of its syntax tree, functions, and symbols.
_EXPRESSION_NODES = (
    ast.Expression, ast.Call, ast.Name, ast.Constant, ast.keyword, ast.Load, ast.BinOp, ast.UnaryOp, ast.Compare,
    ast.BoolOp, ast.operator, ast.unaryop, ast.cmpop, ast.boolop, ast.Tuple,
)  # fmt: skip
_FUNCTIONS_NAMES = """
Symbol Integer Rational Float Add Mul Pow Mod Min Max Abs Eq Ne Lt Le Gt Ge StrictLessThan LessThan StrictGreaterThan
GreaterThan Equality Unequality And Or Not ITE Piecewise ExprCondPair Tuple true false FloorDiv ModularIndexing Where
PythonMod CleanDiv CeilToInt FloorToInt CeilDiv LShift RShift FloatPow FloatTrueDiv IntTrueDiv IntLikeFloorDiv
NonOverlapping IsNonOverlappingAndDenseIndicator TruncToFloat TruncToInt RoundToInt RoundDecimal ToFloat Identity
PowByNatural BooleanTrue BooleanFalse ceiling floor sqrt bool int float
"""
_FUNCTIONS = frozenset(_FUNCTIONS_NAMES.split())
_NAME = re.compile(r"[a-zA-Z]{1,12}\d*")


def checked_copy(source: Any, folder: Any) -> Any:
    """Write a copy of the .pt2 file ``source`` to ``folder`` and return its path.

    Raises ``Refusal`` for members, operators or expressions that could run code, and for sizes beyond the limits.
    """
    path = os.path.join(folder, "model.pt2")
    with (
        zipfile.ZipFile(source) as archive,
        zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as copy,
    ):
        members = {info.filename: info for info in archive.infolist() if not info.filename.endswith("/")}
        total = sum(info.file_size for info in members.values())
        if total > MAX_BYTES:
            raise Refusal(
                f"{source} would take {total:,} bytes of memory; the limit is {MAX_BYTES:,}.",
                "Give a smaller model.",
                "model",
            )
        limit = max_expanded_bytes(os.stat(source).st_size, MAX_BYTES)
        if total > limit:
            raise Refusal(
                f"{source} would take {total:,} bytes of memory; the limit for a file of its size is {limit:,}.",
                HINT,
                "model",
            )
        nested = any(name.endswith("/archive_format") for name in members)
        for name, info in members.items():
            inner = name.partition("/")[2] if nested else name
            if not _MEMBERS.fullmatch(inner):
                raise Refusal(
                    f"{source} contains '{name[:100]}', which may run code when it is read.", _AGAIN, "model"
                )
            if inner.endswith(".json"):
                if info.file_size > MAX_PROGRAM_BYTES:
                    raise Refusal(
                        f"{source}: {name[:100]} has {info.file_size:,} bytes; the limit is "
                        f"{MAX_PROGRAM_BYTES:,}.",
                        "Give a smaller model.",
                        "model",
                    )
                payloads = {n.rpartition("/")[2]: i.file_size for n, i in members.items()}
                copy.writestr(name, _checked_json(source, inner, archive.read(info), payloads))
            elif not inner.startswith("extra"):
                with archive.open(info) as member, copy.open(name, "w", force_zip64=True) as target:
                    while block := member.read(1 << 20):
                        target.write(block)
    return path


def _checked_json(source: Any, name: Any, data: Any, payloads: Any) -> Any:
    """Return the JSON text ``data`` of the member ``name`` after all its objects were checked, without guards.
    ``payloads`` has the sizes of all members in bytes."""
    try:
        program = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Refusal(
            f"{name} in {source} is not valid JSON: {error}.", "Save the model again.", "model"
        ) from error
    pending, stretched = [program], 0
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending.extend(value)
        elif isinstance(value, dict):
            _check_table(source, value)
            stretched += _check_sizes(source, value, payloads, _MAX_STRETCHED - stretched)
            pending.extend(value.values())
    return json.dumps(program)


def _check_table(source: Any, table: Any) -> None:
    """Check one JSON object of the program, and remove its guards: PyTorch would run them as Python code, and they only
    check the shapes of inputs, which are fixed during the conversion. Raises ``Refusal``."""
    if "guards_code" in table:
        table["guards_code"] = []
    operator = table.get("as_operator")
    if operator is None and "inputs" in table:  # a node; a "target" in the signature is the name of a weight
        operator = table.get("target")
    if operator is not None:
        if not isinstance(operator, str) or not _TARGET.fullmatch(operator):
            raise Refusal(f"{source} uses the operator '{str(operator)[:100]}'.", _AGAIN, "model")
        if _FILE_OPERATORS.match(operator):
            raise Refusal(f"{source} reads a file with the operator '{operator}'.", _AGAIN, "model")
    if "expr_str" in table:
        _check_expression(source, table["expr_str"])
    if table.get("as_custom_obj") is not None:
        raise Refusal(f"{source} has an object of a custom class.", _AGAIN, "model")
    if "path_name" in table and not _TENSOR_FILE.fullmatch(str(table["path_name"])):
        raise Refusal(
            f"{source} has the constant '{str(table['path_name'])[:100]}', which is not a tensor.",
            _AGAIN,
            "model",
        )
    for key in ("in_spec", "out_spec"):
        if isinstance(table.get(key), str):
            _check_tree(source, table[key])


def _check_sizes(source: Any, table: Any, payloads: Any, stretchable: Any) -> Any:
    """Return how many values the weights that one JSON object of the program describes have beyond the bytes of their
    member: ``Tensor.expand`` repeats values that are in the file once.

    Raises ``Refusal`` if these are more than ``stretchable``, or if a tensor has more than ``MAX_VALUES`` values.
    """
    limit, payload, tensor, name = MAX_VALUES, MAX_VALUES, table, "a tensor"
    if isinstance(table.get("tensor_meta"), dict):
        tensor, name = table["tensor_meta"], str(table.get("path_name"))[:100]
        if name in payloads:
            payload = payloads[name]
            limit = payload + stretchable
    sizes = tensor.get("sizes")
    if not isinstance(sizes, list):
        return 0
    numbers = [size.get("as_int") for size in sizes if isinstance(size, dict)]
    count = math.prod(number for number in numbers if isinstance(number, int))
    if count > limit:
        raise Refusal(
            f"{source}: {name} has {count:,} values; at most {limit:,} are possible.", HINT, "model"
        )
    return max(0, count - payload)


def _check_expression(source: Any, text: Any) -> None:
    """Raise ``Refusal`` unless ``text`` is an arithmetic expression of symbols. PyTorch passes it to SymPy, which
    evaluates it as Python."""
    try:
        nodes = list(ast.walk(ast.parse(str(text), mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        nodes = []
    accepted = bool(nodes)
    for node in nodes:
        if isinstance(node, ast.Call):
            accepted &= isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS
        elif isinstance(node, ast.Name):
            accepted &= node.id in _FUNCTIONS or _NAME.fullmatch(node.id) is not None
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            accepted &= re.fullmatch(r"\w{1,64}", node.value) is not None
        else:
            accepted &= isinstance(node, _EXPRESSION_NODES)
    if not accepted:
        raise Refusal(f"{source} has the expression '{str(text)[:100]}'.", _AGAIN, "model")


def _check_tree(source: Any, text: Any) -> None:
    """Raise ``Refusal`` unless ``text``, the JSON description of a structure of inputs or outputs, has only nested
    tuples, lists and dictionaries."""
    try:
        pending = [json.loads(text)]
        while pending:
            value = pending.pop()
            if isinstance(value, list):
                pending.extend(value)
            elif isinstance(value, dict):
                if "__enum__" in value or value.get("type") not in _TREE_TYPES:
                    raise Refusal(
                        f"{source} takes or returns '{str(value.get('type'))[:100]}'.",
                        "Export a model that takes and returns tensors, tuples, lists or dictionaries.",
                        "model",
                    )
                pending.extend(value.get("children_spec") or ())
                context = value.get("context")
                if isinstance(context, str) and "{" in (decoded := json.dumps(json.loads(context))):
                    raise Refusal(f"{source} has the structure {decoded[:100]}.", _AGAIN, "model")
    except ValueError as error:
        raise Refusal(
            f"{source} has a damaged structure of inputs: {error}.", "Save the model again.", "model"
        ) from error
