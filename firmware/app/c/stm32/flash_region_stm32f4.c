/* Sectors of 128 KB at the end of the flash memory of an STM32F4 with up to 1 MB, for what the application learned
 * (RM0090, RM0368, RM0383 and RM0390, embedded flash memory interface). The sectors at its beginning are smaller, but
 * the program is there. A write has 4 bytes, which needs a supply of 2.7 V or more.
 *
 * The processor halts while it is erased: about 1 second, at most 2. Samples that arrive meanwhile are lost.
 *
 * Compiled with ST's device headers; never run on a board. */
#include "flash_region_stm32.h"
#include <stm32f4xx.h>

enum { UNIT = 4, SECTOR = 0x20000, BEFORE_SECTOR = 4 }; /* sectors 0 to 4 are as large as one of these */
#define PROBLEMS (FLASH_SR_SOP | FLASH_SR_WRPERR | FLASH_SR_PGAERR | FLASH_SR_PGPERR | FLASH_SR_PGSERR)
/* The compiler refuses an array of negative size. */
typedef char page_is_a_sector[APP_FLASH_PAGE == SECTOR && APP_FLASH_ADDRESS % SECTOR == 0 &&
                                      APP_FLASH_ADDRESS >
                                          STM32_FLASH_FIRST &&APP_FLASH_ADDRESS + APP_FLASH_PAGES *SECTOR <=
                                          STM32_FLASH_FIRST + 8 * SECTOR
                                  ? 1
                                  : -1];

static void wait(void)
{
    while (FLASH->SR & FLASH_SR_BSY) {
    }
}

/* Unlocks the controller for `operation`. */
static void begin(uint32_t operation)
{
    if (FLASH->CR & FLASH_CR_LOCK) {
        FLASH->KEYR = STM32_FLASH_KEY_1;
        FLASH->KEYR = STM32_FLASH_KEY_2;
    }
    FLASH->SR = PROBLEMS; /* ones clear them */
    FLASH->CR = operation | FLASH_CR_PSIZE_1;
}

/* Locks the controller, and makes the processor forget what it read before. Returns what failed. */
static int finish(void)
{
    FLASH->CR = FLASH_CR_LOCK;
    const uint32_t access = FLASH->ACR;
    FLASH->ACR = access & ~FLASH_ACR_DCEN;
    FLASH->ACR = (access & ~FLASH_ACR_DCEN) | FLASH_ACR_DCRST;
    FLASH->ACR = access;
    return (FLASH->SR & PROBLEMS) != 0;
}

static int erase(void *context, uint32_t page)
{
    const uint32_t sector = BEFORE_SECTOR + (APP_FLASH_ADDRESS - STM32_FLASH_FIRST) / SECTOR + page;
    (void)context;
    begin(FLASH_CR_SER | sector << FLASH_CR_SNB_Pos);
    FLASH->CR |= FLASH_CR_STRT;
    wait();
    return finish();
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    (void)context;
    begin(FLASH_CR_PG);
    for (uint32_t k = 0; k < bytes; k += UNIT) {
        stm32_write(stm32_word(at + k), (const uint8_t *)data + k);
        wait();
    }
    return finish();
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    (void)context;
    flash_read_mapped((const volatile uint8_t *)stm32_word(0) + at, data, bytes);
    return 0;
}

uint32_t learning_flash(ar_flash *flash)
{
    flash_region(flash, UNIT, erase, program, read);
    return stm32_program_fits();
}
