"""Sizes predicted without a compiler equal those of the linked firmware, to the byte."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from arenite.converters.graph.model import Model
from arenite.errors import DoesNotFitError, ProfileError
from arenite.firmware.boards.linker import linker_script
from arenite.firmware.generator.features import DEFAULT_PIN, Features
from arenite.firmware.generator.target import Target
from arenite.firmware.sizes import measure, targets
from arenite.firmware.sizes.measure import digest
from arenite.firmware.sizes.object_files import ObjectSet
from arenite.firmware.sizes.prediction import predict, size_table
from arenite.firmware.sizes.targets import SIZE_TARGETS, SIZES, target_of
from arenite.host.build.elf_sizes import ElfSizes, read_elf
from arenite.host.build.fit import choose, needs
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import Project, generate_project
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import Board, all_boards, load_board
from tests.converters.passes.loops.recurrent_models import quantized, recurrent_model
from tests.firmware.sizes.mixed_model import MIXES, mix
from tests.firmware.sizes.same_compiler import need_the_same_compiler
from tests.fuzz.graph_builder import GraphBuilder
from tests.host.small_graphs import classifier, counter, float_edges, save

BOARDS = (
    "qemu_mps2_an386",
    "qemu_mps2_an505",
    "qemu_mps3_an547",
    "qemu_riscv32",
    "qemu_xtensa_lx106",
    "qemu_microbit",
    "qemu_mps2_m0",
)
#: Every mix on every board, alternating between protocols and between levels of optimization.
BUILDS = [
    (board, name, ("arenite", "mlperf")[(j + k) % 2], ("flash", "balanced")[(j // 2 + k) % 2])
    for k, board in enumerate(BOARDS)
    for j, name in enumerate(MIXES)
]


def prepared(model: Model, folder: Path, name: str = "m") -> Prepared:
    """Write the model to a file, and return it read back and planned."""
    return prepare(save(model, folder / f"{name}.tflite"))


def build(
    model: Model, board: Board, folder: Path, *, optimise: str = "balanced", protocol: str = "arenite"
) -> tuple[Project, ElfSizes]:
    """Generate and build a project. Return it and the sizes of its linked firmware."""
    need_the_same_compiler(board)
    project = generate_project(
        prepared(model, folder), board, folder / "p", BuildOptions(optimise, protocol=protocol)
    )
    return project, built_sizes(project, folder / "p")


def built_sizes(project: Project, folder: Path) -> ElfSizes:
    """Build the project in ``folder``, and return the sizes in its ELF."""
    return read_elf(direct_build(folder)).with_tables(project.generated.tables_beside_weights)


def assert_as_predicted(project: Project, built: ElfSizes) -> None:
    """Check that the sizes of the linked firmware equal the prediction, and that the predicted stack is reserved."""
    predicted = project.prediction
    assert predicted.exact
    sizes = (predicted.arena, predicted.static, predicted.weights, predicted.code)
    assert sizes == (built.arena, built.static, built.weights, built.code)
    assert predicted.stack <= built.stack_reserved


@pytest.mark.parametrize("name", sorted(SIZE_TARGETS))
def test_the_stored_sizes_are_up_to_date(name: str) -> None:
    assert size_table(name).digest == digest(), "C sources or flags have changed: run `make sizes`"


def test_kernels_are_compiled_again_only_if_they_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_the_same_compiler(load_board("qemu_microbit"))
    stored = json.loads((SIZES / "qemu_microbit.json").read_text())
    monkeypatch.setattr(targets, "SIZES", tmp_path)
    # Instead of compiling, the measurement returns no sizes.
    monkeypatch.setattr(measure, "measure_support", lambda *_: ObjectSet())
    monkeypatch.setattr(measure, "measure_engine", lambda *_: ObjectSet())

    def measured(**changed: str) -> dict:
        """Change fields of the stored file, run the measurement, and return the sizes of the engine's kernels."""
        (tmp_path / "qemu_microbit.json").write_text(json.dumps(stored | changed))
        assert measure.main(["qemu_microbit", "--toolchain", "gcc"]) == 0
        return json.loads((tmp_path / "qemu_microbit.json").read_text())["engine"]

    assert measured() == stored["engine"]
    for changed in ({"engine_digest": "of other sources"}, {"compiler": "gcc 1.0"}):
        assert measured(**changed)["O2"] == ObjectSet().to_json()


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(("board", "name", "protocol", "optimise"), BUILDS)
def test_the_prediction_equals_the_linked_firmware(
    board: str, name: str, protocol: str, optimise: str, tmp_path: Path
) -> None:
    project_and_sizes = build(mix(name), load_board(board), tmp_path, protocol=protocol, optimise=optimise)
    assert_as_predicted(*project_and_sizes)


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("cell", "recipe", "optimise"), [("gru", "w4", "balanced"), ("lstm", "int8", "flash")]
)
@pytest.mark.parametrize("board", BOARDS)
def test_the_prediction_of_a_loop_equals_the_linked_firmware(
    board: str, cell: str, recipe: str, optimise: str, tmp_path: Path
) -> None:
    model = quantized(recurrent_model(cell), recipe)
    project, built = build(model, load_board(board), tmp_path, optimise=optimise)
    assert "LOOP" in {layer.op.name for layer in project.generated.layers}
    assert_as_predicted(project, built)


