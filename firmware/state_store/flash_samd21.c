#include "flash_samd.h"

#define NVMCTRL(type, offset) (*(volatile type *)(uintptr_t)(0x41004000u + (offset)))
#define CTRLA NVMCTRL(uint16_t, 0x00u)
#define CTRLB NVMCTRL(uint32_t, 0x04u)
#define INTFLAG NVMCTRL(uint8_t, 0x14u)
#define STATUS NVMCTRL(uint16_t, 0x18u)
#define ADDR NVMCTRL(uint32_t, 0x1Cu) /* in units of 2 bytes */
enum {
    UNIT = 32,
    KEY = 0xA500,
    ERASE_ROW = 0x02,
    WRITE_PAGE = 0x04,
    CLEAR_BUFFER = 0x44,
    INVALIDATE_CACHE = 0x46,
    MANUAL_WRITE = 1 << 7,
    READY = 1 << 0,
    PROBLEMS = 0x1C /* PROGE, LOCKE, NVME */
};

static void command(uint32_t name)
{
    CTRLA = (uint16_t)(KEY | name);
    while (!(INTFLAG & READY)) {
    }
}

static void begin(void)
{
    CTRLB |= MANUAL_WRITE; /* after a reset, the last word of a page would begin a write */
    STATUS = PROBLEMS;     /* ones clear them */
}

/* Makes the controller forget what the processor read before. Returns what failed. */
static int finish(void)
{
    const int problems = (STATUS & PROBLEMS) != 0;
    command(INVALIDATE_CACHE);
    return problems;
}

static int erase(void *context, uint32_t page)
{
    begin();
    ADDR = (uint32_t)((uintptr_t)context + page * AR_SAMD21_ROW) / 2;
    command(ERASE_ROW);
    return finish();
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    const uint8_t *from = data;
    begin();
    for (uint32_t k = 0; k < bytes; k += UNIT) {
        const uintptr_t address = (uintptr_t)context + at + k;
        volatile uint32_t *to = (volatile uint32_t *)address;
        command(CLEAR_BUFFER); /* the rest of the page is written as ones, which leave it as it is */
        for (uint32_t i = 0; i < UNIT; i += 4, from += 4) {
            *to++ = (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
                    (uint32_t)from[3] << 24;
        }
        ADDR = (uint32_t)address / 2;
        command(WRITE_PAGE);
    }
    return finish();
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    uint8_t *to = data;
    const volatile uint8_t *from = (const volatile uint8_t *)context + at;
    for (uint32_t k = 0; k < bytes; k++) {
        to[k] = from[k];
    }
    return 0;
}

void ar_flash_samd21(ar_flash *flash, uint32_t address, uint32_t pages)
{
    *flash = (ar_flash){AR_SAMD21_ROW, pages, UNIT, erase, program, read, 0, (void *)(uintptr_t)address};
}
