/* A firmware for the tests of the boot loader. It says who it is, and does what the host's bytes ask:
 *
 *   W pair length(4) data  writes an image to slot 1, after it has erased the slot and prepared the update
 *   R pairs                asks for the installation
 *   C, J number            confirms, rejects
 *   D pair slot            damages the image in a slot: programs a word of its payload to zero
 *   H                      hangs
 *   Z                      resets the device
 *   S                      says again who it is */
#include "health.h"
#include "port.h"
#include "slots.h"
#include "update_layout.h"

#ifndef PROGRAM_HANGS
#define PROGRAM_HANGS 0
#endif

static ar_slots slots;
static ar_boot boot;

static void hang(void)
{
    for (;;) {
    }
}

/* Is called while the program waits for a byte. It waits without an access to a device: each access takes the lock that
 * the emulator needs to receive a byte. */
void health_alive(void)
{
    for (volatile uint32_t i = 0; i < 500; i++) {
    }
#ifdef PORT_WATCHDOG_MS
    port_watchdog_feed();
#endif
}

/* After a fault and the watchdog's interrupt: only a reset helps. */
void health_trapped(uint32_t code, uint32_t pc, uint32_t address, uint32_t trap)
{
    (void)code;
    (void)pc;
    (void)address;
    (void)trap;
    hang();
}

static void say(const char *text)
{
    while (*text != 0) {
        port_putc((uint8_t)*text++);
    }
}

static void say_number(const char *name, uint32_t number)
{
    char digits[11];
    uint32_t at = sizeof digits - 1;
    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    say(name);
    say(digits + at);
}

/* The first word of the model is its number. */
static void introduce(void)
{
    say_number("program ", PROGRAM_NUMBER);
    say_number(" model ", *(const volatile uint32_t *)(AR_UPDATE_MODEL_0_AT + AR_UPDATE_MODEL_HEADER));
    say_number(" phase ", ar_boot_phase(&boot));
    say_number(" outcome ", ar_boot_outcome(&boot));
    say_number(" reason ", ar_boot_reason(&boot));
    say_number(" counter ", ar_boot_counter(&boot, 0));
    say("\n");
}

static uint32_t number(uint32_t bytes)
{
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint32_t)port_getc() << 8 * i;
    }
    return value;
}

static void finish(int refused)
{
    int result = AR_STORE_BUSY;
    while (!refused && result == AR_STORE_BUSY) {
        result = ar_boot_step(&boot);
    }
    say(refused ? "refused\n" : result == AR_STORE_SAVED ? "done\n" : "failed\n");
}

static void write_image(void)
{
    const uint32_t pair = port_getc() & 1u, length = number(4);
    const ar_flash *slot = boot.pairs[pair].slots[1];
    const int refused = ar_boot_prepare(&boot);
    while (!refused && ar_boot_step(&boot) == AR_STORE_BUSY) {
    }
    for (uint32_t page = 0; page * slot->page_bytes < length; page++) {
        slot->erase(slot->context, page);
    }
    for (uint32_t at = 0; at < length; at += 4) {
        uint8_t word[4] = {0xFF, 0xFF, 0xFF, 0xFF};
        for (uint32_t i = 0; i < 4 && at + i < length; i++) {
            word[i] = port_getc();
        }
        slot->program(slot->context, at, word, 4);
    }
    say(refused ? "refused\n" : "done\n");
}

static void damage(void)
{
    const uint32_t pair = port_getc() & 1u, slot = port_getc() & 1u;
    const ar_flash *flash = boot.pairs[pair].slots[slot];
    const uint8_t zeros[4] = {0, 0, 0, 0};
    flash->program(flash->context, pair == 0 ? AR_UPDATE_FIRMWARE_HEADER + 8 : AR_UPDATE_MODEL_HEADER, zeros,
                   4);
    say("done\n");
}

int main(void)
{
    port_init();
    ar_slots_start(&slots, &boot);
    if (ar_boot_start(&boot) != 0) {
        say("no state\n");
    }
    introduce();
    if (PROGRAM_HANGS) {
        hang();
    }
    for (;;) {
        switch (port_getc()) {
        case 'W':
            write_image();
            break;
        case 'R':
            finish(ar_boot_request(&boot, port_getc()));
            break;
        case 'C':
            finish(ar_boot_confirm(&boot));
            break;
        case 'J':
            finish(ar_boot_reject(&boot, port_getc()));
            break;
        case 'D':
            damage();
            break;
        case 'H':
            hang();
            break;
        case 'Z':
            port_restart(PORT_REQUESTED);
            break;
        case 'S':
            introduce();
            break;
        default:
            say("unknown\n");
        }
    }
}
