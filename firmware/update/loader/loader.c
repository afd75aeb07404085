/* The boot loader: finishes an update that was begun, and runs the firmware of slot 0. It stays silent unless no image
 * may run. */
#include "loader.h"

#include "health.h"
#include "loader_settings.h"
#include "port.h"
#include "slots.h"
#include "update_layout.h"

/* The number of messages after which the loader starts again, because the memory may only have been disturbed. */
enum { MESSAGES = 200, MESSAGE_MS = 3000 };

static const uint8_t public_key[] = AR_LOADER_KEY;
static ar_slots slots;
static ar_boot boot;

static void say(const char *text)
{
    while (*text != 0) {
        port_putc((uint8_t)*text++);
    }
}

static void say_number(uint32_t number)
{
    if (number >= 10) {
        say_number(number / 10);
    }
    port_putc((uint8_t)('0' + number % 10));
}

/* Says for both images of a pair why they may not run. */
static void say_pair(const char *name, uint32_t pair)
{
    say(name);
    for (uint32_t slot = 0; slot < 2; slot++) {
        ar_boot_image image;
        say(" ");
        say_number((uint32_t)ar_slots_check(&slots, pair, slot, ar_boot_counter(&boot, pair), &image));
    }
}

static void explain(int choice)
{
    say(choice == AR_BOOT_NOTHING ? "arenite loader: no images may run together: slots"
                                  : "arenite loader: the flash memory failed: slots");
    say_pair(" firmware", AR_SLOTS_FIRMWARE);
    say_pair(", model", AR_SLOTS_MODEL);
    say("\r\n");
}

int main(void)
{
    ar_slots_start(&slots, &boot);
    slots.public_key = public_key;
    slots.board = AR_LOADER_BOARD;
    boot.check = ar_slots_check;
    const int choice = ar_boot_start(&boot) != 0 ? AR_BOOT_FAILED : ar_boot_choose(&boot);
    if (choice == AR_BOOT_RUN_TRIAL) {
        port_watchdog_start();
    }
    if (choice == AR_BOOT_RUN || choice == AR_BOOT_RUN_TRIAL) {
        loader_run(AR_UPDATE_FIRMWARE_0_AT + AR_UPDATE_FIRMWARE_HEADER);
    }
    port_init(); /* not before: a firmware expects its serial port and timers as a reset leaves them */
    for (uint32_t i = 0; i < MESSAGES; i++) {
        explain(choice);
        const uint32_t start = port_ticks();
        while (port_ticks() - start < MESSAGE_MS * PORT_TICKS_PER_MS) {
        }
    }
    port_restart(PORT_REQUESTED);
}
