/* Connects the program of update_main.c with updates over the serial port (device.h) and with the memories of the board
 * (slots.h). The boot loader has started the watchdog if the images are on trial. */
#include "update_glue.h"

#include "device.h"
#include "health.h"
#include "loader_functions.h"
#include "port.h"
#include "program.h"
#include "slots.h"
#ifdef AR_AGENT
#include "agent_glue.h"
#endif

static ar_slots slots;
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
    board.put = put;
    board.text = take_text;
    is_broken = (uint8_t)(ar_update_start(&update, &board) != 0);
#ifdef AR_AGENT
    agent_glue_connect(&update);
#endif
}

void update_glue_judge(uint32_t result)
{
    if (is_broken || !ar_update_is_trial(&update)) {
        return;
    }
    if (result == 0) {
        ar_update_confirm(&update);
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
        update_print(loader_has_functions() ? "impossible: the flash memory does not work\n"
                                            : "impossible: the boot loader is another one\n");
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
