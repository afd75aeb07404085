"""An arena over two memories is chosen only when it is needed, and its outputs are exact."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from arenite.errors import DeviceError, DoesNotFitError
from arenite.firmware.boards import cores
from arenite.firmware.generator.target import PORTABLE, Target
from arenite.firmware.sources import BOARDS
from arenite.host.bench.devices.measure import measure
from arenite.host.bench.native_model import build as build_native
from arenite.host.bench.reference import Reference
from arenite.host.bench.run import BenchConfig, bench
from arenite.host.bench.samples import Samples, random_samples
from arenite.host.bench.size_check import check_sizes
from arenite.host.build.elf_sizes import read_elf
from arenite.host.build.fit import choose, verdicts
from arenite.host.build.options import BuildOptions
from arenite.host.build.prepare import Prepared, prepare
from arenite.host.build.project import generate_project
from arenite.host.build.split_arena import split_over
from arenite.host.cli.main import cli
from arenite.host.emulator.machine import start
from arenite.host.flash.build import direct_build
from arenite.profiles.boards import Board, load_board
from tests.development_models import shared_model
from tests.host.small_graphs import classifier, counter, save

BOARD = load_board("qemu_mps2_an386")


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(classifier(24, 8), tmp_path_factory.mktemp("split") / "small.tflite"))


@pytest.fixture(scope="module")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    return prepare(save(counter(), tmp_path_factory.mktemp("split") / "counter.tflite"))


def samples_of(prepared: Prepared, count: int) -> Samples:
    """Return ``count`` random samples for the model."""
    return random_samples([prepared.model.main.tensors[i] for i in prepared.model.main.inputs], count)


def with_ram(size: int) -> Board:
    """Return the emulated board with ``size`` bytes in its first RAM, for the linker too."""
    return replace(BOARD, ram=(replace(BOARD.ram[0], size=size), *BOARD.ram[1:]))


def arena_of(prepared: Prepared, board: Board = BOARD) -> int:
    """Return the size of the model's arena in bytes, in the mode speed."""
    return prepared.retarget(Target.for_core(board.core, "speed", False)).plan.arena_bytes


def test_a_second_memory_is_used_only_if_the_first_is_too_small(small: Prepared) -> None:
    unsplit = choose(small, BOARD, BuildOptions("speed"))
    needed = unsplit.verdict.needs.ram
    assert choose(small, with_ram(needed), BuildOptions("speed")).second is None
    choice = choose(small, with_ram(needed - 1), BuildOptions("speed"))
    assert choice.second == BOARD.ram[1] and choice.verdict.fits and choice.verdict.reasons == ()
    assert "of the arena in PSRAM, slower" in choice.verdict.notes[0]
    assert choice.verdict.latency_ms > unsplit.verdict.latency_ms
    verdict_json = choice.verdict.to_json()
    assert verdict_json["ram"]["needed"] <= verdict_json["ram"]["available"] == needed - 1
    assert verdict_json["slow_ram"]["region"] == "PSRAM" and verdict_json["slow_ram"]["needed"] > 32
    # In a slower mode the arena still fits into the first RAM. If no mode is requested, this mode is preferred.
    assert choose(small, with_ram(needed - 1)).second is None


def test_without_a_second_memory_the_model_does_not_fit(small: Prepared) -> None:
    alone = replace(BOARD, ram=BOARD.ram[:1])
    limit = arena_of(small) - 1
    (verdict,) = verdicts(small, [alone], BuildOptions("speed", fast_ram=limit))
    assert not verdict.fits and verdict.reasons == (
        f"the arena takes 1 B more of SRAM than the limit of {limit:,} B",
    )
    tiny = replace(BOARD, ram=(BOARD.ram[0], replace(BOARD.ram[1], size=64)))
    (verdict,) = verdicts(small, [tiny], BuildOptions("speed", fast_ram=limit))
    assert not verdict.fits and verdict.reasons[-1] == "there is no plan with the rest of the arena in PSRAM"


def test_scratch_that_does_not_fit_the_first_memory_is_an_error(small: Prepared, tmp_path: Path) -> None:
    with pytest.raises(
        DoesNotFitError, match=r"scratch alone takes [\d,]+ B of SRAM, and scratch cannot be split"
    ):
        generate_project(small, BOARD, tmp_path / "p", BuildOptions("speed", fast_ram=0))
    assert not (tmp_path / "p").exists()


