/* Sectors at the end of the flash memory of a board with an RP2040 or RP2350, for what the application learned. The very
 * last sector stays free: the download of a program to an RP2350 writes there.
 *
 * While the memory erases or programs, it cannot be read, so no interrupt runs: about 50 ms for a sector, less than 1 ms
 * for a page. Samples that arrive meanwhile are lost, and counted. With both cores in use, the second one must not run from flash.
 *
 * Compiled and linked with the Pico SDK; never run on a board. */
#include "flash_region.h"
#include <hardware/flash.h>
#include <hardware/sync.h>

/* The memory programs pages of 256 bytes. The store programs a unit of a page at a time: ones leave the rest as it is. */
enum { UNIT = 16, FIRST = PICO_FLASH_SIZE_BYTES - (APP_FLASH_PAGES + 1u) * FLASH_SECTOR_SIZE };
/* The compiler refuses an array of negative size. */
typedef char page_is_a_sector[APP_FLASH_PAGE == FLASH_SECTOR_SIZE ? 1 : -1];

extern char __flash_binary_end;

static int erase(void *context, uint32_t page)
{
    (void)context;
    const uint32_t interrupts = save_and_disable_interrupts();
    flash_range_erase(FIRST + page * FLASH_SECTOR_SIZE, FLASH_SECTOR_SIZE);
    restore_interrupts(interrupts);
    return 0;
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    static uint8_t page[FLASH_PAGE_SIZE];
    (void)context;
    for (uint32_t done = 0; done < bytes; done += UNIT) {
        const uint32_t first = (at + done) % FLASH_PAGE_SIZE;
        for (uint32_t k = 0; k < FLASH_PAGE_SIZE; k++) {
            page[k] = k - first < UNIT ? ((const uint8_t *)data)[done + k - first] : 0xFF;
        }
        const uint32_t interrupts = save_and_disable_interrupts();
        flash_range_program(FIRST + at + done - first, page, FLASH_PAGE_SIZE);
        restore_interrupts(interrupts);
    }
    return 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    (void)context;
    flash_read_mapped((const uint8_t *)(XIP_BASE + FIRST + at), data, bytes);
    return 0;
}

uint32_t learning_flash(ar_flash *flash)
{
    flash_region(flash, UNIT, erase, program, read);
    return (uintptr_t)&__flash_binary_end <= XIP_BASE + FIRST; /* the program does not reach the sectors */
}
