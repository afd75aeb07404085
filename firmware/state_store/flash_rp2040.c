#include "flash_rp2040.h"

#define FLASH_FIRST 0x10000000u
#define PADS_FIRST 0x40020004u /* the registers of the six pads of the flash memory */
enum { UNIT = 16, FLASH_PAGE = 256, BLOCK = 65536, BLOCK_ERASE = 0xD8, PADS = 6, BOOT_WORDS = 64 };
/* The names of functions of the boot ROM (RP2040 data sheet, boot ROM contents). */
#define NAME(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

typedef void (*simple_function)(void);
typedef void (*erase_function)(uint32_t at, uint32_t bytes, uint32_t block_bytes, uint32_t block_command);
typedef void (*program_function)(uint32_t at, const uint8_t *data, uint32_t bytes);

#if defined(AR_FLASH_MODEL)
/* A model of the chip has these functions, for tests on a computer. */
uintptr_t rp2040_rom_function(uint32_t name);
uint32_t rp2040_disable_interrupts(void);
void rp2040_restore_interrupts(uint32_t state);
void rp2040_run(const uint32_t *code);
#define IN_RAM
#else
#if defined(__arm__)
/* No constant of this function may be in flash, and it calls functions in ROM and RAM only. */
#define IN_RAM __attribute__((noinline, long_call, section(".time_critical.ar_flash")))
static inline uint32_t rp2040_disable_interrupts(void)
{
    uint32_t state;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(state)::"memory");
    return state;
}
static inline void rp2040_restore_interrupts(uint32_t state)
{
    __asm__ volatile("msr primask, %0" ::"r"(state) : "memory");
}
#else
/* The library is compiled for other processors too, where nothing calls this driver. */
#define IN_RAM
static inline uint32_t rp2040_disable_interrupts(void) { return 0; }
static inline void rp2040_restore_interrupts(uint32_t state) { (void)state; }
#endif
static uintptr_t rp2040_rom_function(uint32_t name)
{
    typedef uintptr_t (*lookup_function)(const uint16_t *table, uint32_t name);
    const volatile uint16_t *rom = (const volatile uint16_t *)0;
    /* Half words at 0x14 and 0x18 are the addresses of the table of functions, and of the function that searches it. The
     * compiler must not see that the pointer is 0. */
    __asm__("" : "+r"(rom));
    const lookup_function lookup = (lookup_function)(uintptr_t)rom[0x18 / 2];
    return lookup((const uint16_t *)(uintptr_t)rom[0x14 / 2], name);
}
/* Runs Thumb code. */
static inline void rp2040_run(const uint32_t *code) { ((simple_function)((uintptr_t)code + 1))(); }
#endif

static struct {
    simple_function connect, leave_xip, flush;
    erase_function erase;
    program_function program;
    uint32_t boot[BOOT_WORDS]; /* the code that turns reading on */
} rom;

/* Erases the sector at offset `at` of the memory, or programs a page if there are `data`, which must be in RAM. */
static void IN_RAM work(uint32_t at, const uint8_t *data)
{
    volatile uint32_t *const pads = (volatile uint32_t *)(uintptr_t)PADS_FIRST;
    uint32_t kept[PADS];
    const uint32_t interrupts = rp2040_disable_interrupts();
    for (uint32_t k = 0; k < PADS; k++) {
        kept[k] = pads[k];
    }
    rom.connect(); /* from here on, flash cannot be read */
    rom.leave_xip();
    if (data) {
        rom.program(at, data, FLASH_PAGE);
    } else {
        rom.erase(at, AR_RP2040_SECTOR, BLOCK, BLOCK_ERASE);
    }
    rom.flush(); /* it also gives the chip select back */
    rp2040_run(rom.boot);
    for (uint32_t k = 0; k < PADS; k++) {
        pads[k] = kept[k];
    }
    rp2040_restore_interrupts(interrupts);
}

/* Returns the offset of the first sector in the memory. */
static uint32_t first(const void *context) { return (uint32_t)(uintptr_t)context - FLASH_FIRST; }

static int erase(void *context, uint32_t page)
{
    work(first(context) + page * AR_RP2040_SECTOR, 0);
    return 0;
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    uint8_t page[FLASH_PAGE];
    for (uint32_t done = 0; done < bytes; done += UNIT) {
        const uint32_t from = (at + done) % FLASH_PAGE;
        for (uint32_t k = 0; k < FLASH_PAGE; k++) {
            page[k] = k - from < UNIT ? ((const uint8_t *)data)[done + k - from] : 0xFF;
        }
        work(first(context) + at + done - from, page);
    }
    return 0;
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

void ar_flash_rp2040(ar_flash *flash, uint32_t address, uint32_t pages)
{
    const volatile uint32_t *boot = (const volatile uint32_t *)(uintptr_t)FLASH_FIRST;
    rom.connect = (simple_function)rp2040_rom_function(NAME('I', 'F'));
    rom.leave_xip = (simple_function)rp2040_rom_function(NAME('E', 'X'));
    rom.flush = (simple_function)rp2040_rom_function(NAME('F', 'C'));
    rom.erase = (erase_function)rp2040_rom_function(NAME('R', 'E'));
    rom.program = (program_function)rp2040_rom_function(NAME('R', 'P'));
    for (uint32_t k = 0; k < BOOT_WORDS; k++) {
        rom.boot[k] = boot[k];
    }
    *flash = (ar_flash){AR_RP2040_SECTOR, pages, UNIT, erase, program, read, 0, (void *)(uintptr_t)address};
}