@pytest.mark.slow
def test_plain_c_computes_the_same_over_two_memories(small: Prepared, tmp_path: Path) -> None:
    """A build for this computer is bit-exact, independently of the previous contents of the arenas."""
    split = split_over(small, BOARD, BOARD.ram[1], small.plan.arena_bytes // 2)
    assert split is not None and split.prepared.plan.slow_bytes and small.target == PORTABLE
    (native,) = build_native([split.prepared.generated], tmp_path)
    native.fill_arena(0xA5)
    for x in samples_of(small, 2).inputs:
        expected = Reference(small.reference).run(x, reset=True)
        assert all(np.array_equal(a, b) for a, b in zip(native.run(x), expected, strict=True))


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("name", "share"), [("qemu_mps2_an386", 75), ("qemu_mps2_an386", 40), ("qemu_mps3_an547", 80)]
)
def test_the_device_is_exact_and_the_bytes_are_as_predicted(
    small: Prepared, name: str, share: int, tmp_path: Path
) -> None:
    board = load_board(name)
    first, second = (region.name for region in board.ram)
    limit = arena_of(small, board) * share // 100
    options = BenchConfig(BuildOptions("speed", fast_ram=limit), keep=tmp_path / "p", cycles=False)
    result = bench(small, board, samples_of(small, 3), options, lambda *_: None).to_json()
    assert result["samples"]["bit_exact"] == 3
    memory = result["memory"]
    regions = {r["region"]: r["bytes"] for r in memory["arena_regions"]}
    assert memory["arena_regions"] == memory["predicted_arena_regions"]
    assert (
        0 < regions[first] <= limit and sum(regions.values()) == memory["arena"] == memory["predicted_arena"]
    )
    assert memory["static"] == memory["predicted_static"] and memory["stack"] <= memory["predicted_stack"]
    assert any(f"of the arena in {second}" in text for text in result["notes"])
    figures = {f.name: f for f in check_sizes(tmp_path / "p").figures}
    assert figures["arena_slow"].built == figures["arena_slow"].predicted == regions[second]


@pytest.mark.qemu
def test_state_is_kept_in_the_second_memory(stateful: Prepared, tmp_path: Path) -> None:
    """Only scratch remains in the first memory, so the state of the model is in the second memory."""
    needed = choose(stateful, BOARD, BuildOptions("speed")).verdict.needs
    project = generate_project(
        stateful, with_ram(needed.ram - needed.arena + 16), tmp_path / "p", BuildOptions("speed")
    )
    offsets = [v.offset for v in project.generated.variables]
    assert offsets and all(o >= project.generated.plan.fast_bytes for o in offsets)
    samples = samples_of(stateful, 4)
    with start(BOARD, direct_build(tmp_path / "p")) as machine:
        measured = measure(machine.transport, project.generated, samples, True, lambda *_: None)
    reference = Reference(stateful.reference)
    for k, (x, actual) in enumerate(zip(samples.inputs, measured.outputs, strict=True)):
        assert all(
            a.tobytes() == b.tobytes() for a, b in zip(reference.run(x, reset=k == 0), actual, strict=True)
        )


