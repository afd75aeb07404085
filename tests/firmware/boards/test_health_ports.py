"""The health report works in ports to boards that have no emulator. The Arduino port runs on a stand-in for the Arduino
core, and the code that reads reset registers on stand-ins for chips."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
import tty
from pathlib import Path

import pytest

from arenite.firmware.generator.features import Features
from arenite.firmware.generator.project import write_project
from arenite.firmware.sources import BOARDS, ENGINE
from arenite.host.link import health
from arenite.host.link.client import DeviceClient
from arenite.host.link.transport import SerialTransport
from arenite.profiles.boards import load_board
from tests import toy_model
from tests.firmware.boards.arduino_compiler import compile_like_an_arduino_core
from tests.firmware.cross_compiler import cmake, compile_project, have_compilers

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
POWER_ON, REQUESTED, FAULT, WATCHDOG, BROWN_OUT, PIN, SOFTWARE, OTHER, UNKNOWN = range(9)

#: Maps a chip to C code of stand-ins for its registers. ``set`` writes the reset register, and ``used`` returns the
#: number of cycles to which the watchdog is set.
CHIPS = {
    "stm32f4": """
#define ARDUINO_ARCH_STM32
static struct { uint32_t KR, PR, RLR; } iwdg;
#define IWDG (&iwdg)
static struct { uint32_t CSR; } rcc;
#define RCC (&rcc)
#define RCC_FLAG_BORRST 25
#define RCC_FLAG_PINRST 26
#define RCC_FLAG_PORRST 27
#define RCC_FLAG_SFTRST 28
#define RCC_FLAG_IWDGRST 29
#define RCC_FLAG_WWDGRST 30
#define __HAL_RCC_GET_FLAG(bit) (rcc.CSR >> (bit) & 1u)
#define RCC_CSR_RMVF (1u << 23)
#define __HAL_RCC_CLEAR_RESET_FLAGS() (rcc.CSR = RCC_CSR_RMVF)
/* While RMVF is 1, a reset sets no flag. */
static void set(uint32_t value) { rcc.CSR = rcc.CSR & RCC_CSR_RMVF ? rcc.CSR : value; }
static uint32_t used() { return iwdg.RLR << iwdg.PR << 2; } /* cycles of 32 kHz */
""",
    "nrf52": """
static struct { volatile uint32_t RESETREAS; } power;
static struct { volatile uint32_t CRV, RREN, CONFIG, TASKS_START, RR[8]; } wdt;
#define NRF_POWER (&power)
#define NRF_WDT (&wdt)
static void set(uint32_t value) { power.RESETREAS = value; }
static uint32_t used() { return wdt.TASKS_START ? wdt.CRV + 1 : 0; }
""",
    "samd21": """
#define ARDUINO_ARCH_SAMD
static struct { struct { uint32_t reg; } RCAUSE; } pm;
#define PM (&pm)
static void set(uint32_t value) { pm.RCAUSE.reg = value; }
static uint32_t used() { return 0; }
""",
    "teensy4": """
#define __IMXRT1062__
static struct Srsr {
    uint32_t value;
    operator uint32_t() const { return value; }
    void operator=(uint32_t ones) { value &= ~ones; }
} srsr;
#define SRC_SRSR srsr
static void set(uint32_t value) { srsr.value |= value; }
static uint32_t used() { return 0; }
""",
    "rp2040": """
#define ARDUINO_ARCH_RP2040
#define PICO_RP2040 1
static void set(uint32_t value); /* CHIP_RESET, with REASON in bits 0 and 1 */
static uint32_t used() { return 0; }
""",
}
#: Stand-ins for the Pico SDK's headers. In the ``value`` of ``set``, bits 0 and 1 are the watchdog's reason, bit 2 says
#: that the port's watchdog ran before the reset, bit 3 that a restart was requested, and higher bits are CHIP_RESET.
SDK = {
    "hardware/watchdog.h": """
