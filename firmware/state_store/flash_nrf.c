#include "flash_nrf.h"

/* NVMC, the controller of the flash memory. */
#define NVMC(offset) (*(volatile uint32_t *)(uintptr_t)(0x4001E000u + (offset)))
#define READY NVMC(0x400)
#define CONFIG NVMC(0x504)
#define ERASEPAGE NVMC(0x508)
enum { READ_ONLY = 0, WRITE_ENABLED = 1, ERASE_ENABLED = 2 };

/* Returns the word at offset `at`. `context` is the address of the first page. */
static volatile uint32_t *word(void *context, uint32_t at)
{
    return (volatile uint32_t *)((uintptr_t)context + at);
}

static void wait(void)
{
    while (READY == 0) {
    }
}

static int busy(void *context)
{
    (void)context;
    return READY == 0;
}

static int erase_1024(void *context, uint32_t page)
{
    CONFIG = ERASE_ENABLED;
    ERASEPAGE = (uint32_t)((uintptr_t)context + page * AR_NRF51_PAGE);
    wait();
    CONFIG = READ_ONLY;
    return 0;
}

static int erase_4096(void *context, uint32_t page)
{
    return erase_1024(context, page * (AR_NRF52_PAGE / AR_NRF51_PAGE));
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    const uint8_t *source = data;
    CONFIG = WRITE_ENABLED;
    for (uint32_t i = 0; i < bytes; i += 4) {
        *word(context, at + i) = (uint32_t)source[i] | (uint32_t)source[i + 1] << 8 |
                                 (uint32_t)source[i + 2] << 16 | (uint32_t)source[i + 3] << 24;
        wait();
    }
    CONFIG = READ_ONLY;
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

void ar_flash_nrf(ar_flash *flash, uint32_t address, uint32_t page_bytes, uint32_t pages)
{
    flash->page_bytes = page_bytes;
    flash->pages = pages;
    flash->unit_bytes = 4;
    flash->erase = page_bytes == AR_NRF51_PAGE ? erase_1024 : erase_4096;
    flash->program = program;
    flash->read = read;
    flash->busy = busy;
    flash->context = (void *)(uintptr_t)address;
}
