/* Port for QEMU's Xtensa machine "sim". It uses the console through the SIMCALL instruction, and the counter CCOUNT. */
#include "health.h"
#include "port.h"

enum { SIM_READ = 3, SIM_WRITE = 4 };

/* Transfers up to `bytes` bytes: SIM_READ from the console (`file` 0), SIM_WRITE to the console (`file` 1).
 * Returns the number of bytes transferred, or -1. */
static int32_t simcall(int32_t function, int32_t file, void *data, uint32_t bytes)
{
    register int32_t a2 __asm__("a2") = function;
    register int32_t a3 __asm__("a3") = file;
    register void *a4 __asm__("a4") = data;
    register uint32_t a5 __asm__("a5") = bytes;
    __asm__ volatile("simcall" : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
    return a2;
}

void port_init(void) {}

uint8_t port_getc(void)
{
    uint8_t byte;
    while (simcall(SIM_READ, 0, &byte, 1) != 1) {
        health_alive();
    }
    return byte;
}

void port_putc(uint8_t byte)
{
    while (simcall(SIM_WRITE, 1, &byte, 1) != 1) {
    }
}

uint32_t port_ticks(void)
{
    uint32_t count;
    __asm__ volatile("rsr %0, ccount" : "=r"(count));
    return count;
}
