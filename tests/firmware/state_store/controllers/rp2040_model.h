/* The boot ROM, the flash memory and the pads of an RP2040 as its driver meets them. */
#ifndef RP2040_MODEL_H
#define RP2040_MODEL_H

#include <stdint.h>

enum { UNIT = 16, HAS_CHECK_BITS = 0, HAS_CACHE = 1 };
/* The pads, and the second stage of the boot loader at the start of flash. */
#define REGISTER_PAGES {0x40020000, 0x10000000}

uintptr_t rp2040_rom_function(uint32_t name);
uint32_t rp2040_disable_interrupts(void);
void rp2040_restore_interrupts(uint32_t state);
void rp2040_run(const uint32_t *code);

#endif
