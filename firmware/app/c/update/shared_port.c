#include "shared_port.h"

#include "console.h"
#include "port.h"
#include "sensor.h"

enum { STEPS = 128, TEXT_BYTES = 64, POLL_MS = 10 };        /* TEXT_BYTES is a power of two */
enum { BETWEEN_TURNS_MS = 20, QUIET_MS = 1, TURNS_MS = 4 }; /* of a loop that does not wait */
enum { BETWEEN, IN_LINE, IN_FRAME };

static ar_update *updates;
static uint8_t text[TEXT_BYTES]; /* received bytes that belong to no frame */
static uint32_t head, tail;      /* bytes that were written and read; both wrap at 32 bits */
static uint32_t place;           /* of the last byte that the application sent */
static uint32_t is_active, last; /* the port was used, at this time in ticks */
static uint32_t last_turn;       /* when work for updates was done, in ticks */

void shared_port_connect(ar_update *update) { updates = update; }

uint32_t console_port_put(uint8_t byte)
{
    if (place == BETWEEN && updates && ar_update_is_in_line(updates)) {
        return 0;
    }
    if (!board_port_put(byte)) {
        return 0;
    }
    /* A frame begins and ends with a zero byte, and a line ends with a newline. */
    if (place == IN_FRAME) {
        place = byte ? IN_FRAME : BETWEEN;
    } else if (place == BETWEEN && byte == 0) {
        place = IN_FRAME;
    } else {
        place = byte == '\n' ? BETWEEN : IN_LINE;
    }
    return 1;
}

uint32_t console_port_get(uint8_t *byte)
{
    if (!updates) {
        return board_port_get(byte);
    }
    if (head == tail) {
        return 0;
    }
    *byte = text[tail++ % TEXT_BYTES];
    return 1;
}

int shared_port_put(void *context, uint8_t byte)
{
    (void)context;
    return place == BETWEEN && board_port_put(byte);
}

void shared_port_text(void *context, uint8_t byte)
{
    (void)context;
    if (head - tail < TEXT_BYTES) { /* a command is shorter, and the loop reads the one before it soon */
        text[head++ % TEXT_BYTES] = byte;
    }
}

/* Takes a byte from the port, sends one, or does a part of the work of an action. Returns whether there may be more to do at
 * once. */
static uint32_t step(void)
{
    const int result = updates ? ar_update_step(updates) : AR_SMP_IDLE;
    uint8_t byte;
    if (result == AR_SMP_RESET) {
        port_restart(PORT_REQUESTED);
    }
    if (result == AR_SMP_IDLE) {
        if (!updates || !board_port_get(&byte)) {
            return 0;
        }
        ar_update_receive(updates, byte);
    }
    is_active = 1;
    last = port_ticks();
    return result != AR_SMP_WAITING;
}

static void take_turn(void)
{
    for (uint32_t k = 0; k < STEPS && step(); k++) {
    }
    last_turn = port_ticks();
}

static uint32_t is_within(uint32_t since, uint32_t ms)
{
    return port_ticks() - since < ms * PORT_TICKS_PER_MS;
}

void shared_port_serve(void)
{
    const uint32_t begin = port_ticks();
    if (is_within(last_turn, BETWEEN_TURNS_MS)) {
        return;
    }
    /* The port has room for one byte, so a single turn would take one byte of many. */
    do {
        take_turn();
    } while (is_active && is_within(last, QUIET_MS) && is_within(begin, TURNS_MS));
}

/* While an update arrives, the processor does not sleep: the port has room for one byte, and many arrive in a
 * millisecond. */
void sensor_wait(void)
{
    take_turn();
    is_active &= is_within(last, POLL_MS);
    if (!is_active) {
        board_wait();
    }
}
