/* The flash memory of a board with an RP2040 for the state store and for updates, through the functions of the boot ROM:
 * it needs no SDK. It has not run on hardware. */
#ifndef ARENITE_FLASH_RP2040_H
#define ARENITE_FLASH_RP2040_H

#include "flash.h"

enum { AR_RP2040_SECTOR = 4096 };

/* Fills `flash` with `pages` sectors of 4 KB from `address`, a multiple of 4,096 from 0x10000000 on. They must hold nothing
 * else. Units have 16 bytes: the memory programs 256 bytes at once, and ones leave the rest as it is. Call it before the
 * other core runs.
 *
 * While the memory erases or programs, it cannot be read. So no interrupt runs, about 50 ms for a sector and less than 1
 * ms for a unit, and the other core must not run from flash. The part of the driver that runs meanwhile is in the section
 * .time_critical.ar_flash, which the linker script must place in RAM, as those of the Pico SDK do. The first 256 bytes of
 * flash must be the second stage of the boot loader: a copy of it turns reading on again. */
void ar_flash_rp2040(ar_flash *flash, uint32_t address, uint32_t pages);

#endif
