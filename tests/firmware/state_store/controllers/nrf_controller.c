/* What the flash controller of the nRF52 does. The model enforces the rules: writing and erasing must be permitted, a page
 * is erased by its address, each word is written once after an erasure, and no access while an operation runs. */
#include "controller.h"
#include <string.h>

enum { BUSY_READS = 5 };

static uint32_t busy_reads;

void show_register(uintptr_t at)
{
    if (at == (uintptr_t)&NVMC->READY) {
        NVMC->READY = busy_reads ? 0 : NVMC_READY_READY_Msk;
    }
}

void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old)
{
    (void)old;
    if (!is_write) {
        busy_reads -= busy_reads > 0 && at == (uintptr_t)&NVMC->READY;
        return;
    }
    if (busy_reads) {
        fail("a register is written while an operation runs");
    }
    if (at == (uintptr_t)&NVMC->ERASEPAGE) {
        const uint32_t offset = NVMC->ERASEPAGE - (uint32_t)APP_FLASH_ADDRESS;
        if (NVMC->CONFIG != NVMC_CONFIG_WEN_Een || offset % APP_FLASH_PAGE) {
            fail("an erasure without permission, or of no page: %x", NVMC->ERASEPAGE);
        }
        erase_page(offset / APP_FLASH_PAGE);
        busy_reads = BUSY_READS;
    } else if (at != (uintptr_t)&NVMC->CONFIG || NVMC->CONFIG > NVMC_CONFIG_WEN_Een) {
        fail("a write of %lx", (unsigned long)at);
    }
}

void word_written(uintptr_t at, uint32_t old, uint32_t new)
{
    const uint32_t offset = (uint32_t)(at - APP_FLASH_ADDRESS);
    *(uint32_t *)at = old;
    if (offset >= BYTES || at % 4) {
        fail("a write at offset %u", offset);
    }
    if (NVMC->CONFIG != NVMC_CONFIG_WEN_Wen || busy_reads) {
        fail("a write without permission, or while an operation runs");
    }
    program_unit(offset / UNIT, (const uint8_t *)&new);
    busy_reads = BUSY_READS;
}

void memory_read(uintptr_t at) { fail("a read of %lx is not permitted", (unsigned long)at); }

void controller_restart(void)
{
    open_registers();
    memset((void *)NRF_NVMC_BASE, 0, sizeof(NRF_NVMC_Type));
    busy_reads = 0;
    close_memory();
}
