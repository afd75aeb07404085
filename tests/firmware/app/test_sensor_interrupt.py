"""The ring of samples works when its writer interrupts its reader: a thread, a signal handler, and the interrupt of a
timer on an emulated board."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from arenite.firmware.sources import APP
from tests.firmware.app.compiled_app import compiled

HEADERS = {"app_settings.h": "#define SENSOR_ROOM 8u\n#define SENSOR_CHANNELS 3u\n"}

#: The value of a sample is its index, and the reader knows which one comes next. The writer loses samples on purpose.
CHECK = """
#include <stdint.h>
#include "sensor.h"
static volatile uint32_t next_index; /* of the next sample to be written */
static uint32_t random_state = 1;

/* Writes some samples, after some that are missing. */
static void write_some(void)
{
    int16_t samples[4][3];
    random_state = random_state * 1664525u + 1013904223u;
    const uint32_t count = 1u + (random_state >> 16 & 3u), lost = (random_state >> 28) == 0 ? 2u : 0u;
    uint32_t index = next_index + lost;
    for (uint32_t k = 0; k < count; k++, index++) {
        samples[k][0] = (int16_t)(uint16_t)index;
        samples[k][1] = (int16_t)(uint16_t)(index >> 3);
        samples[k][2] = (int16_t)(uint16_t)~index;
    }
    next_index = index;
    sensor_write(samples[0], count, lost);
}

static volatile uint32_t read_index; /* of the next sample to be read */
static volatile uint32_t wrong;      /* the index of a wrong sample plus 1 */

/* Reads some samples, and compares them with their indices. */
static void read_some(void)
{
    int16_t to[3][3];
    uint32_t lost;
    const uint32_t count = sensor_read(to[0], 3, &lost);
    uint32_t index = read_index + lost;
    for (uint32_t k = 0; k < count; k++, index++) {
        if ((uint16_t)to[k][0] != (uint16_t)index || (uint16_t)to[k][1] != (uint16_t)(index >> 3) ||
            (uint16_t)to[k][2] != (uint16_t)~index) {
            wrong = index + 1;
        }
    }
    read_index = index;
}

/* Reads until the index `total`. Returns 0, or the index of a wrong sample plus 1. */
uint32_t read_all(uint32_t total)
{
    while (read_index < total && !wrong) {
        read_some();
    }
    return wrong;
}
"""

_THREAD = """
#include <pthread.h>
static volatile int stop;
static void *writer(void *unused)
{
    while (!stop) {
        write_some();
    }
    return unused;
}
uint32_t with_thread(uint32_t total)
{
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    read_all(total);
    stop = 1;
    pthread_join(thread, 0);
    return wrong;
}
"""

_SIGNAL = """
#include <signal.h>
#include <sys/time.h>
static void handler(int number)
{
    (void)number;
    write_some();
}
uint32_t with_signal(uint32_t total)
{
    const struct itimerval fast = {{0, 20}, {0, 20}}, off = {{0, 0}, {0, 0}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &fast, 0);
    read_all(total);
    setitimer(ITIMER_REAL, &off, 0);
    signal(SIGALRM, SIG_IGN);
    return wrong;
}
"""

#: A bare program for mps2-an385 with a vector table of its own. It ends through semihosting.
_BARE = """
#define REG(address) (*(volatile uint32_t *)(address))
extern uint32_t stack_top[];
static volatile uint32_t interrupts;
static void timer(void)
{
    IN_INTERRUPT();
    interrupts++;
    REG(0x4000000Cu) = 1; /* clear */
}
static void say(const char *text)
{
    register uint32_t r0 __asm__("r0") = 4;
    register const void *r1 __asm__("r1") = text;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}
static void leave(void)
{
    register uint32_t r0 __asm__("r0") = 0x18;
    register uint32_t r1 __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}
static void reset(void)
{
    REG(0x40000008u) = 140; /* reload of timer 0: a time in which the reader does not finish its loop */
    REG(0x40000000u) = 9;   /* enable, with interrupt */
    REG(0xE000E100u) = 1u << 8;
    while (read_index < 60000 && !wrong) {
        IN_LOOP();
    }
    say(wrong ? "wrong\\n" : interrupts > 5000 ? "right\\n" : "few interrupts\\n");
    leave();
    for (;;) {
    }
}
static void fault(void)
{
    say("fault\\n");
    leave();
}
__attribute__((section(".vectors"), used)) static void (*const vectors[25])(void) = {
    (void (*)(void))stack_top, reset, fault, fault, fault, fault, fault, [24] = timer};
"""

_LINK = """
MEMORY { flash (rx) : ORIGIN = 0, LENGTH = 4M
         ram (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
ENTRY(reset)
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) } > flash
    .data : { *(.data*) } > ram AT> flash
    .bss : { *(.bss*) *(COMMON) } > ram
    stack_top = ORIGIN(ram) + 0x8000;
}
"""


def test_a_thread_that_writes_loses_and_mixes_nothing(tmp_path: Path) -> None:
    library = compiled(tmp_path, ["sensor.c"], CHECK + _THREAD, HEADERS)
    library.with_thread.restype = ctypes.c_uint32
    assert library.with_thread(200_000) == 0


def test_a_signal_handler_that_writes_loses_and_mixes_nothing(tmp_path: Path) -> None:
    """In a process of its own, because Python has handlers of signals too."""
    code = CHECK + _SIGNAL + "int main(void) { return with_signal(3000) != 0; }\n"
    for name, text in (HEADERS | {"code.c": code}).items():
        (tmp_path / name).write_text(text)
    command = ["gcc", "-O2", "-I.", *APP.include_flags, "code.c", str(APP.path("sensor.c")), "-o", "test"]
    subprocess.run(command, check=True, cwd=tmp_path)
    assert subprocess.run(["./test"], cwd=tmp_path, timeout=60).returncode == 0


@pytest.mark.slow
@pytest.mark.qemu
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m3"])
@pytest.mark.parametrize("interrupt", ["write_some", "read_some"])
def test_an_interrupt_of_a_timer_loses_and_mixes_nothing(interrupt: str, cpu: str, tmp_path: Path) -> None:
    """A reader that interrupts sees the writer between any two of its steps, as a second core would. A Cortex-M3 runs
    the code of a Cortex-M0 too."""
    loop = "read_some" if interrupt == "write_some" else "write_some"
    code = CHECK.replace("random_state = 1", "random_state")  # there is no start-up code that copies .data
    for name, text in (HEADERS | {"code.c": code + _BARE, "link.ld": _LINK}).items():
        (tmp_path / name).write_text(text)
    flags = [
        f"-mcpu={cpu}",
        "-mthumb",
        "-O2",
        f"-DIN_INTERRUPT={interrupt}",
        f"-DIN_LOOP={loop}",
        "-std=gnu99",
        "-nostdlib",
        "-T",
        "link.ld",
        "-I.",
    ]
    command = ["arm-none-eabi-gcc", *flags, *APP.include_flags, "code.c", str(APP.path("sensor.c")), "-lgcc"]
    subprocess.run([*command, "-o", "test.elf"], check=True, cwd=tmp_path)
    machine = ["-M", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", "none"]
    semihosting = ["-semihosting-config", "enable=on,target=native", "-icount", "shift=6"]
    run = subprocess.run(
        ["qemu-system-arm", *machine, *semihosting, "-kernel", "test.elf"],
        cwd=tmp_path,
        timeout=120,
        capture_output=True,
    )
    assert (run.stdout + run.stderr).decode() == "right\n"