#include "port.h"
static struct { volatile uint32_t reason, scratch[8]; } watchdog;
#define watchdog_hw (&watchdog)
static inline void watchdog_enable(uint32_t, bool) { watchdog.scratch[4] = 0x6ab73121; }
static inline void watchdog_update() {}
uint32_t port_reason;
""",
    "hardware/structs/vreg_and_chip_reset.h": """
static struct { uint32_t chip_reset; } chip_resets;
#define vreg_and_chip_reset_hw (&chip_resets)
static void set(uint32_t value)
{
    if (value & 4u) {
        port_watchdog_start();
    }
    port_reason = value & 8u ? PORT_REASON_MAGIC | PORT_REQUESTED : 0;
    watchdog.reason = value & 3u;
    chip_resets.chip_reset = value & ~15u;
}
""",
}
_MAIN = """
#include "port_arduino_health.h"
#include <stdio.h>
#include <stdlib.h>
int main(int, char **arguments)
{
    uint32_t word = 0;
    set((uint32_t)strtoul(arguments[1], 0, 0));
    uint32_t cause = port_reset_cause(&word);
    if (arguments[2]) { /* and a second reset */
        set((uint32_t)strtoul(arguments[2], 0, 0));
        cause = port_reset_cause(&word);
    }
    port_watchdog_start();
    port_watchdog_feed();
    printf("%u %u %u %u", cause, word, port_watchdog_ms, used());
}
"""
#: (chip, value of the reset register, cause that the port must report), from the chips' reference manuals.
REGISTERS = [
    ("stm32f4", 0x0E000003, POWER_ON),  # the reset value: power-on, pin and brown-out together
    ("stm32f4", 0x06000003, BROWN_OUT),
    ("stm32f4", 0x04000003, PIN),
    ("stm32f4", 0x14000000, SOFTWARE),
    ("stm32f4", 0x24000000, WATCHDOG),
    ("stm32f4", 0x44000000, WATCHDOG),
    ("stm32f4", 0, UNKNOWN),
    ("nrf52", 0, POWER_ON),
    ("nrf52", 1, PIN),
    ("nrf52", 2, WATCHDOG),
    ("nrf52", 4, SOFTWARE),
    ("nrf52", 8, FAULT),
    ("samd21", 0x01, POWER_ON),
    ("samd21", 0x04, BROWN_OUT),
    ("samd21", 0x10, PIN),
    ("samd21", 0x20, WATCHDOG),
    ("samd21", 0x40, SOFTWARE),
    ("teensy4", 0x01, POWER_ON),
    ("teensy4", 0x10, WATCHDOG),
    ("teensy4", 0x02, SOFTWARE),
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Compile one program per chip, and map the chip to its program."""
    folder = tmp_path_factory.mktemp("chips")
    paths = {}
    for name, registers in CHIPS.items():
        source = folder / f"{name}.cpp"
        for header, text in SDK.items():
            (folder / header).parent.mkdir(parents=True, exist_ok=True)
            (folder / header).write_text(f"#pragma once\n{text}")
        source.write_text(f"#define ARDUINO 1\n#define AR_HEALTH 1\n#include <stdint.h>\n{registers}{_MAIN}")
        paths[name] = folder / name
        flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", *BOARDS.include_flags, f"-I{folder}"]
        subprocess.run(["g++", *flags, "-o", paths[name], source], check=True)
    return paths


@pytest.mark.parametrize(("chip", "register", "cause"), REGISTERS)
def test_a_reset_register_gives_its_cause(
    programs: dict[str, Path], chip: str, register: int, cause: int
) -> None:
    output = subprocess.run(
        [programs[chip], str(register)], capture_output=True, text=True, check=True
    ).stdout
    actual, word, ms, used = map(int, output.split())
    assert (actual, word) == (cause, register)
    watchdog_hz = {"stm32f4": 32000, "nrf52": 32768}.get(chip, 0)
    assert used == watchdog_hz * ms // 1000  # the time to which the watchdog is set is the reported time


