"""The reset cause of an ESP32 that its agent tells, for each reason that ESP-IDF knows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.sources import AGENT, BOARDS, UPDATE

UNKNOWN, POWER_ON, PIN, WATCHDOG, SOFTWARE, FAULT = range(6)
#: ESP-IDF's reset reasons, numbered as in its esp_system.h (5.3), and the cause.
REASONS = {
    "unknown": (0, UNKNOWN),
    "power on": (1, POWER_ON),
    "reset pin": (2, PIN),
    "esp_restart": (3, SOFTWARE),
    "panic": (4, FAULT),
    "interrupt watchdog": (5, WATCHDOG),
    "task watchdog": (6, WATCHDOG),
    "other watchdogs": (7, WATCHDOG),
    "end of a deep sleep": (8, UNKNOWN),
    "brown-out": (9, POWER_ON),
    "SDIO": (10, UNKNOWN),
    "USB": (11, PIN),
    "JTAG": (12, PIN),
    "error of the fuses": (13, UNKNOWN),
    "glitch of the supply": (14, POWER_ON),
    "lock-up of the core": (15, FAULT),
    "a reason of a later ESP-IDF": (16, UNKNOWN),
}
_MAIN = """
#include "port_espidf.c"

#include "cause.h"
#include <stdio.h>

static int reason;
esp_reset_reason_t esp_reset_reason(void) { return (esp_reset_reason_t)reason; }

int main(void)
{
    for (; reason <= 16; reason++) {
        printf("%u ", agent_hardware_cause());
    }
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_the_cause_of_an_esp32_is_that_of_esp_reset_reason(tmp_path: Path) -> None:
    source, program = tmp_path / "main.c", tmp_path / "program"
    source.write_text(_MAIN)
    declared = Path(__file__).parents[1] / "framework_headers" / "espidf"
    flags = [
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-DESP_PLATFORM",
        "-DAR_HEALTH",
        "-DAR_UPDATE_PARTITIONS",
    ]
    flags += ["-ffunction-sections", "-Wl,--gc-sections", f"-I{declared}"]
    include = [*BOARDS.include_flags, *UPDATE.include_flags, *AGENT.include_flags]
    sources = [str(source), str(AGENT.path("cause_port.c"))]
    subprocess.run(["gcc", *flags, *include, "-o", str(program), *sources], check=True)
    output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    causes = [int(number) for number in output.split()]
    assert {name: (reason, causes[reason]) for name, (reason, _) in REASONS.items()} == REASONS
