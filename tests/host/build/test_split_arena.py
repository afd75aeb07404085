"""An arena over two memories: chosen when it must be, and right where it runs."""

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
    return random_samples([prepared.model.main.tensors[i] for i in prepared.model.main.inputs], count)


def with_ram(size: int) -> Board:
    """The emulated board with so many bytes in its first RAM, to the linker too."""
    return replace(BOARD, ram=(replace(BOARD.ram[0], size=size), *BOARD.ram[1:]))


def arena_of(prepared: Prepared, board: Board = BOARD) -> int:
    return prepared.retarget(Target.of(board.core, "speed", False)).plan.arena_bytes


def test_a_second_memory_is_used_when_the_first_is_too_small_and_not_before(small: Prepared) -> None:
    whole = choose(small, BOARD, BuildOptions("speed"))
    needed = whole.verdict.needs.ram
    assert choose(small, with_ram(needed), BuildOptions("speed")).second is None
    choice = choose(small, with_ram(needed - 1), BuildOptions("speed"))
    assert choice.second == BOARD.ram[1] and choice.verdict.fits and choice.verdict.reasons == ()
    assert "of the arena in PSRAM, slower" in choice.verdict.notes[0]
    assert choice.verdict.latency_ms > whole.verdict.latency_ms
    found = choice.verdict.to_json()
    assert found["ram"]["needed"] <= found["ram"]["available"] == needed - 1
    assert found["slow_ram"]["region"] == "PSRAM" and found["slow_ram"]["needed"] > 32
    # With less speed the whole arena still fits: that comes first when nobody asks for a way to build.
    assert choose(small, with_ram(needed - 1)).second is None


def test_without_a_second_memory_the_limit_is_a_refusal(small: Prepared) -> None:
    alone = replace(BOARD, ram=BOARD.ram[:1])
    limit = arena_of(small) - 1
    (verdict,) = verdicts(small, [alone], BuildOptions("speed", fast_ram=limit))
    assert not verdict.fits and verdict.reasons == (
        f"the arena takes 1 B more of SRAM than the limit of {limit:,} B",
    )
    tiny = replace(BOARD, ram=(BOARD.ram[0], replace(BOARD.ram[1], size=64)))
    (verdict,) = verdicts(small, [tiny], BuildOptions("speed", fast_ram=limit))
    assert not verdict.fits and verdict.reasons[-1] == "there is no plan with the rest of the arena in PSRAM"


def test_scratch_must_fit_the_first_memory(small: Prepared, tmp_path: Path) -> None:
    with pytest.raises(
        DoesNotFitError, match=r"scratch alone takes [\d,]+ B of SRAM, and scratch cannot be split"
    ):
        generate_project(small, BOARD, tmp_path / "p", BuildOptions("speed", fast_ram=0))
    assert not (tmp_path / "p").exists()