#: Bits of the RP2040's register CHIP_RESET: the last reset was at power-on (POR) or by the pin RUN. A reset by software
#: or the watchdog does not change them.
POR, RUN = 1 << 8, 1 << 16
#: The lower bits of the ``value`` of ``set``, see ``SDK``: the watchdog caused the reset because of its timer or
#: because a program forced it; the port's watchdog ran before the reset; a restart was requested.
TIMER, FORCED, RAN, RESTART = 1, 2, 4, 8


@pytest.mark.parametrize(
    ("resets", "cause"),
    [
        ((POR,), POWER_ON),
        ((RUN,), PIN),
        ((POR | RAN | TIMER,), WATCHDOG),
        ((POR | FORCED,), SOFTWARE),
        ((POR | TIMER,), SOFTWARE),  # the boot ROM started a program that was copied to its drive
        ((POR | RESTART,), SOFTWARE),  # requested by the core
        ((POR | RAN | TIMER, POR | RAN | RESTART | TIMER), SOFTWARE),  # requested after a watchdog reset
        ((POR | RAN | TIMER, RUN | RAN), PIN),
    ],
)
def test_resets_of_an_rp2040_give_their_cause(
    programs: dict[str, Path], resets: tuple[int, ...], cause: int
) -> None:
    program: list[str | Path] = [programs["rp2040"], *map(str, resets)]
    output = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert int(output.split()[0]) == cause


def test_a_second_reset_of_an_stm32_sets_its_own_flags(programs: dict[str, Path]) -> None:
    # The watchdog, then the pin.
    program: list[str | Path] = [
        programs["stm32f4"],
        str(0x24000000),
        str(0x04000000),
    ]
    output = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert int(output.split()[0]) == PIN


def test_flags_of_a_teensy_are_cleared_after_reading(programs: dict[str, Path]) -> None:
    program: list[str | Path] = [programs["teensy4"], "2", "8"]  # a reset by software, then one by the button
    output = subprocess.run(program, capture_output=True, text=True, check=True).stdout
    assert int(output.split()[0]) == PIN


def test_the_arduino_port_reports_its_health(tmp_path: Path) -> None:
    board = load_board("qemu_mps2_an386")
    project = write_project(
        tmp_path / "project", toy_model.sources(), [], board, features=Features(health=True)
    )
    program = compile_like_an_arduino_core(project, tmp_path)
    device_end, host_end = pty.openpty()
    tty.setraw(host_end)
    process = subprocess.Popen([str(program), str(device_end)], pass_fds=[device_end])
    try:
        with SerialTransport(os.ttyname(host_end)) as line:
            device = DeviceClient(line)
            device.connect(toy_model.HASH)
            device.write_input(0, bytes(8))
            device.infer()
            report = device.health()
            assert (report.inferences, report.watchdog_ms, report.guards_damaged) == (1, 0, 0)
            # Functions compiled for this computer use more stack than the core reserves, which the report shows.
            assert report.cause == health.POWER_ON and report.stack_margin == 0
            first, second = device.log()
            assert first.text == "started because of power-on"
            assert second.code == health.STACK and "seen after inference 1" in second.text
    finally:
        process.kill()
        process.wait()
        os.close(device_end)
        os.close(host_end)


