/* Pages at the end of the flash memory of an STM32L4 with pages of 2 KB, for what the application learned (RM0351 and
 * RM0394, embedded flash memory). Double words of 8 bytes have check bits and are programmed once after an erasure.
 *
 * In a chip with two banks, such as those with 1 MB, the program runs on while the second one is erased. In others, the
 * processor halts for about 22 ms if it reads the memory. It halts for less than 0.1 ms for a double word.
 *
 * A double word that a power cut damaged asks for NMI when it is read, so this file has its handler. It halts at other
 * causes, as the handlers of the frameworks do.
 *
 * Compiled with ST's device headers; never run on a board. */
#include "flash_region_stm32.h"
#include <stm32l4xx.h>

enum { UNIT = 8, PAGE = 2048, BANK_PAGES = 256 };
#define PROBLEMS                                                                               \
    (FLASH_SR_OPERR | FLASH_SR_PROGERR | FLASH_SR_WRPERR | FLASH_SR_PGAERR | FLASH_SR_SIZERR | \
     FLASH_SR_PGSERR | FLASH_SR_MISERR | FLASH_SR_FASTERR)
/* The compiler refuses an array of negative size. */
typedef char page_is_a_page[APP_FLASH_PAGE == PAGE && APP_FLASH_ADDRESS % PAGE == 0 ? 1 : -1];

static volatile uint32_t is_damaged;

void NMI_Handler(void)
{
    if (!(FLASH->ECCR & FLASH_ECCR_ECCD)) {
        for (;;) {
        }
    }
    FLASH->ECCR |= FLASH_ECCR_ECCD; /* a one clears it */
    is_damaged = 1;
}

/* Locks the controller, and makes the processor forget what it read before. */
static void finish(void)
{
    FLASH->CR = FLASH_CR_LOCK;
    const uint32_t access = FLASH->ACR;
    FLASH->ACR = access & ~FLASH_ACR_DCEN;
    FLASH->ACR = (access & ~FLASH_ACR_DCEN) | FLASH_ACR_DCRST;
    FLASH->ACR = access;
}

static int busy(void *context)
{
    (void)context;
    if (FLASH->SR & FLASH_SR_BSY) {
        return 1;
    }
    if (!(FLASH->CR & FLASH_CR_LOCK)) {
        finish();
    }
    return 0;
}

/* Unlocks the controller for `operation`. */
static void begin(uint32_t operation)
{
    if (FLASH->CR & FLASH_CR_LOCK) {
        FLASH->KEYR = STM32_FLASH_KEY_1;
        FLASH->KEYR = STM32_FLASH_KEY_2;
    }
    FLASH->SR = PROBLEMS; /* ones clear them */
    FLASH->CR = operation;
}

static int erase(void *context, uint32_t page)
{
    const uint32_t number = (APP_FLASH_ADDRESS - STM32_FLASH_FIRST) / PAGE + page;
    uint32_t operation = FLASH_CR_PER | (number % BANK_PAGES) << FLASH_CR_PNB_Pos;
#ifdef FLASH_CR_BKER
    operation |= number / BANK_PAGES ? FLASH_CR_BKER : 0;
#endif
    (void)context;
    begin(operation);
    FLASH->CR = operation | FLASH_CR_STRT;
    return 0; /* busy() tells when it is complete; the store reads what it wrote */
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    const uint8_t *from = data;
    uint32_t problems = 0;
    (void)context;
    begin(FLASH_CR_PG);
    for (uint32_t k = 0; k < bytes && !problems; k += UNIT) {
        stm32_write(stm32_word(at + k), from + k);
        __ISB(); /* the two words stay two writes, in their order */
        stm32_write(stm32_word(at + k + 4), from + k + 4);
        while (FLASH->SR & FLASH_SR_BSY) {
        }
        problems = FLASH->SR & PROBLEMS;
    }
    finish();
    return problems != 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    (void)context;
    is_damaged = 0;
    flash_read_mapped((const volatile uint8_t *)stm32_word(0) + at, data, bytes);
    __DSB(); /* the reads are complete, */
    __ISB(); /* and an NMI that they asked for was taken */
    return is_damaged != 0;
}

uint32_t learning_flash(ar_flash *flash)
{
    flash_region(flash, UNIT, erase, program, read);
    flash->busy = busy;
    return stm32_program_fits();
}
