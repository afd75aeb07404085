#include "flash_stm32.h"
#include "flash_stm32_core.h"

#define KEYR STM32_REGISTER(0x40022008u)
#define SR STM32_REGISTER(0x40022010u)
#define CR STM32_REGISTER(0x40022014u)
#define ECCR STM32_REGISTER(0x40022018u)  /* of the first bank */
#define ECC2R STM32_REGISTER(0x4002201Cu) /* of the second bank */
enum {
    UNIT = 8,
    BANK_PAGES = 128,
    SECOND_BANK = 256, /* the number of its first page */
    BUSY = 7 << 16,    /* BSY1, BSY2, CFGBSY */
    PROBLEMS = 0x3FA,  /* OPERR, PROGERR, WRPERR, PGAERR, SIZERR, PGSERR, MISERR, FASTERR */
    CR_PG = 1 << 0,
    CR_PER = 1 << 1,
    CR_PNB_SHIFT = 3,
    CR_BKER = 1 << 13,
    CR_STRT = 1 << 16
};
#define CR_LOCK (1u << 31)
#define ECCD (1u << 31)

static volatile int is_damaged;

int ar_flash_stm32g0_nmi(void)
{
    if (!((ECCR | ECC2R) & ECCD)) {
        return 0;
    }
    ECCR |= ECCD; /* ones clear them */
    ECC2R |= ECCD;
    is_damaged = 1;
    return 1;
}

static int busy(void *context)
{
    (void)context;
    if (SR & BUSY) {
        return 1;
    }
    if (!(CR & CR_LOCK)) {
        CR = CR_LOCK;
    }
    return 0;
}

/* Unlocks the controller for `operation`. */
static void begin(uint32_t operation)
{
    if (CR & CR_LOCK) {
        KEYR = STM32_FLASH_KEY_1;
        KEYR = STM32_FLASH_KEY_2;
    }
    SR = PROBLEMS; /* ones clear them */
    CR = operation;
}

static int erase(void *context, uint32_t page)
{
    uint32_t number = (stm32_first(context) - STM32_FLASH_FIRST) / AR_STM32G0_PAGE + page, bank = 0;
    if (number >= BANK_PAGES) {
        number += SECOND_BANK - BANK_PAGES;
        bank = CR_BKER;
    }
    const uint32_t operation = CR_PER | bank | number << CR_PNB_SHIFT;
    begin(operation);
    CR = operation | CR_STRT;
    return 0; /* busy() tells when it is complete */
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    begin(CR_PG);
    const uint32_t problems = stm32_program_double_words(context, at, data, bytes, &SR, BUSY, PROBLEMS);
    CR = CR_LOCK;
    return problems != 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    is_damaged = 0;
    stm32_copy(context, at, data, bytes);
    stm32_barrier(); /* an NMI that the reads asked for was taken */
    return is_damaged != 0;
}

void ar_flash_stm32g0(ar_flash *flash, uint32_t address, uint32_t pages)
{
    *flash = (ar_flash){AR_STM32G0_PAGE, pages, UNIT, erase, program, read, busy, (void *)(uintptr_t)address};
}
