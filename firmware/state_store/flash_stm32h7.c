#include "flash_stm32.h"
#include "flash_stm32_core.h"

#define BANK_2 0x08100000u
/* The registers of the bank of a memory. */
#define OF_BANK(context, offset) \
    STM32_REGISTER(0x52002000u + (stm32_first(context) >= BANK_2 ? 0x100u : 0u) + (offset))
#define KEYR(context) OF_BANK(context, 0x04u)
#define CR(context) OF_BANK(context, 0x0Cu)
#define SR(context) OF_BANK(context, 0x10u)
#define CCR(context) OF_BANK(context, 0x14u)
enum {
    UNIT = 32,
    CR_LOCK = 1 << 0,
    CR_PG = 1 << 1,
    CR_SER = 1 << 2,
    CR_PSIZE = 3 << 4,
    CR_START = 1 << 7,
    CR_SNB_SHIFT = 8,
    BUSY = 7,            /* BSY, WBNE, QW */
    PROBLEMS = 0x6E0000, /* WRPERR, PGSERR, STRBERR, INCERR, OPERR */
    CORRECTED = 1 << 25, /* SNECCERR */
    DAMAGED = 1 << 26,   /* DBECCERR */
    SCB_CCR_BFHFNMIGN = 1 << 8
};

static int busy(void *context)
{
    if (SR(context) & BUSY) {
        return 1;
    }
    if (!(CR(context) & CR_LOCK)) {
        CR(context) = CR_LOCK;
    }
    return 0;
}

/* Unlocks the controller for `operation`. */
static void begin(const void *context, uint32_t operation)
{
    if (CR(context) & CR_LOCK) {
        KEYR(context) = STM32_FLASH_KEY_1;
        KEYR(context) = STM32_FLASH_KEY_2;
    }
    CCR(context) = PROBLEMS; /* the bits of this register are those of the status */
    CR(context) = operation | CR_PSIZE;
}

static int erase(void *context, uint32_t page)
{
    const uint32_t bank = stm32_first(context) >= BANK_2 ? BANK_2 : STM32_FLASH_FIRST;
    begin(context, CR_SER | ((stm32_first(context) - bank) / AR_STM32H7_SECTOR + page) << CR_SNB_SHIFT);
    CR(context) |= CR_START;
    return 0; /* busy() tells when it is complete */
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    uint32_t problems = 0;
    begin(context, CR_PG);
    for (uint32_t k = 0; k < bytes && !problems; k += UNIT) {
        stm32_barrier();
        for (uint32_t i = 0; i < UNIT; i += 4) {
            stm32_write(stm32_word(context, at + k + i), (const uint8_t *)data + k + i);
        }
        stm32_barrier();
        while (SR(context) & BUSY) {
        }
        problems = SR(context) & PROBLEMS;
    }
    CR(context) = CR_LOCK;
    return problems != 0;
}

/* Copies bytes of one word. Returns 1 if it is damaged. */
static int read_word(const void *context, uint32_t at, uint8_t *to, uint32_t bytes)
{
    stm32_forget((stm32_first(context) + at) & ~(uint32_t)(UNIT - 1));
    stm32_mask_faults(1);
    STM32_SCB_CCR |= SCB_CCR_BFHFNMIGN;
    stm32_barrier();
    stm32_copy(context, at, to, bytes);
    stm32_barrier();
    STM32_SCB_CCR &= ~(uint32_t)SCB_CCR_BFHFNMIGN;
    stm32_mask_faults(0);
    const uint32_t is_damaged = SR(context) & DAMAGED;
    CCR(context) = DAMAGED | CORRECTED;
    return is_damaged != 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    int is_damaged = 0;
    for (uint32_t k = 0; k < bytes;) {
        const uint32_t rest = UNIT - (at + k) % UNIT, count = rest < bytes - k ? rest : bytes - k;
        is_damaged |= read_word(context, at + k, (uint8_t *)data + k, count);
        k += count;
    }
    return is_damaged;
}

void ar_flash_stm32h7(ar_flash *flash, uint32_t address, uint32_t pages)
{
    *flash =
        (ar_flash){AR_STM32H7_SECTOR, pages, UNIT, erase, program, read, busy, (void *)(uintptr_t)address};
}
