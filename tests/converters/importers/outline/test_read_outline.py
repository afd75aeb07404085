"""The outline of a source model (its inputs, outputs and layers) is read without the framework, from files that these
tests write byte by byte. The tests of the importers compare outlines with real sources."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from arenite.converters.importers import source_kinds
from arenite.converters.importers.outline.read_outline import read_outline
from arenite.converters.importers.outline.refused_layers import check_layers
from arenite.converters.importers.source_kinds import source_kind
from arenite.errors import ModelError, UnsupportedModelError, UsageError
from tests.converters.importers.outline import source_files as files


def outline_of(path: Path, signature: str = ""):
    """Return the outline of the source, which must have one."""
    outline = read_outline(str(path), source_kind(str(path)), signature)
    assert outline is not None
    return outline


def test_an_onnx_file_has_an_outline(tmp_path: Path) -> None:
    outline = outline_of(files.picture_onnx(tmp_path / "m.onnx", strides=(2, 1), shape=(None, 3, 16, 16)))
    assert [(i.name, i.shape) for i in outline.inputs or ()] == [("image", (None, 3, 16, 16))]
    assert [(o.name, o.shape) for o in outline.outputs or ()] == [("scores", (1, 4))]
    assert outline.weights == 4 * 3 * 9 and outline.channels_first == (True,)
    assert [str(layer) for layer in outline.layers] == [
        "Layer '/features/Conv' (Conv)",
        "Layer '/features/Relu' (Relu)",
        "Layer 'c' (GlobalAveragePool)",  # a node without a name is named after its output
        "Layer '/flat' (Flatten)",
    ]
    assert outline.layers[0].steps == {"strides": (2, 1)}


def test_onnx_control_flow_is_listed_only_if_it_depends_on_an_input(tmp_path: Path) -> None:
    def kinds(nodes: list[bytes]) -> list[str]:
        path = files.onnx_file(
            tmp_path / "m.onnx",
            [*nodes, files.onnx_node("If", ["condition"], ["y"], "/if")],
            [files.onnx_value("x", (1, 8))],
            [files.onnx_value("y", (1, 8))],
            [files.onnx_constant("two", ())],
        )
        return [layer.kind for layer in outline_of(path).layers]

    assert kinds([files.onnx_node("Greater", ["x", "two"], ["condition"])]) == ["Greater", "If"]
    assert "If" not in kinds([files.onnx_node("Equal", ["two", "two"], ["condition"])])
    assert "If" not in kinds(
        [
            files.onnx_node("Shape", ["x"], ["shape"]),
            files.onnx_node("Equal", ["shape", "two"], ["condition"]),
        ]
    )


def test_onnx_nodes_that_no_output_needs_are_not_listed(tmp_path: Path) -> None:
    path = files.onnx_file(
        tmp_path / "m.onnx",
        [files.onnx_node("NonZero", ["x"], ["unused"]), files.onnx_node("Relu", ["x"], ["y"])],
        [files.onnx_value("x", (1, 8))],
        [files.onnx_value("y", (1, 8))],
    )
    assert [layer.kind for layer in outline_of(path).layers] == ["Relu"]


def test_onnx_layers_have_time_steps_and_are_marked_if_they_compute_on_volumes(tmp_path: Path) -> None:
    path = files.onnx_file(
        tmp_path / "m.onnx",
        [
            files.onnx_node("LSTM", ["x", "w", "r"], ["h"], "/rnn"),
            files.onnx_node("Conv", ["h", "v"], ["y"], "/volume"),
        ],
        [files.onnx_value("x", (200, 1, 4))],
        [files.onnx_value("y", (1, 8))],
        [files.onnx_constant("v", (4, 1, 3, 3, 3))],
    )
    lstm, conv = outline_of(path).layers
    assert lstm.time_steps == 200 and conv.volume and not lstm.volume


@pytest.mark.parametrize("location", ["missing.bin", "", "\0"])
def test_a_missing_file_of_onnx_weights_is_an_error(tmp_path: Path, location: str) -> None:
    path = files.picture_onnx(tmp_path / "m.onnx", location=location or "there.bin")
    if not location:
        (tmp_path / "there.bin").write_bytes(b"")
        assert outline_of(path).weights == 108
        return
    with pytest.raises(ModelError, match="which is missing"):
        outline_of(path)


def test_a_keras_file_has_an_outline(tmp_path: Path) -> None:
    outline = outline_of(files.picture_keras(tmp_path / "m.keras", strides=(300, 1)))
    assert [(i.name, i.shape) for i in outline.inputs or ()] == [("image", (None, 16, 16, 3))]
    assert [o.shape for o in outline.outputs or ()] == [(4,)]
    assert outline.weights == 8 * (27 + 1) + 4 * (8 + 1)
    conv = outline.layers[1]
    assert str(conv) == "Layer 'first_conv' (Conv2D)" and conv.steps["strides"] == (300, 1)


def test_keras_layers_inside_of_layers_are_listed(tmp_path: Path) -> None:
    inner = files.keras_layer("LSTM", "inner", units=8)
    wrapper = files.keras_layer("Bidirectional", "both", (None, 200, 4), layer=inner)
    model = files.keras_layer(
        "Functional", "part", layers=[files.keras_layer("Conv3D", "volume", strides=[1, 1, 1])]
    )
    outline = outline_of(files.keras_file(tmp_path / "m.keras", [wrapper, model], (None, 200, 4)))
    assert {layer.name: layer.time_steps for layer in outline.layers}["both"] == 200
    assert {"inner", "volume"} <= {layer.name for layer in outline.layers}
    assert outline.weights is None and outline.outputs is None  # None: not known


def test_the_keras_description_in_an_hdf5_file_is_read(tmp_path: Path) -> None:
    text = json.dumps(
        files.keras_description([files.keras_layer("Dense", "scores", units=3)], (None, 8))
    ).encode()
    other = b'{"class_name": "Adam"}'

    def file(stated: int) -> Path:
        """Write an HDF5 file whose header says that it has ``stated`` bytes."""
        head = b"\x89HDF\r\n\x1a\n" + bytes(32) + stated.to_bytes(8, "little")
        heap = b"".join(len(part).to_bytes(8, "little") + part for part in (other, text))
        (tmp_path / "m.h5").write_bytes(head + bytes(100) + heap + bytes(100))
        return tmp_path / "m.h5"

    outline = outline_of(file(100))
    assert [layer.name for layer in outline.layers] == ["image", "scores"]
    assert [i.shape for i in outline.inputs or ()] == [(None, 8)]
    with pytest.raises(ModelError, match=r"is damaged: it has .* bytes, but its header says 1,000,000"):
        outline_of(file(1_000_000))


@pytest.mark.parametrize("ending", ["keras", "pt2", "h5"])
def test_a_file_with_unknown_contents_has_no_outline(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"m.{ending}"
    if ending == "h5":
        path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    elif ending == "keras":
        files.keras_file(path, [{"class_name": "Dense"}])
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("net/models/model.json", "[1, 2]")
    assert read_outline(str(path), source_kind(str(path))) is None


def test_keras_with_an_infinite_size_has_no_outline(tmp_path: Path) -> None:
    layer = files.keras_layer("Dense", "scores", units=float("inf"))
    path = files.keras_file(tmp_path / "m.keras", [layer], (None, 8))
    assert read_outline(str(path), source_kind(str(path))) is None


def test_keras_layers_in_a_circle_have_no_known_output(tmp_path: Path) -> None:
    layer = files.keras_layer("ReLU", "relu") | {"inbound_nodes": [[["relu", 0, 0, {}]]]}
    assert outline_of(files.functional_keras(tmp_path / "m.keras", layer)).outputs is None


def test_sizes_that_are_no_integers_have_no_outline(tmp_path: Path) -> None:
    """A text times a number could fill the memory."""
    for units in ("many", 2.5, [3], 10**100):
        layer = files.keras_layer("Dense", "scores", (None, 8), units=units)
        path = files.functional_keras(tmp_path / "m.keras", layer)
        assert read_outline(str(path), "keras") is None
    path = files.picture_torch(tmp_path / "m.pt2")
    with zipfile.ZipFile(path) as archive:
        text = archive.read("net/models/model.json")
    for size in (b'"16"', b"1.5", b"{}"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("net/models/model.json", text.replace(b'"as_int": 16', b'"as_int": ' + size))
        assert read_outline(str(path), "torch-export") is None


@pytest.mark.parametrize("sizes", [(1 << 61, 1 << 61), (-1, 3)])
def test_an_impossible_number_of_weights_is_damage(tmp_path: Path, sizes: tuple[int, ...]) -> None:
    path = tmp_path / "m.onnx"
    files.onnx_file(
        path,
        [files.onnx_node("Relu", ["image"], ["scores"])],
        [files.onnx_value("image", (1, 4))],
        [files.onnx_value("scores", (1, 4))],
        [files.onnx_constant("w", sizes)],
    )
    with pytest.raises(ModelError, match="impossible number of values"):
        outline_of(path)


def test_an_empty_signature_of_a_saved_model_is_damage(tmp_path: Path) -> None:
    meta = files.field(5, files.field(1, "serving_default"))
    (tmp_path / "saved_model.pb").write_bytes(files.field(1, 1) + files.field(2, meta))
    with pytest.raises(ModelError, match="its signature 'serving_default' is empty"):
        outline_of(tmp_path)


def test_a_torch_export_file_has_an_outline(tmp_path: Path) -> None:
    outline = outline_of(files.picture_torch(tmp_path / "m.pt2", stride=(2, 2)))
    assert [(i.name, i.shape) for i in outline.inputs or ()] == [("x", (1, 3, 16, 16))]
    assert [o.shape for o in outline.outputs or ()] == [(1, 4)]
    assert outline.weights == 108 and outline.channels_first == (True,)
    assert str(outline.layers[0]) == "Layer 'features.0' (Conv2d, aten.conv2d, net.py line 12)"
    assert outline.layers[0].steps == {"stride": (2, 2)}


def test_a_saved_model_has_an_outline(tmp_path: Path) -> None:
    nodes = [
        files.tf_node(
            "VarHandleOp", "kernel", dtype=files.field(6, 1), shape=files.field(7, files.tf_shape((3, 5)))
        ),
        files.tf_node(
            "Conv2D", "net/conv/Conv2D", ["x", "kernel:value:0"], strides=files.tf_ints(1, 300, 1, 1)
        ),
        files.tf_node("Where", "net/unused", ["x"]),
        files.tf_node("PartitionedCall", "y", ["net/conv/Conv2D:output:0", "^net/unused"]),
    ]
    outline = outline_of(files.saved_model(tmp_path / "m", nodes))
    assert [(i.name, i.shape) for i in outline.inputs or ()] == [("image", (None, 16, 16, 3))]
    assert [o.shape for o in outline.outputs or ()] == [(None, 4)]
    by_name = {layer.name: layer for layer in outline.layers}
    assert by_name["net/conv/Conv2D"].steps == {"strides": (1, 300, 1, 1)}
    assert "net/unused" not in by_name  # a control dependency, whose result nobody reads
    assert outline.weights == 15


def test_a_saved_model_that_changes_a_variable_is_refused_by_the_name_of_the_operator(tmp_path: Path) -> None:
    """No output is computed from the operator: it only has to run before the variable is read."""
    nodes = [
        files.tf_node("AssignAddVariableOp", "net/sum/AssignAdd", ["sum", "x"]),
        files.tf_node("ReadVariableOp", "y", ["sum", "^net/sum/AssignAdd"]),
    ]
    outline = outline_of(files.saved_model(tmp_path / "m", nodes))
    with pytest.raises(
        UnsupportedModelError, match=r"net/sum/AssignAdd.*keeps a value between inferences"
    ) as error:
        check_layers(source_kinds.SAVED_MODEL, outline)
    assert ".keras" in error.value.hint


def test_branches_of_a_saved_model_with_a_constant_condition_are_not_listed(tmp_path: Path) -> None:
    def kinds(condition: bytes, name: str) -> list[str]:
        nodes = [condition, files.tf_node("StatelessIf", "y", ["condition:output:0", "x"])]
        return [layer.kind for layer in outline_of(files.saved_model(tmp_path / name, nodes)).layers]

    assert "StatelessIf" in kinds(files.tf_node("Greater", "condition", ["x"]), "varying")
    assert "StatelessIf" not in kinds(files.tf_node("Const", "condition"), "constant")


def test_a_saved_model_with_several_signatures_needs_a_choice(tmp_path: Path) -> None:
    nodes = [files.tf_node("Relu", "y")]
    two = files.saved_model(tmp_path / "two", nodes, signatures=("a", "b"))
    with pytest.raises(UsageError, match=r"2 signatures: a, b.* --signature a"):
        outline_of(two)
    with pytest.raises(UsageError, match="no signature 'c'"):
        outline_of(two, "c")
    assert outline_of(two, "b").layers
    # "serving_default" is chosen without --signature.
    assert outline_of(
        files.saved_model(tmp_path / "serve", nodes, signatures=("serve", "serving_default"))
    ).layers
    with pytest.raises(ModelError, match="has no signature"):
        outline_of(files.saved_model(tmp_path / "none", nodes, signatures=("__saved_model_init_op",)))


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_off_is_damaged(tmp_path: Path, part: float) -> None:
    onnx = files.picture_onnx(tmp_path / "m.onnx")
    onnx.write_bytes(onnx.read_bytes()[: int(part * onnx.stat().st_size)])
    with pytest.raises(ModelError, match=r"m.onnx is damaged: .* cut off") as error:
        outline_of(onnx)
    assert error.value.hint
    graph = files.saved_model(tmp_path / "m", [files.tf_node("Relu", "y")]) / "saved_model.pb"
    graph.write_bytes(graph.read_bytes()[: int(part * graph.stat().st_size)])
    with pytest.raises(ModelError, match="is damaged"):
        outline_of(tmp_path / "m")


def test_bytes_that_are_no_protocol_buffer_are_damaged(tmp_path: Path) -> None:
    for data in (b"\xff" * 20, b"\x0b\x00", b"\x08", b"\x3a\x02\x08"):
        (tmp_path / "m.onnx").write_bytes(data)
        with pytest.raises(ModelError, match="is damaged"):
            outline_of(tmp_path / "m.onnx")


def test_an_onnx_file_with_too_many_nodes_or_dimensions_has_no_outline(tmp_path: Path) -> None:
    """A list of the parts of such a file would take many times the memory of the file."""
    path = tmp_path / "m.onnx"
    node = files.field(1, files.onnx_node("Relu", ["x"], ["y"]))
    path.write_bytes(files.field(7, node * 200_001))
    assert read_outline(str(path), "onnx") is None
    dims = files.field(5, files.field(1, b"\x01" * 10_001) + files.field(2, 1) + files.field(8, "w"))
    path.write_bytes(files.field(7, dims))
    assert read_outline(str(path), "onnx") is None


def test_a_keras_description_of_nine_megabytes_has_no_outline(tmp_path: Path) -> None:
    layers = [files.keras_layer("Dense", "n" * 1000, units=1)] * 9000
    path = files.keras_file(tmp_path / "m.keras", layers)
    assert read_outline(str(path), "keras") is None


def test_keras_inputs_in_a_table_are_sorted_by_name(tmp_path: Path) -> None:
    entries = {"right": ["b", 0, 0], "left": ["a", 0, 0]}
    layers = [
        files.keras_layer("InputLayer", name, batch_shape=[None, size]) for name, size in (("b", 4), ("a", 3))
    ]
    description = {
        "class_name": "Functional",
        "config": {"name": "net", "layers": layers, "input_layers": entries, "output_layers": ["a", 0, 0]},
    }
    path = files.keras_file(tmp_path / "m.keras", [])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", json.dumps(description))
        archive.writestr("metadata.json", "{}")
    assert [(i.name, i.shape) for i in outline_of(path).inputs or ()] == [("a", (None, 3)), ("b", (None, 4))]


def test_weights_of_a_saved_model_without_variables_are_not_known(tmp_path: Path) -> None:
    """Such a model may have its weights as constants."""
    assert outline_of(files.saved_model(tmp_path / "m", [files.tf_node("Relu", "y")])).weights is None
