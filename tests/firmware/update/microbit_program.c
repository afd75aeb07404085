/* A firmware for the emulated micro:bit whose updates are cut. The host stops it in the functions below through the
 * emulator's debugger, gives it an order, and lets it go on. */
#include "health.h"
#include "port.h"
#include "slots.h"
#include "update_layout.h"

enum { ORDER_RESET, ORDER_UPDATE, ORDER_CONFIRM, ORDER_REJECT };
enum { CHUNK = 64, MODEL_AT = 6144 };

/* The host writes orders and images, and reads reports. */
volatile uint32_t orders[3]
    __attribute__((section(".noinit.orders"))); /* the order, and the bytes of two images */
volatile uint32_t report[6]; /* program, model, phase, outcome, reason, result of ar_boot_start */
uint8_t images[MODEL_AT + 2048] __attribute__((section(".noinit.images"), aligned(4)));

static ar_slots slots;
static ar_boot boot;
void ready(void);
void done(void);

void health_alive(void) {}

void health_trapped(uint32_t code, uint32_t pc, uint32_t address, uint32_t trap)
{
    (void)code;
    (void)pc;
    (void)address;
    (void)trap;
}

__attribute__((noinline)) void ready(void) { __asm__ volatile("nop"); }
__attribute__((noinline)) void done(void) { __asm__ volatile("nop"); }

static int finish(int refused)
{
    int result = AR_STORE_BUSY;
    while (!refused && result == AR_STORE_BUSY) {
        result = ar_boot_step(&boot);
    }
    return !refused && result == AR_STORE_SAVED;
}

static void write_slot(uint32_t pair)
{
    const ar_flash *slot = boot.pairs[pair].slots[1];
    const uint32_t bytes = orders[1 + pair];
    const uint8_t *image = images + pair * MODEL_AT;
    for (uint32_t page = 0; page * slot->page_bytes < bytes; page++) {
        slot->erase(slot->context, page);
    }
    for (uint32_t at = 0; at < bytes; at += CHUNK) {
        slot->program(slot->context, at, image + at, CHUNK);
    }
}

int main(void)
{
    ar_slots_start(&slots, &boot);
    report[5] = (uint32_t)ar_boot_start(&boot);
    report[0] = PROGRAM_NUMBER;
    report[1] = *(const volatile uint32_t *)(AR_UPDATE_MODEL_0_AT + AR_UPDATE_MODEL_HEADER);
    report[2] = ar_boot_phase(&boot);
    report[3] = ar_boot_outcome(&boot);
    report[4] = ar_boot_reason(&boot);
    ready();
    int is_done = 1;
    if (orders[0] == ORDER_UPDATE) {
        is_done = finish(ar_boot_prepare(&boot));
        if (is_done) {
            write_slot(AR_SLOTS_FIRMWARE);
            write_slot(AR_SLOTS_MODEL);
            is_done = finish(ar_boot_request(&boot, 3));
        }
    } else if (orders[0] == ORDER_CONFIRM) {
        is_done = finish(ar_boot_confirm(&boot));
    } else if (orders[0] == ORDER_REJECT) {
        is_done = finish(ar_boot_reject(&boot, 7));
    }
    report[5] = (uint32_t)is_done;
    done();
    port_restart(PORT_REQUESTED);
}
