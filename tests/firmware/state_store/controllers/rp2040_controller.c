/* What the functions of the boot ROM of an RP2040 do with its flash memory. The model enforces the rules: the order of the
 * functions, no interrupt and no read of flash while the memory works, pads that are put back, and one write of a unit
 * after an erasure. Whether the code is in RAM is not seen here: test_flash_rp2040.py looks at the compiled program. */
#include "controller.h"
#include <string.h>

static enum { READING, CONNECTED, COMMANDS, FLUSHED } state; /* how far the interface has come */
enum { FLASH_PAGE = 256, SECTOR = 4096, PADS = 6, PAD_AFTER_RESET = 0x56, PAD_OF_PROGRAM = 0x72 };

static const uintptr_t pads_at = 0x40020004, boot_at = 0x10000000;
static uint32_t interrupts_are_off;

static volatile uint32_t *word_at(uintptr_t at) { return (volatile uint32_t *)at; }

static void need(uint32_t wanted)
{
    if (state != wanted || !interrupts_are_off) {
        fail("a function of the ROM in state %u instead of %u, interrupts off %u", state, wanted,
             interrupts_are_off);
    }
}

static void connect(void)
{
    need(READING);
    open_registers();
    for (uint32_t k = 0; k < PADS; k++) {
        word_at(pads_at)[k] = PAD_AFTER_RESET;
    }
    close_registers();
    hide_memory();
    state = CONNECTED;
}

static void leave_xip(void)
{
    need(CONNECTED);
    state = COMMANDS;
}

static void flush(void)
{
    need(COMMANDS);
    model.is_stale = 0;
    state = FLUSHED;
}

static void erase(uint32_t at, uint32_t bytes, uint32_t block_bytes, uint32_t block_command)
{
    const uint32_t offset = at - (uint32_t)(APP_FLASH_ADDRESS - boot_at);
    need(COMMANDS);
    if (bytes != SECTOR || offset % SECTOR || block_bytes != 65536 || block_command != 0xD8) {
        fail("%u bytes are erased at %u", bytes, offset);
    }
    erase_page(offset / SECTOR);
    hide_memory();
}

static void program(uint32_t at, const uint8_t *data, uint32_t bytes)
{
    const uint32_t offset = at - (uint32_t)(APP_FLASH_ADDRESS - boot_at);
    need(COMMANDS);
    if (bytes != FLASH_PAGE || offset % FLASH_PAGE || offset >= BYTES) {
        fail("%u bytes are programmed at %u", bytes, offset);
    }
    for (uint32_t k = 0; k < FLASH_PAGE; k += UNIT) {
        uint32_t is_empty = 1;
        for (uint32_t i = 0; i < UNIT; i++) {
            is_empty &= data[k + i] == 0xFF;
        }
        if (!is_empty) {
            program_unit((offset + k) / UNIT, data + k);
        }
    }
    hide_memory();
}

uintptr_t rp2040_rom_function(uint32_t name)
{
    switch (name) {
    case 'I' | 'F' << 8:
        return (uintptr_t)connect;
    case 'E' | 'X' << 8:
        return (uintptr_t)leave_xip;
    case 'F' | 'C' << 8:
        return (uintptr_t)flush;
    case 'R' | 'E' << 8:
        return (uintptr_t)erase;
    case 'R' | 'P' << 8:
        return (uintptr_t)program;
    default:
        fail("the ROM has no function %x", name);
    }
}

uint32_t rp2040_disable_interrupts(void)
{
    const uint32_t old = interrupts_are_off;
    interrupts_are_off = 1;
    return old;
}

void rp2040_restore_interrupts(uint32_t old)
{
    open_registers();
    for (uint32_t k = 0; k < PADS; k++) {
        if (word_at(pads_at)[k] != PAD_OF_PROGRAM + k) {
            fail("pad %u was not put back", k);
        }
    }
    close_registers();
    if (state != READING) {
        fail("interrupts run while flash cannot be read");
    }
    interrupts_are_off = old;
}

/* The copy of the second stage, which turns reading on. */
void rp2040_run(const uint32_t *code)
{
    need(FLUSHED);
    for (uint32_t k = 0; k < 64; k++) {
        if (code[k] != 0xB0070000u + k) {
            fail("the second stage is not a copy");
        }
    }
    state = READING;
    close_memory();
}

void show_register(uintptr_t at)
{
    if (at < boot_at + SECTOR && state != READING) {
        fail("flash is read at %lx while it cannot be", (unsigned long)at);
    }
}

void register_accessed(uintptr_t at, uint32_t is_write, uint32_t old)
{
    (void)old;
    if (is_write && at < boot_at + SECTOR) {
        fail("flash is written at %lx", (unsigned long)at);
    }
}

void word_written(uintptr_t at, uint32_t old, uint32_t new)
{
    fail("flash is written at %lx: %x instead of %x", (unsigned long)at, new, old);
}

void memory_read(uintptr_t at) { fail("flash is read at %lx while it cannot be", (unsigned long)at); }

void controller_restart(void)
{
    open_registers();
    for (uint32_t k = 0; k < 64; k++) {
        word_at(boot_at)[k] = 0xB0070000u + k;
    }
    for (uint32_t k = 0; k < PADS; k++) {
        word_at(pads_at)[k] = PAD_OF_PROGRAM + k;
    }
    state = READING;
    interrupts_are_off = model.is_stale = 0;
    close_memory();
}
