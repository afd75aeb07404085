"""The latency and the uptime that an agent computes from the cycle counter of an ESP32, which wraps after seconds."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.generator.features import NO_FEATURES
from arenite.firmware.sources import AGENT, BOARDS, ENGINE, UPDATE
from arenite.firmware.update.program import PROTOCOL
from arenite.profiles.boards import load_board

#: Two layers that take LAYER_MS each, on a core with the clock MHZ. `start` is the counter before the first inference.
_MAIN = """
#include "agent_glue.c"
#include <stdio.h>

uint32_t port_tick_hz = MHZ * 1000000u, port_reason;
static uint32_t now;
uint32_t port_ticks(void) { return now; }
uint32_t agent_hardware_cause(void) { return AR_CAUSE_POWER_ON; }
void health_alive(void) { agent_glue_tick(); }

static uint8_t values[4];
static void layer(void) { now += LAYER_MS * (MHZ * 1000u); }
static const ar_io io = {values, sizeof values, AR_INT8};
static const ar_layer_fn layers[] = {layer, layer};
static const ar_golden_sample sample;
static const ar_golden golden = {&sample, 1};

int main(void)
{
    const ar_model model = {
        .inputs = &io, .outputs = &io, .layers = layers, .layer_count = 2, .input_count = 1, .output_count = 1};
    now = 0xFFFFFF00u;
    agent_glue_start();
    for (uint32_t i = 1; i <= 3; i++) {
        printf("%u ", agent_glue_infer(&model, &golden, i));
        agent_glue_tick();
    }
    printf("%u %u", agent.uptime_s, agent.observations.inferences);
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.parametrize("mhz", [160, 240, 400])
@pytest.mark.parametrize("layer_ms", [0, 1, 27, 5200])
def test_the_latency_and_the_uptime_are_exact(tmp_path: Path, mhz: int, layer_ms: int) -> None:
    source, program = tmp_path / "main.c", tmp_path / "program"
    source.write_text(_MAIN)
    (tmp_path / "firmware_features.h").write_text(
        NO_FEATURES.header(PROTOCOL, load_board("esp32-c3-devkitm-1"))
    )
    flags = [
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-DESP_PLATFORM",
        "-DAR_HEALTH",
        "-DAR_UPDATE_PARTITIONS",
    ]
    flags += [f"-DMHZ={mhz}u", f"-DLAYER_MS={layer_ms}u", "-DAR_NOINIT=", f"-I{tmp_path}"]
    flags += ["-ffunction-sections", "-Wl,--gc-sections", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    trees = (BOARDS, UPDATE, AGENT, ENGINE)
    sources = [AGENT.path("observations.c"), UPDATE.path("self_test.c"), AGENT.path("device_agent.c")]
    command = ["gcc", *flags, *(flag for tree in trees for flag in tree.include_flags), str(source)]
    subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
    output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    latency_us = 2 * layer_ms * 1000
    assert [int(number) for number in output.split()] == [latency_us] * 3 + [6 * layer_ms // 1000, 3]
