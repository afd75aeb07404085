/* Connects the program of update_main.c with updates over the serial port (device.h) and with the memories of the board
 * (slots.h). The watchdog runs if the images are on trial: the boot loader has started it, or, on a board with
 * AR_UPDATE_PARTITIONS, memories_start. */
#include "update_glue.h"

#include "device.h"
#include "health.h"
#include "port.h"
#include "program.h"
#ifdef AR_AGENT
#include "agent_glue.h"
#endif

#ifdef AR_UPDATE_PARTITIONS
#include "esp_memories.h"
#define OTHER_MEMORIES "impossible: other partitions, or a firmware that does not start\n"
static int memories_suit(void) { return 0; }
#else
#include "loader_functions.h"
#include "slots.h"
#define OTHER_MEMORIES "impossible: the boot loader is another one\n"
static ar_slots slots;

static int memories_suit(void) { return loader_has_functions(); }

static int memories_start(ar_boot *memories)
{
    if (!memories_suit()) {
        return 0;
    }
    ar_slots_start(&slots, memories);
    return 1;
}

static int memories_are_on_trial(void) { return 1; }

static int memories_confirm(void) { return 0; }
#endif

static ar_update_board board;
static ar_update update;
static uint8_t is_broken; /* 1: the memories do not work, and every byte is text */

/* The ports call these functions of health.h. */
void health_alive(void)
{
    port_watchdog_feed();
#ifdef AR_AGENT
    agent_glue_tick();
#endif
}

void health_trapped(uint32_t code, uint32_t pc, uint32_t address, uint32_t trap)
{
    (void)code;
    (void)pc;
    (void)address;
    (void)trap;
}

static int put(void *context, uint8_t byte)
{
    (void)context;
    port_putc(byte);
    return 1;
}

static void take_text(void *context, uint8_t byte)
{
    (void)context;
    update_text(byte);
}

void update_glue_start(void)
{
    ar_boot memories;
    if (!memories_start(&memories)) {
        is_broken = 1;
        return;
    }
    board.board = PROGRAM_BOARD;
    board.pair_count = memories.pair_count;
    for (uint32_t i = 0; i < memories.pair_count; i++) {
        board.pairs[i] = memories.pairs[i];
    }
    board.state = memories.state;
    board.put = put;
    board.text = take_text;
    is_broken = (uint8_t)(ar_update_start(&update, &board) != 0);
#ifdef AR_AGENT
    agent_glue_connect(&update);
#endif
}

void update_glue_judge(uint32_t result)
{
    if (is_broken || !ar_update_is_trial(&update) || !memories_are_on_trial()) {
        return;
    }
    if (result == 0) {
        if (memories_confirm() == 0) {
            ar_update_confirm(&update);
        }
    } else {
        ar_update_reject(&update, result);
    }
}

void update_glue_report(void)
{
    static const char *const outcomes[] = {"none", "confirmed", "refused", "returned", "repaired", "kept"};
    const uint32_t outcome = ar_boot_outcome(&update.boot);
    update_print("update ");
    if (is_broken) {
        update_print(memories_suit() ? "impossible: the flash memory does not work\n" : OTHER_MEMORIES);
        return;
    }
    if (ar_update_is_trial(&update)) {
        update_print("on trial\n");
        return;
    }
    update_print(outcome < sizeof outcomes / sizeof *outcomes ? outcomes[outcome] : "unknown");
    if (ar_boot_reason(&update.boot)) {
        update_print(", reason ");
        update_print_number(ar_boot_reason(&update.boot));
    }
    update_print("\n");
}

void update_glue_serve(void)
{
    const int result = is_broken ? AR_SMP_IDLE : ar_update_step(&update);
    health_alive();
    if (result == AR_SMP_RESET) {
        port_restart(PORT_REQUESTED);
    }
    if (result != AR_SMP_IDLE) {
        return;
    }
    const uint8_t byte = port_getc();
    if (is_broken) {
        update_text(byte);
    } else {
        ar_update_receive(&update, byte);
    }
}