@pytest.mark.slow
def test_plain_c_computes_the_same_over_two_memories(small: Prepared, tmp_path: Path) -> None:
    """Natively, with what lies in the arenas before of no matter."""
    split = split_over(small, BOARD, BOARD.ram[1], small.plan.arena_bytes // 2)
    assert split is not None and split.prepared.plan.slow_bytes and small.target == PORTABLE
    (native,) = build_native([split.prepared.generated], tmp_path)
    native.fill_arena(0xA5)
    for x in samples_of(small, 2).inputs:
        want = Reference(small.reference).run(x, reset=True)
        assert all(np.array_equal(a, b) for a, b in zip(native.run(x), want, strict=True))


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
def test_state_lives_on_in_the_second_memory(stateful: Prepared, tmp_path: Path) -> None:
    """With everything out but scratch: the value that inferences carry lies there too."""
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
    for k, (x, got) in enumerate(zip(samples.inputs, measured.outputs, strict=True)):
        assert all(
            a.tobytes() == b.tobytes() for a, b in zip(reference.run(x, reset=k == 0), got, strict=True)
        )


@pytest.mark.slow
@pytest.mark.qemu
def test_the_guards_of_both_parts_are_watched(small: Prepared, tmp_path: Path) -> None:
    """A layer that writes behind the second part, and one that writes before it."""
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
def test_a_real_model_in_a_third_of_its_arena() -> None:
    prepared = prepare(shared_model("vww01_int8"))
    limit = arena_of(prepared) // 3
    options = BenchConfig(BuildOptions("speed", fast_ram=limit), cycles=False)
    result = bench(prepared, BOARD, samples_of(prepared, 1), options, lambda *_: None).to_json()
    assert result["samples"]["bit_exact"] == 1
    assert result["memory"]["arena_regions"] == result["memory"]["predicted_arena_regions"]
    assert result["memory"]["arena_regions"][0]["bytes"] <= limit


#: What a framework's linker script has: no word of the second memory.
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
def test_an_stm32_project_puts_the_second_part_where_the_profile_says(
    small: Prepared, tmp_path: Path
) -> None:
    """With the flags of platformio.ini, and a linker script that knows nothing of the CCM."""
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
    sources.append(str(BOARDS.path("memory.c")))  # memcpy, which a framework has
    kept = [s for s in sources if Path(s).name not in ("main.c", "port_espidf.c")]
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
            *(*flags, f"-T{tmp_path / 'board.ld'}", *kept, "-lgcc", "-o", str(elf)),
        ],
        check=True,
        cwd=tmp_path,
    )
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with elf.open("rb") as stream:
        read = ELFFile(stream)
        table = read.get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbols = {s.name: s for s in table.iter_symbols()}
        assert symbols["model_slow_memory"]["st_value"] == project.second.origin
        assert 0x20000000 <= symbols["model_memory"]["st_value"] < 0x20020000
        section = read.get_section(symbols["model_slow_memory"]["st_shndx"])
        assert section["sh_type"] == "SHT_NOBITS"  # nothing of it in the image that is flashed
    sizes = read_elf(elf)
    assert (sizes.arena, sizes.arena_slow) == (project.prediction.arena, project.prediction.arena_slow)


@pytest.mark.slow
def test_an_esp32_with_psram_takes_what_its_own_ram_cannot(tmp_path: Path) -> None:
    large = prepare(save(classifier(400, 8), tmp_path / "large.tflite"))
    with_psram, without = load_board("esp32-s3-devkitc-1-n8r8"), load_board("esp32-s3-devkitc-1")
    verdict, refused = verdicts(large, [with_psram, without], BuildOptions("speed"))
    assert verdict.fits and not refused.fits
    found = verdict.to_json()
    assert (
        found["ram"]["needed"]
        <= found["ram"]["available"]
        < found["ram"]["needed"] + found["slow_ram"]["needed"]
    )
    project = generate_project(large, with_psram, tmp_path / "p", BuildOptions("speed"))
    compiler = cores.core_named("xtensa-lx106").prefix + "gcc"
    if shutil.which(compiler) is None:
        pytest.skip("needs the Xtensa compiler")
    # ESP-IDF's two headers, as far as the model wants them.
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
    # Without the setting ESP-IDF's attribute means nothing: the compiler says what to set.
    (tmp_path / "sdkconfig.h").write_text("")
    done = subprocess.run(compiled, cwd=tmp_path / "p", capture_output=True, text=True)
    assert done.returncode and "CONFIG_SPIRAM_ALLOW_BSS_SEG_EXTERNAL_MEMORY" in done.stderr


def test_the_commands_take_the_limit(small: Prepared, tmp_path: Path) -> None:
    limit = str(arena_of(small) // 2)
    made = CliRunner().invoke(
        cli,
        [
            *("firmware", str(small.path), "--board", BOARD.name, "-o", str(tmp_path / "p")),
            *("--optimise", "speed", "--fast-ram", limit, "--json"),
        ],
    )
    assert made.exit_code == 0, made.output
    regions = json.loads(made.stdout)["predicted"]["arena_regions"]
    assert [r["region"] for r in regions] == ["SRAM", "PSRAM"] and 0 < regions[0]["bytes"] <= int(limit)
    fits = CliRunner().invoke(
        cli,
        ["fit", str(small.path), "--board", BOARD.name, "--optimise", "speed", "--fast-ram", limit, "--json"],
    )
    assert fits.exit_code == 0, fits.output
    (board,) = json.loads(fits.stdout)["boards"]
    assert board["slow_ram"]["arena"] == regions[1]["bytes"] and board["notes"]