@pytest.mark.slow
@pytest.mark.qemu
def test_the_guards_of_both_parts_are_checked(small: Prepared, tmp_path: Path) -> None:
    """The board reports a layer that writes after the second part of the arena, and a layer that writes before it."""
    project = generate_project(
        small, BOARD, tmp_path / "p", BuildOptions("speed", fast_ram=arena_of(small) // 2)
    )
    model = tmp_path / "p/src/model.c"
    text = model.read_text()
    call = "static void layer_0(void) { "
    assert call in text
    for word in ("tail[3]", "head[0]"):
        model.write_text(text.replace(call, f"{call}model_slow_memory.{word} = 0; "))
        with (
            start(BOARD, direct_build(tmp_path / "p")) as machine,
            pytest.raises(DeviceError, match="1 guard word"),
        ):
            measure(machine.transport, project.generated, samples_of(small, 1), False, lambda *_: None)


@pytest.mark.slow
@pytest.mark.qemu
def test_a_real_model_is_exact_with_a_third_of_its_arena_in_fast_ram() -> None:
    prepared = prepare(shared_model("vww01_int8"))
    limit = arena_of(prepared) // 3
    options = BenchConfig(BuildOptions("speed", fast_ram=limit), cycles=False)
    result = bench(prepared, BOARD, samples_of(prepared, 1), options, lambda *_: None).to_json()
    assert result["samples"]["bit_exact"] == 1
    assert result["memory"]["arena_regions"] == result["memory"]["predicted_arena_regions"]
    assert result["memory"]["arena_regions"][0]["bytes"] <= limit


#: A linker script like those of frameworks, which do not contain the second memory.
_SCRIPT = """
MEMORY { FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 1024K  RAM (xrw) : ORIGIN = 0x20000000, LENGTH = 128K }
ENTRY(model_invoke)
SECTIONS
{
    .text : { KEEP(*(.text*)) *(.rodata*) } > FLASH
    .data : { *(.data*) } > RAM AT > FLASH
    .bss : { *(.bss*) *(COMMON) } > RAM
}
"""


@pytest.mark.slow
def test_an_stm32_project_places_the_second_part_in_the_memory_of_the_profile(
    small: Prepared, tmp_path: Path
) -> None:
    """Build with the flags of platformio.ini and a linker script that does not contain the CCM memory."""
    board = load_board("disco_f407vg")
    core = cores.core_named(board.core)
    if shutil.which(f"{core.prefix}gcc") is None:
        pytest.skip("needs the Arm compiler")
    project = generate_project(
        small, board, tmp_path / "p", BuildOptions("speed", fast_ram=arena_of(small) // 2)
    )
    assert project.second is not None and project.second.name == "CCM" and "as fast as" in project.notes[0]
    ini = (tmp_path / "p/platformio.ini").read_text().split(f"[env:{board.name}]")[1].split("[env:")[0]
    flags = next(line.split() for line in ini.splitlines() if "AR_SLOW_SECTION" in line)
    (tmp_path / "board.ld").write_text(_SCRIPT)
    elf = tmp_path / "model.elf"
    sources = [str(p) for folder in ("src", "lib/arenite") for p in (tmp_path / "p" / folder).glob("*.c")]
    sources.append(str(BOARDS.path("memory.c")))  # memcpy, which a framework provides
    model_sources = [s for s in sources if Path(s).name not in ("main.c", "port_espidf.c")]
    subprocess.run(
        [
            *(
                f"{core.prefix}gcc",
                *core.architecture,
                *cores.COMMON_FLAGS,
                "-O2",
                "-nostdlib",
                "-u",
                "model",
            ),
            *(f"-I{tmp_path / 'p' / folder}" for folder in ("src", "lib/arenite", "lib/agent")),
            *(*flags, f"-T{tmp_path / 'board.ld'}", *model_sources, "-lgcc", "-o", str(elf)),
        ],
        check=True,
        cwd=tmp_path,
    )
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with elf.open("rb") as stream:
        elf_file = ELFFile(stream)
        table = elf_file.get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbols = {s.name: s for s in table.iter_symbols()}
        assert symbols["model_slow_memory"]["st_value"] == project.second.origin
        assert 0x20000000 <= symbols["model_memory"]["st_value"] < 0x20020000
        section = elf_file.get_section(symbols["model_slow_memory"]["st_shndx"])
        assert section["sh_type"] == "SHT_NOBITS"  # the flashed image does not contain it
    sizes = read_elf(elf)
    assert (sizes.arena, sizes.arena_slow) == (project.prediction.arena, project.prediction.arena_slow)


@pytest.mark.slow
def test_an_esp32_uses_psram_if_its_ram_is_too_small(tmp_path: Path) -> None:
    large = prepare(save(classifier(400, 8), tmp_path / "large.tflite"))
    with_psram, without = load_board("esp32-s3-devkitc-1-n8r8"), load_board("esp32-s3-devkitc-1")
    verdict, refused = verdicts(large, [with_psram, without], BuildOptions("speed"))
    assert verdict.fits and not refused.fits
    verdict_json = verdict.to_json()
    assert (
        verdict_json["ram"]["needed"]
        <= verdict_json["ram"]["available"]
        < verdict_json["ram"]["needed"] + verdict_json["slow_ram"]["needed"]
    )
    project = generate_project(large, with_psram, tmp_path / "p", BuildOptions("speed"))
    compiler = cores.core_named("xtensa-lx106").prefix + "gcc"
    if shutil.which(compiler) is None:
        pytest.skip("needs the Xtensa compiler")
    # The parts of two ESP-IDF headers that the model uses.
    (tmp_path / "esp_attr.h").write_text(
        '#define EXT_RAM_BSS_ATTR __attribute__((section(".ext_ram.bss")))\n'
    )
    (tmp_path / "sdkconfig.h").write_text("#define CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY 1\n")
    command = [
        compiler,
        *cores.COMMON_FLAGS,
        "-DESP_PLATFORM",
        f"-I{tmp_path}",
        "-Isrc",
        "-Ilib/arenite",
        "-c",
    ]
    compiled = [*command, "src/model.c", "-o", str(tmp_path / "model.o")]
    subprocess.run(compiled, check=True, cwd=tmp_path / "p")
    from elftools.elf.elffile import ELFFile

    with (tmp_path / "model.o").open("rb") as stream:
        section = ELFFile(stream).get_section_by_name(".ext_ram.bss")
        assert section is not None and section["sh_size"] == project.prediction.slow_ram
    # Without the setting, ESP-IDF's attribute has no effect: the compiler's message names the setting.
    (tmp_path / "sdkconfig.h").write_text("")
    process = subprocess.run(compiled, cwd=tmp_path / "p", capture_output=True, text=True)
    assert process.returncode and "CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY" in process.stderr


def test_firmware_and_fit_have_the_option_fast_ram(small: Prepared, tmp_path: Path) -> None:
    limit = str(arena_of(small) // 2)
    firmware = CliRunner().invoke(
        cli,
        [
            *("firmware", str(small.path), "--board", BOARD.name, "-o", str(tmp_path / "p")),
            *("--optimise", "speed", "--fast-ram", limit, "--json"),
        ],
    )
    assert firmware.exit_code == 0, firmware.output
    regions = json.loads(firmware.stdout)["predicted"]["arena_regions"]
    assert [r["region"] for r in regions] == ["SRAM", "PSRAM"] and 0 < regions[0]["bytes"] <= int(limit)
    fit = CliRunner().invoke(
        cli,
        ["fit", str(small.path), "--board", BOARD.name, "--optimise", "speed", "--fast-ram", limit, "--json"],
    )
    assert fit.exit_code == 0, fit.output
    (board,) = json.loads(fit.stdout)["boards"]
    assert board["slow_ram"]["arena"] == regions[1]["bytes"] and board["notes"]