@pytest.mark.qemu
@pytest.mark.parametrize("name", ["a", "abc", "naïve [b] model?", 'quote " \\ */'])
@pytest.mark.slow
def test_the_length_of_the_models_name_is_counted(name: str, tmp_path: Path) -> None:
    board = load_board("qemu_mps2_an386")
    need_the_same_compiler(board)
    model = prepared(float_edges(), tmp_path)
    model = replace(model, path=Path(name))
    project = generate_project(model, board, tmp_path / "p", BuildOptions("balanced"))
    assert_as_predicted(project, built_sizes(project, tmp_path / "p"))


@pytest.mark.qemu
def test_equal_layers_are_not_merged(tmp_path: Path) -> None:
    b = GraphBuilder()
    quant = b.quant("int8", 3, 0.05)
    x = b.input((1, 40), "int8", quant)
    for _ in range(4):
        y = b.tensor((1, 40), "int8", quant)
        b.op("RELU", [x], [y])
        x = y
    assert_as_predicted(*build(b.build(), load_board("qemu_mps2_an386"), tmp_path))


@pytest.mark.qemu
@pytest.mark.parametrize("optimise", ["balanced", "flash"])
@pytest.mark.slow
def test_a_board_of_exactly_the_required_size_is_large_enough(optimise: str, tmp_path: Path) -> None:
    """The linker agrees with `fit` on both sides of the limit, for flash and for SRAM."""
    board = load_board("qemu_mps2_an386")
    need_the_same_compiler(board)
    model = prepared(classifier(), tmp_path)
    requirements = needs(model.retarget(Target.for_core(board.core, optimise)).generated, board, optimise)
    exact = resized(board, requirements.flash, requirements.ram)
    project = generate_project(model, exact, tmp_path / "p", BuildOptions(optimise))
    assert_as_predicted(project, built_sizes(project, tmp_path / "p"))
    for flash, ram, memory in (
        (requirements.flash - 4, requirements.ram, "flash"),
        (requirements.flash, requirements.ram - 16, "SRAM"),
    ):
        smaller = resized(board, flash, ram)
        missing_bytes = 4 if memory == "flash" else 16
        with pytest.raises(DoesNotFitError, match=f"needs {missing_bytes} B more {memory}"):
            generate_project(model, smaller, tmp_path / "never", BuildOptions(optimise))
        assert not (tmp_path / "never").exists()
        (tmp_path / "p/lib/board/link.ld").write_text(linker_script(smaller, requirements.stack))
        region = (smaller.flash if memory == "flash" else smaller.ram)[0].name
        with pytest.raises(DoesNotFitError, match=f"{missing_bytes} bytes of {region} more"):
            direct_build(tmp_path / "p")


def resized(board: Board, flash: int, ram: int) -> Board:
    """Return the board with the given sizes of flash and RAM in bytes."""
    return replace(
        board,
        flash=(replace(board.flash[0], size=flash),),
        ram=(replace(board.ram[0], size=ram),),
    )


