/* A firmware for an nRF52840 in a model (nrf52_machine.py): it tells the model who it is, and does what the model asks. */
#include "port.h"
#include "slots.h"
#include "update_layout.h"

#define TEST(offset) (*(volatile uint32_t *)(uintptr_t)(0x4F000000u + (offset)))
#define IMAGES 0x60000000u
/* LIVE: install the images of the model, then confirm or reject them. */
enum { NOTHING, UPLOAD, CONFIRM, REJECT, RESET, LIVE_AND_CONFIRM, LIVE_AND_REJECT };

static ar_slots slots;
static ar_boot boot;

/* start_cortex_m.c restarts the chip after a fault. */
uint32_t port_ticks(void) { return 0; }
void port_init(void) {}

static void save(int is_refused)
{
    int result = AR_STORE_BUSY;
    while (!is_refused && result == AR_STORE_BUSY) {
        result = ar_boot_step(&boot);
    }
    TEST(0) = is_refused || result != AR_STORE_SAVED ? 0xBAD : 0x600D;
}

/* Copies the image of a pair to slot 1. `from`: its bytes as a word, then the image. Returns what is behind it. */
static const uint8_t *upload(uint32_t pair, const uint8_t *from)
{
    const ar_flash *slot = boot.pairs[pair].slots[1];
    const uint32_t bytes = *(const uint32_t *)from;
    for (uint32_t page = 0; page * slot->page_bytes < bytes; page++) {
        slot->erase(slot->context, page);
    }
    slot->program(slot->context, 0, from + 4, (bytes + 3u) & ~3u);
    return from + 4 + ((bytes + 3u) & ~3u);
}

static void install(void)
{
    save(ar_boot_prepare(&boot));
    upload(1, upload(0, (const uint8_t *)IMAGES));
    save(ar_boot_request(&boot, 3));
}

static void live(uint32_t is_good)
{
    if (ar_boot_phase(&boot) == AR_BOOT_TRIAL) {
        save(is_good ? ar_boot_confirm(&boot) : ar_boot_reject(&boot, 99));
    } else if (PROGRAM_NUMBER == 1 && ar_boot_outcome(&boot) != AR_BOOT_RETURNED) {
        install();
    }
}

int main(void)
{
    ar_slots_start(&slots, &boot);
    TEST(0) = PROGRAM_NUMBER;
    TEST(0) = *(const volatile uint32_t *)(AR_UPDATE_MODEL_0_AT + AR_UPDATE_MODEL_HEADER);
    TEST(0) = ar_boot_start(&boot) == 0 ? 0x600D : 0xBAD;
    TEST(0) = ar_boot_phase(&boot);
    TEST(0) = ar_boot_outcome(&boot);
    TEST(0) = ar_boot_reason(&boot);
    TEST(0) = ar_boot_counter(&boot, 0);
    switch (TEST(0x40)) {
    case UPLOAD:
        install();
        break;
    case CONFIRM:
        save(ar_boot_confirm(&boot));
        break;
    case REJECT:
        save(ar_boot_reject(&boot, 99));
        break;
    case RESET:
        port_restart(PORT_REQUESTED);
        break;
    case LIVE_AND_CONFIRM:
        live(1);
        break;
    case LIVE_AND_REJECT:
        live(0);
        break;
    default:
        break;
    }
    TEST(0x44) = 1;
    for (;;) {
    }
}
