/* Connects an application with updates over its serial port (device.h) and with the memories of the board (slots.h). The
 * boot loader has started the watchdog if the images are on trial.
 *
 * This file includes no header that is generated from the model: its code must be the same for another model of the same
 * graph, whose constants are in the slot of the model. */
#include "app_update.h"

#include "console.h"
#include "device.h"
#include "health.h"
#include "loader_functions.h"
#include "port.h"
#include "program.h"
#include "self_test.h"
#include "shared_port.h"
#include "slots.h"

extern const ar_model model_model;
extern const ar_golden golden;

static ar_slots slots;
static ar_update_board board;
static ar_update update;
static uint8_t is_broken; /* 1: the memories do not work, and every byte is text */
static uint32_t result;   /* of the self-test */

static void connect(void)
{
    ar_boot memories;
    if (!loader_has_functions()) {
        is_broken = 1;
        return;
    }
    ar_slots_start(&slots, &memories);
    board.board = PROGRAM_BOARD;
    board.pair_count = memories.pair_count;
    for (uint32_t i = 0; i < memories.pair_count; i++) {
        board.pairs[i] = memories.pairs[i];
    }
    board.state = memories.state;
    board.put = shared_port_put;
    board.text = shared_port_text;
    is_broken = (uint8_t)(ar_update_start(&update, &board) != 0);
    shared_port_connect(is_broken ? 0 : &update);
}

static void print_hex(const uint8_t *bytes, uint32_t count)
{
    for (uint32_t i = 0; i < 2 * count; i++) {
        const char digit[2] = {"0123456789abcdef"[bytes[i / 2] >> (i & 1u ? 0 : 4) & 15u], 0};
        console_text(digit);
    }
}

static void print_outcome(void)
{
    static const char *const outcomes[] = {"none", "confirmed", "refused", "returned", "repaired", "kept"};
    const uint32_t outcome = ar_boot_outcome(&update.boot);
    console_text("update ");
    if (is_broken) {
        console_text(loader_has_functions() ? "impossible: the flash memory does not work"
                                            : "impossible: the boot loader is another one");
        return;
    }
    if (ar_update_is_trial(&update)) {
        console_text("on trial");
        return;
    }
    console_text(outcome < sizeof outcomes / sizeof *outcomes ? outcomes[outcome] : "unknown");
    if (ar_boot_reason(&update.boot)) {
        console_text(", reason ");
        console_number(ar_boot_reason(&update.boot));
    }
}

static void report(void)
{
    static const uint8_t graph[] = PROGRAM_GRAPH;
    console_note("board " PROGRAM_BOARD);
    console_begin();
    console_text("graph ");
    print_hex(graph, sizeof graph);
    console_end();
    console_begin();
    console_text("model ");
    print_hex(model_model.hash, sizeof model_model.hash);
    console_text(" ");
    console_text(model_model.name);
    console_end();
    console_begin();
    print_outcome();
    console_end();
    console_begin();
    if (result == AR_SELF_TEST_PASSED) {
        console_text("self-test ");
        console_count(golden.count, " samples passed");
    } else {
        console_text("self-test failed with ");
        console_number(result);
    }
    console_end();
}

/* Saves that the images on trial have failed, and resets the device. If the save fails, nothing feeds the watchdog, which
 * resets the device: the boot loader puts the old images back after some starts. */
static void __attribute__((noreturn)) reject(void)
{
    ar_update_reject(&update, result);
    while (ar_update_step(&update) != AR_SMP_RESET) {
        console_poll();
    }
    port_restart(PORT_REQUESTED);
}

void app_update_start(void)
{
    connect();
    result = ar_self_test(&model_model, &golden, port_watchdog_feed);
    report();
    if (is_broken || !ar_update_is_trial(&update)) {
        return;
    }
    if (result != AR_SELF_TEST_PASSED) {
        reject();
    }
    ar_update_confirm(&update);
}

void app_update_serve(void)
{
    port_watchdog_feed();
    shared_port_serve();
}

uint32_t app_update_command(const char *command)
{
    const uint32_t is_known = console_is_equal(command, "update");
    if (is_known) {
        report();
    }
    return is_known;
}
