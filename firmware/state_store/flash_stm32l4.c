#include "flash_stm32.h"
#include "flash_stm32_core.h"

#define ACR STM32_REGISTER(0x40022000u)
#define KEYR STM32_REGISTER(0x40022008u)
#define SR STM32_REGISTER(0x40022010u)
#define CR STM32_REGISTER(0x40022014u)
#define ECCR STM32_REGISTER(0x40022018u)
enum {
    UNIT = 8,
    BANK_PAGES = 256,
    ACR_DCEN = 1 << 10,
    ACR_DCRST = 1 << 12,
    SR_BSY = 1 << 16,
    PROBLEMS = 0x3FA, /* OPERR, PROGERR, WRPERR, PGAERR, SIZERR, PGSERR, MISERR, FASTERR */
    CR_PG = 1 << 0,
    CR_PER = 1 << 1,
    CR_PNB_SHIFT = 3,
    CR_BKER = 1 << 11,
    CR_STRT = 1 << 16
};
#define CR_LOCK (1u << 31)
#define ECCR_ECCD (1u << 31)

static volatile int is_damaged;

int ar_flash_stm32l4_nmi(void)
{
    if (!(ECCR & ECCR_ECCD)) {
        return 0;
    }
    ECCR |= ECCR_ECCD; /* a one clears it */
    is_damaged = 1;
    return 1;
}

/* Locks the controller, and makes the processor forget what it read before. */
static void finish(void)
{
    CR = CR_LOCK;
    const uint32_t access = ACR;
    ACR = access & ~(uint32_t)ACR_DCEN;
    ACR = (access & ~(uint32_t)ACR_DCEN) | ACR_DCRST;
    ACR = access;
}

static int busy(void *context)
{
    (void)context;
    if (SR & SR_BSY) {
        return 1;
    }
    if (!(CR & CR_LOCK)) {
        finish();
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
    const uint32_t number = (stm32_first(context) - STM32_FLASH_FIRST) / AR_STM32L4_PAGE + page;
    const uint32_t bank = number / BANK_PAGES ? CR_BKER : 0u;
    const uint32_t operation = CR_PER | bank | (number % BANK_PAGES) << CR_PNB_SHIFT;
    begin(operation);
    CR = operation | CR_STRT;
    return 0; /* busy() tells when it is complete */
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    begin(CR_PG);
    const uint32_t problems = stm32_program_double_words(context, at, data, bytes, &SR, SR_BSY, PROBLEMS);
    finish();
    return problems != 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    is_damaged = 0;
    stm32_copy(context, at, data, bytes);
    stm32_barrier(); /* an NMI that the reads asked for was taken */
    return is_damaged != 0;
}

void ar_flash_stm32l4(ar_flash *flash, uint32_t address, uint32_t pages)
{
    *flash = (ar_flash){AR_STM32L4_PAGE, pages, UNIT, erase, program, read, busy, (void *)(uintptr_t)address};
}
