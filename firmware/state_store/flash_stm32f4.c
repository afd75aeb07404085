#include "flash_stm32.h"
#include "flash_stm32_core.h"

#define ACR STM32_REGISTER(0x40023C00u)
#define KEYR STM32_REGISTER(0x40023C04u)
#define SR STM32_REGISTER(0x40023C0Cu)
#define CR STM32_REGISTER(0x40023C10u)
enum {
    UNIT = 4,
    BEFORE_SECTOR = 4, /* sectors 0 to 4 are together as large as one of the others */
    ACR_DCEN = 1 << 10,
    ACR_DCRST = 1 << 12,
    SR_BSY = 1 << 16,
    PROBLEMS = 0xF2, /* OPERR, WRPERR, PGAERR, PGPERR, PGSERR */
    CR_PG = 1 << 0,
    CR_SER = 1 << 1,
    CR_SNB_SHIFT = 3,
    CR_PSIZE_WORD = 2 << 8,
    CR_STRT = 1 << 16
};
#define CR_LOCK (1u << 31)

static void wait(void)
{
    while (SR & SR_BSY) {
    }
}

/* Unlocks the controller for `operation`. */
static void begin(uint32_t operation)
{
    if (CR & CR_LOCK) {
        KEYR = STM32_FLASH_KEY_1;
        KEYR = STM32_FLASH_KEY_2;
    }
    SR = PROBLEMS; /* ones clear them */
    CR = operation | CR_PSIZE_WORD;
}

/* Locks the controller, and makes the processor forget what it read before. Returns what failed. */
static int finish(void)
{
    CR = CR_LOCK;
    const uint32_t access = ACR;
    ACR = access & ~(uint32_t)ACR_DCEN;
    ACR = (access & ~(uint32_t)ACR_DCEN) | ACR_DCRST;
    ACR = access;
    return (SR & PROBLEMS) != 0;
}

static int erase_sector(uint32_t sector)
{
    begin(CR_SER | sector << CR_SNB_SHIFT);
    CR |= CR_STRT;
    wait();
    return finish();
}

static int erase_small(void *context, uint32_t page)
{
    return erase_sector((stm32_first(context) - STM32_FLASH_FIRST) / AR_STM32F4_SMALL_SECTOR + page);
}

static int erase(void *context, uint32_t page)
{
    return erase_sector(BEFORE_SECTOR + (stm32_first(context) - STM32_FLASH_FIRST) / AR_STM32F4_SECTOR +
                        page);
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    begin(CR_PG);
    for (uint32_t k = 0; k < bytes; k += UNIT) {
        stm32_write(stm32_word(context, at + k), (const uint8_t *)data + k);
        wait();
    }
    return finish();
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    stm32_copy(context, at, data, bytes);
    return 0;
}

void ar_flash_stm32f4(ar_flash *flash, uint32_t address, uint32_t page_bytes, uint32_t pages)
{
    *flash = (ar_flash){page_bytes, pages, UNIT, page_bytes == AR_STM32F4_SECTOR ? erase : erase_small,
                        program,    read,  0,    (void *)(uintptr_t)address};
}
