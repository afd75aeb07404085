/* What the drivers of flash memories share. */
#ifndef ARENITE_FLASH_REGION_H
#define ARENITE_FLASH_REGION_H

#include "app_learning.h"
#include "learning.h"

/* Fills `flash` with the pages of app_learning.h, units of `unit` bytes and functions that finish before they return. */
static inline void flash_region(ar_flash *flash, uint32_t unit, int (*erase)(void *, uint32_t),
                                int (*program)(void *, uint32_t, const void *, uint32_t),
                                int (*read)(void *, uint32_t, void *, uint32_t))
{
    flash->page_bytes = APP_FLASH_PAGE;
    flash->pages = APP_FLASH_PAGES;
    flash->unit_bytes = unit;
    flash->erase = erase;
    flash->program = program;
    flash->read = read;
    flash->busy = 0;
}

/* Copies `bytes` bytes at `from` in flash memory that is mapped into the address space. */
static inline void flash_read_mapped(const volatile uint8_t *from, void *data, uint32_t bytes)
{
    uint8_t *to = data;
    for (uint32_t k = 0; k < bytes; k++) {
        to[k] = from[k];
    }
}

#endif
