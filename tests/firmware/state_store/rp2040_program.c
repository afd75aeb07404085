/* Erases a sector, programs 32 bytes of it, and reads them back to the start of RAM. */
#include "flash_rp2040.h"

__attribute__((section(".result"))) uint8_t result[64];

__attribute__((noinline)) void end(void) { __asm__ volatile("nop"); }

void start(void)
{
    ar_flash flash;
    uint8_t data[32];
    for (uint32_t k = 0; k < sizeof data; k++) {
        data[k] = (uint8_t)(3 * k + 1);
    }
    ar_flash_rp2040(&flash, 0x101FE000u, 2);
    flash.erase(flash.context, 1);
    flash.program(flash.context, 4096 + 240, data, sizeof data);
    flash.read(flash.context, 4096 + 232, result, 64);
    end();
}
