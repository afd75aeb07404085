/* Sectors of 128 KB at the end of the second bank of the flash memory of an STM32H742, H743, H745, H747, H753, H755 or
 * H757 with 2 MB, for what the application learned (RM0433 and RM0399, embedded flash memory). Words of 32 bytes have
 * check bits and are programmed once after an erasure. The program is in the first bank, so it runs on during erasures.
 *
 * A word that a power cut damaged gives a bus fault when it is read. The processor ignores it while no interrupt can run:
 * less than 1 us.
 *
 * Compiled with ST's device headers; never run on a board. */
#include "flash_region_stm32.h"
#include <stm32h7xx.h>

enum { UNIT = 32, SECTOR = 0x20000, BANK_2 = 0x08100000 };
#define BUSY (FLASH_SR_BSY | FLASH_SR_WBNE | FLASH_SR_QW)
#define PROBLEMS (FLASH_SR_WRPERR | FLASH_SR_PGSERR | FLASH_SR_STRBERR | FLASH_SR_INCERR | FLASH_SR_OPERR)
/* The compiler refuses an array of negative size. */
typedef char page_is_a_sector
    [APP_FLASH_PAGE == SECTOR && APP_FLASH_ADDRESS % SECTOR == 0 && APP_FLASH_ADDRESS >= BANK_2 ? 1 : -1];

static int busy(void *context)
{
    (void)context;
    if (FLASH->SR2 & BUSY) {
        return 1;
    }
    if (!(FLASH->CR2 & FLASH_CR_LOCK)) {
        FLASH->CR2 = FLASH_CR_LOCK;
    }
    return 0;
}

/* Unlocks the controller for `operation`. */
static void begin(uint32_t operation)
{
    if (FLASH->CR2 & FLASH_CR_LOCK) {
        FLASH->KEYR2 = STM32_FLASH_KEY_1;
        FLASH->KEYR2 = STM32_FLASH_KEY_2;
    }
    FLASH->CCR2 = PROBLEMS; /* the bits of this register are those of the status */
    FLASH->CR2 = operation | FLASH_CR_PSIZE_0 | FLASH_CR_PSIZE_1;
}

static int erase(void *context, uint32_t page)
{
    const uint32_t sector = (APP_FLASH_ADDRESS - BANK_2) / SECTOR + page;
    (void)context;
    begin(FLASH_CR_SER | sector << FLASH_CR_SNB_Pos);
    FLASH->CR2 |= FLASH_CR_START;
    return 0; /* busy() tells when it is complete; the store reads what it wrote */
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    uint32_t problems = 0;
    (void)context;
    begin(FLASH_CR_PG);
    for (uint32_t k = 0; k < bytes && !problems; k += UNIT) {
        __DSB();
        for (uint32_t i = 0; i < UNIT; i += 4) {
            stm32_write(stm32_word(at + k + i), (const uint8_t *)data + k + i);
        }
        __DSB();
        while (FLASH->SR2 & BUSY) {
        }
        problems = FLASH->SR2 & PROBLEMS;
    }
    FLASH->CR2 = FLASH_CR_LOCK;
    return problems != 0;
}

/* Copies bytes of one word. Returns 1 if it is damaged. */
static int read_word(const volatile uint8_t *from, uint8_t *to, uint32_t bytes)
{
#if defined(__DCACHE_PRESENT) && __DCACHE_PRESENT
    SCB_InvalidateDCache_by_Addr((uint32_t *)((uintptr_t)from & ~(uintptr_t)(UNIT - 1)), UNIT);
#endif
    __set_FAULTMASK(1);
    SCB->CCR |= SCB_CCR_BFHFNMIGN_Msk;
    __DSB();
    flash_read_mapped(from, to, bytes);
    __DSB();
    SCB->CCR &= ~SCB_CCR_BFHFNMIGN_Msk;
    __set_FAULTMASK(0);
    const uint32_t is_damaged = FLASH->SR2 & FLASH_SR_DBECCERR;
    FLASH->CCR2 = FLASH_CCR_CLR_DBECCERR | FLASH_CCR_CLR_SNECCERR;
    return is_damaged != 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    const volatile uint8_t *from = (const volatile uint8_t *)stm32_word(0);
    int is_damaged = 0;
    (void)context;
    for (uint32_t k = 0; k < bytes;) {
        const uint32_t rest = UNIT - (at + k) % UNIT, count = rest < bytes - k ? rest : bytes - k;
        is_damaged |= read_word(from + at + k, (uint8_t *)data + k, count);
        k += count;
    }
    return is_damaged;
}

uint32_t learning_flash(ar_flash *flash)
{
    flash_region(flash, UNIT, erase, program, read);
    flash->busy = busy;
    return stm32_program_fits();
}
