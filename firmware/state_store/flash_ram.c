#include "flash_ram.h"

/* Returns the word at offset `at`. `context` is the address of the first page. */
static volatile uint32_t *word(void *context, uint32_t at)
{
    return (volatile uint32_t *)((uintptr_t)context + at);
}

static int erase(void *context, uint32_t page)
{
    for (uint32_t i = 0; i < AR_FLASH_RAM_PAGE; i += 4) {
        *word(context, page * AR_FLASH_RAM_PAGE + i) = 0xFFFFFFFFu;
    }
    return 0;
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    const uint8_t *source = data;
    for (uint32_t i = 0; i < bytes; i += 4) {
        *word(context, at + i) &= (uint32_t)source[i] | (uint32_t)source[i + 1] << 8 |
                                  (uint32_t)source[i + 2] << 16 | (uint32_t)source[i + 3] << 24;
    }
    return 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    uint8_t *to = data;
    const volatile uint8_t *from = (const volatile uint8_t *)word(context, 0) + at;
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = from[i];
    }
    return 0;
}

void ar_flash_ram(ar_flash *flash, uint32_t address, uint32_t pages)
{
    flash->page_bytes = AR_FLASH_RAM_PAGE;
    flash->pages = pages;
    flash->unit_bytes = 4;
    flash->erase = erase;
    flash->program = program;
    flash->read = read;
    flash->busy = 0;
    flash->context = (void *)(uintptr_t)address;
}
