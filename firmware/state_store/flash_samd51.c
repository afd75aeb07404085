#include "flash_samd.h"

#define NVMCTRL(type, offset) (*(volatile type *)(uintptr_t)(0x41004000u + (offset)))
#define CTRLA NVMCTRL(uint16_t, 0x00u)
#define CTRLB NVMCTRL(uint16_t, 0x04u)
#define INTFLAG NVMCTRL(uint16_t, 0x10u)
#define STATUS NVMCTRL(uint16_t, 0x12u)
#define ADDR NVMCTRL(uint32_t, 0x14u)
#define ECCERR NVMCTRL(uint32_t, 0x24u)
#define CMCC(offset) (*(volatile uint32_t *)(uintptr_t)(0x41006000u + (offset)))
#define CACHE_CTRL CMCC(0x08u)
#define CACHE_SR CMCC(0x0Cu)
#define CACHE_MAINT0 CMCC(0x20u)
enum {
    UNIT = 16,
    KEY = 0xA500,
    ERASE_BLOCK = 0x01,
    WRITE_QUAD_WORD = 0x04,
    CLEAR_BUFFER = 0x15,
    WRITE_MODE = 3 << 4, /* CTRLA: 0 is manual */
    NO_LINES = 3 << 14,  /* CTRLA: CACHEDIS0 and CACHEDIS1 */
    READY = 1 << 0,
    DAMAGED = 1 << 5, /* ECCDE */
    PROBLEMS = 0x4E,  /* ADDRE, PROGE, LOCKE, NVME */
    CACHE_IS_ON = 1 << 0
};

static void command(uint32_t name)
{
    CTRLB = (uint16_t)(KEY | name);
    while (!(STATUS & READY)) {
    }
}

/* Returns what finish() restores. The lines of the controller's cache are off meanwhile, because reads of them may return
 * wrong data while the page buffer is filled (errata of SAM D5x/E5x, NVM read corruption). */
static uint16_t begin(void)
{
    const uint16_t control = CTRLA;
    while (!(STATUS & READY)) {
    }
    CTRLA = (uint16_t)((control & ~(uint32_t)WRITE_MODE) | NO_LINES);
    INTFLAG = PROBLEMS; /* ones clear them */
    return control;
}

/* Makes the processor's cache forget what it read before. */
static void forget(void)
{
    const uint32_t was_on = CACHE_SR & CACHE_IS_ON;
    CACHE_CTRL = 0;
    while (CACHE_SR & CACHE_IS_ON) {
    }
    CACHE_MAINT0 = 1; /* INVALL */
    CACHE_CTRL = was_on;
}

/* Returns what failed. */
static int finish(uint16_t control)
{
    forget();
    CTRLA = control;
    return (INTFLAG & PROBLEMS) != 0;
}

static int erase(void *context, uint32_t page)
{
    const uint16_t control = begin();
    ADDR = (uint32_t)((uintptr_t)context + page * AR_SAMD51_BLOCK);
    command(ERASE_BLOCK);
    return finish(control);
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    const uint8_t *from = data;
    const uint16_t control = begin();
    for (uint32_t k = 0; k < bytes; k += UNIT) {
        const uintptr_t address = (uintptr_t)context + at + k;
        volatile uint32_t *to = (volatile uint32_t *)address;
        command(CLEAR_BUFFER);
        for (uint32_t i = 0; i < UNIT; i += 4, from += 4) {
            *to++ = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
                    (uint32_t)from[3] << 24;
        }
        ADDR = (uint32_t)address;
        command(WRITE_QUAD_WORD);
    }
    return finish(control);
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    uint8_t *to = data;
    const volatile uint8_t *from = (const volatile uint8_t *)context + at;
    (void)ECCERR; /* a read clears the flags */
    for (uint32_t k = 0; k < bytes; k++) {
        to[k] = from[k];
    }
    if (!(INTFLAG & DAMAGED)) {
        return 0;
    }
    forget(); /* the next read finds the damage again */
    return 1;
}

void ar_flash_samd51(ar_flash *flash, uint32_t address, uint32_t pages)
{
    *flash = (ar_flash){AR_SAMD51_BLOCK, pages, UNIT, erase, program, read, 0, (void *)(uintptr_t)address};
}
