/* RAM that is used as a flash memory, on emulated boards whose emulator keeps it in a file. */
#ifndef ARENITE_FLASH_RAM_H
#define ARENITE_FLASH_RAM_H

#include "flash.h"

enum { AR_FLASH_RAM_PAGE = 4096 };

/* Fills `flash` with `pages` pages of AR_FLASH_RAM_PAGE bytes from `address`. A page is erased to 0xFF, and programming
 * only clears bits. Units have 4 bytes. */
void ar_flash_ram(ar_flash *flash, uint32_t address, uint32_t pages);

#endif
