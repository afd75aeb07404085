"""Check the operators of a SavedModel before TensorFlow loads it, because some operators read and write files or call
Python."""

import os
import re
from typing import Any

from protocol import Refusal

#: The maximum size of the graph, and of the whole folder.
MAX_GRAPH_BYTES = 512 << 20
MAX_FOLDER_BYTES = 2 << 30

#: Operators that use files, devices, the network or Python code.
_FORBIDDEN = re.compile(
    r"ReadFile|WriteFile|MatchingFiles|\w*PyFunc\w*|(Save|Restore)(Slices?)?|\w*Reader(V2)?|LMDBReader|SqlDataset"
    r"|(TextLine|TFRecord|FixedLengthRecord|CSV|LMDB|Snapshot|Save|Load|Assert|DataService|Experimental\w*)Dataset\w*"
    r"|InitializeTableFromTextFile(V2)?|ImmutableConst|Debug\w+|PrintV2|\w*Summary(Writer|Db)\w*|Write\w*Summary\w*"
    r"|LoadAndRemap\w+|GenerateVocabRemapping|DistributedSave|\w*Rpc\w*|RemoteCall|RegisterDataset\w*"
)
#: Operators that load and save the weights. TensorFlow writes them into functions that no other function calls. They
#: are forbidden everywhere else.
_CHECKPOINT = re.compile(r"SaveV2|RestoreV2|MergeV2Checkpoints|CheckpointHasKey")


def check_saved_model(folder: Any) -> None:
    """Raise ``Refusal`` if the SavedModel in ``folder`` has operators that use files, devices or Python code, or if
    it is larger than the limits."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            total += os.stat(os.path.join(parent, name)).st_size
    if total > MAX_FOLDER_BYTES:
        raise _too_large(folder, total, MAX_FOLDER_BYTES)
    path = os.path.join(folder, "saved_model.pb")
    if not os.path.isfile(path):  # the folder has only the text form (saved_model.pbtxt)
        raise Refusal(
            f"{folder} has no saved_model.pb.", "Save the model again with model.export().", "model"
        )
    if os.stat(path).st_size > MAX_GRAPH_BYTES:
        raise _too_large(path, os.stat(path).st_size, MAX_GRAPH_BYTES)
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import saved_model_pb2

    model = saved_model_pb2.SavedModel()
    try:
        with open(path, "rb") as file:
            model.ParseFromString(file.read())
    except DecodeError as error:
        raise Refusal(
            f"Cannot read {path}: {error}.", "The file is damaged: save or download it again.", "model"
        ) from error
    for graph in model.meta_graphs:
        _check_graph(folder, graph)


def _check_graph(folder: Any, graph: Any) -> None:
    """Raise ``Refusal`` if ``graph`` (a ``MetaGraphDef``) or one of its functions has a forbidden operator."""
    functions = {f.signature.name: f for f in graph.graph_def.library.function}
    called = set(graph.object_graph_def.concrete_functions)
    for function in functions.values():
        for node in function.node_def:
            called.add(node.op)
            for value in node.attr.values():
                called.update([value.func.name, *(f.name for f in value.list.func)])
    for name, nodes in (("", graph.graph_def.node), *((n, f.node_def) for n, f in functions.items())):
        for node in nodes:
            if _FORBIDDEN.fullmatch(node.op) or (name in called and _CHECKPOINT.fullmatch(node.op)):
                raise Refusal(
                    f"{folder} has the operator {node.op} ('{node.name[:80]}'), which uses files, devices or Python "
                    "code; it is not run.",
                    "Export the model without reading data, tables or checkpoints inside of it.",
                    "model",
                )


def _too_large(path: Any, size: Any, limit: Any) -> Any:
    return Refusal(f"{path} has {size:,} bytes; the limit is {limit:,}.", "Give a smaller model.", "model")