def test_every_board_has_a_prediction(small: Prepared) -> None:
    generated = small.generated
    for board in all_boards():
        balanced, flash = predict(generated, board, "balanced"), predict(generated, board, "flash")
        assert balanced.exact == board.emulated
        assert balanced.arena == flash.arena == small.plan.arena_bytes
        assert balanced.weights == flash.weights > 0
        assert 2000 < flash.code < 12_000 and 2000 < balanced.code < 12_000, board.name
        assert 128 < flash.stack < 1024 and 128 < flash.static < 1024, board.name
        assert target_of(board).core == board.core or not board.emulated


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepared(classifier(), tmp_path_factory.mktemp("small"))


def test_the_mlperf_monitor_needs_memory_for_a_copy_of_the_inputs(small: Prepared, tmp_path: Path) -> None:
    """`fit` and the generated project count the memory of the same protocol. A board without memory for the copy is
    refused."""
    board, generated = load_board("qemu_mps2_an386"), small.generated
    plain, monitor = (needs(generated, board, "balanced", p) for p in ("arenite", "mlperf"))
    copied = generated.model.main.tensors[generated.model.main.inputs[0]].nbytes
    assert copied / 2 < monitor.static - plain.static < copied + 512  # the protocols' own buffers differ too
    tight = resized(board, board.flash_bytes, plain.ram)
    assert choose(small, tight, BuildOptions("balanced")).verdict.fits
    with pytest.raises(DoesNotFitError, match="more SRAM"):
        generate_project(small, tight, tmp_path / "p", BuildOptions("balanced", protocol="mlperf"))


def test_initial_values_of_state_are_counted(tmp_path: Path) -> None:
    """A variable with different initial bytes needs them in flash. A variable filled with one value does not."""
    generated = prepared(counter(), tmp_path).generated
    (variable,) = generated.variables
    board = load_board("qemu_mps2_an386")
    filled = replace(generated, variables=(replace(variable, fill=0),))
    stored = replace(generated, variables=(replace(variable, fill=None),))
    assert predict(stored, board, "flash").code - predict(filled, board, "flash").code == variable.nbytes


@pytest.mark.parametrize("content", [None, "", "{}", '{"digest": "x", "engine": 3}'])
def test_the_error_of_a_damaged_table_says_how_to_create_it(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arenite.firmware.sizes.targets.SIZES", tmp_path)
    if content is not None:
        (tmp_path / "qemu_microbit.json").write_text(content)
    size_table.cache_clear()
    try:
        with pytest.raises(ProfileError, match=r"qemu_microbit\.json is missing or damaged") as caught:
            size_table("qemu_microbit")
    finally:
        size_table.cache_clear()
    assert "arenite.firmware.sizes.measure" in caught.value.hint


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("board", "features", "protocol"),
    [
        ("qemu_mps2_an386", Features(health=True), "arenite"),
        ("qemu_mps2_an386", Features(mark="1", health=True), "arenite"),
        ("qemu_mps2_an386", Features(), "mlperf-energy"),
        ("qemu_microbit", Features(mark=DEFAULT_PIN), "arenite"),
        ("qemu_microbit", Features(health=True), "arenite"),
        ("qemu_mps2_an505", Features(mark=DEFAULT_PIN, health=True), "arenite"),
        ("qemu_riscv32", Features(health=True), "arenite"),
        ("qemu_xtensa_lx106", Features(health=True), "arenite"),
    ],
)
def test_optional_features_are_counted(board: str, features: Features, protocol: str, tmp_path: Path) -> None:
    target = load_board(board)
    need_the_same_compiler(target)
    project = generate_project(
        prepared(classifier(), tmp_path),
        target,
        tmp_path / "p",
        BuildOptions(
            "balanced", protocol=protocol, mark=features.mark, health=features.health, cores=features.cores
        ),
    )
    assert_as_predicted(project, built_sizes(project, tmp_path / "p"))


@pytest.mark.qemu
def test_the_mlperf_monitor_of_an_autoencoder_is_counted(tmp_path: Path) -> None:
    """Input and output have equal shapes, so the input can arrive as floats. The prediction counts the buffer and the
    code for floats."""
    b = GraphBuilder()
    quant = b.quant("int8", 3, 0.05)
    x, y = b.input((1, 40), "int8", quant), b.tensor((1, 40), "int8", quant)
    b.op("RELU", [x], [y])
    board = load_board("qemu_mps2_an386")
    project, built = build(b.build(), board, tmp_path, protocol="mlperf")
    assert_as_predicted(project, built)
    assert "ar_score" in (tmp_path / "p/src/main.c").read_text()