@pytest.mark.parametrize("name", ["esp32-c6-devkitc-1", "esp32dev"])
def test_the_port_for_esp_idf_compiles_with_health(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    if not have_compilers(board):
        pytest.skip("no compiler for its core")
    project = write_project(
        tmp_path / "project", toy_model.sources(), [], board, features=Features(health=True)
    )
    (tmp_path / "seen").mkdir()
    recipe = cmake(project, "espidf")
    assert "lib/agent/health.c" in recipe.sources
    compile_project(project, board, recipe, tmp_path / "seen")


#: A C program that tests health.c with a counter that the program advances, as on a framework whose counter is slow.
_COUNTER = """
#include "agent.h"
#include "health.h"
#include "port.h"
#include <stdio.h>
uint32_t port_tick_hz = 32768, port_reason;
static uint32_t ticks;
uint32_t port_ticks(void) { return ticks; }
uint32_t ar_stack_used(void) { return 1; }
uint32_t ar_stack_bytes(void) { return 2; }
uint32_t ar_guards_damaged(void) { return 0; }
int main(void)
{
    uint32_t words[60];
    health_start();
    ticks = 0xFFFFFF00u; /* the counter wraps during the test */
    health_alive();
    health_report(words);
    const uint32_t before = words[0];
    for (int i = 0; i < 1000; i++) {
        ticks += 3277; /* 100 ms */
        health_alive();
    }
    health_report(words);
    printf("%u ", words[0] - before);
    words[0] = 0xFFFFFFFFu; /* clear up to an entry number that does not exist yet */
    words[1] = 12;          /* ignored when the log is cleared */
    printf("%u ", health_log(words, 1));
    health_count(LOG_BAD_FRAME);
    words[0] = 0;
    words[1] = 12;
    printf("%u ", health_log(words, 0) / 20); /* an entry has 20 bytes */
    health_report(words);
    /* words[0] of a report is the uptime in milliseconds, words[13] the number of entries in the log. */
    printf("%u %llu ", words[13], (unsigned long long)PORT_MICROSECONDS(((uint64_t)1 << 40) + 1));
    for (int i = 0; i < 20; i++) { /* more entries than the log can hold */
        health_count(LOG_BAD_REQUEST);
        health_count(LOG_BAD_FRAME);
    }
    health_report(words);
    printf("%u", words[13]);
}
"""


def test_uptime_with_a_slow_counter_and_a_log_cleared_beyond_its_end(tmp_path: Path) -> None:
    source, program = tmp_path / "main.c", tmp_path / "program"
    source.write_text(_COUNTER)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-D__ZEPHYR__", "-DAR_HEALTH"]
    include = [*BOARDS.include_flags, *ENGINE.include_flags]
    health_c = BOARDS.path("health.c")
    subprocess.run(["gcc", *flags, *include, "-o", program, source, health_c], check=True)
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    uptime, cleared, entries, counted, microseconds, full = map(int, output.split())
    assert uptime == pytest.approx(100_000, rel=0.01)
    # The log contains the entries that were added after it was cleared.
    assert (cleared, entries, counted, full) == (0, 1, 1, 16)
    assert microseconds == ((1 << 40) + 1) * 1_000_000 // 32768


#: Maps ESP-IDF's reset reasons, numbered as in esp_system.h, to the cause that the port reports.
ESP_REASONS = {0: OTHER, 1: POWER_ON, 2: PIN, 3: SOFTWARE, 4: FAULT, 5: WATCHDOG, 6: WATCHDOG, 7: WATCHDOG}
ESP_REASONS |= {8: OTHER, 9: BROWN_OUT, 10: OTHER, 11: PIN, 12: PIN, 13: OTHER, 14: BROWN_OUT, 15: FAULT}
_ESP = """
#include "port_espidf.c"
#include <stdio.h>
#include <stdlib.h>
static int reason;
esp_reset_reason_t esp_reset_reason(void) { return (esp_reset_reason_t)reason; }
int main(void)
{
    for (reason = 0; reason < 16; reason++) {
        uint32_t word = 99;
        const uint32_t cause = port_reset_cause(&word);
        printf("%u %u ", cause, word);
    }
    return 0;
}
"""


def test_resets_of_an_esp32_with_esp_idf_give_their_cause(tmp_path: Path) -> None:
    source, program = tmp_path / "main.c", tmp_path / "program"
    source.write_text(_ESP)
    declared = Path(__file__).parents[1] / "framework_headers" / "espidf"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-DESP_PLATFORM", "-DAR_HEALTH"]
    flags += ["-DCONFIG_ESP_MAIN_TASK_STACK_SIZE=4096", "-ffunction-sections", "-Wl,--gc-sections"]
    subprocess.run(
        ["gcc", *flags, *BOARDS.include_flags, *ENGINE.include_flags, f"-I{declared}", "-o", program, source],
        check=True,
    )
    output = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    causes = dict(zip(map(int, output[1::2]), map(int, output[0::2]), strict=True))
    assert causes == ESP_REASONS
