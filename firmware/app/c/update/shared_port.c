#include "shared_port.h"

#include "console.h"
#include "port.h"
#include "sensor.h"

enum { STEPS = 32, TEXT_BYTES = 64, POLL_MS = 10 }; /* TEXT_BYTES is a power of two */
enum { BETWEEN, IN_LINE, IN_FRAME };

static ar_update *updates;
static uint8_t text[TEXT_BYTES]; /* received bytes that belong to no frame */
static uint32_t head, tail;      /* bytes that were written and read; both wrap at 32 bits */
static uint32_t place;           /* of the last byte that the application sent */
static uint32_t is_active, last; /* the port was used for updates, at this time in ticks */

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

int shared_port_serve(void)
{
    for (uint32_t k = 0; updates && k < STEPS; k++) {
        const int result = ar_update_step(updates);
        uint8_t byte;
        if (result == AR_SMP_RESET) {
            return 1;
        }
        if (result == AR_SMP_IDLE) {
            if (!board_port_get(&byte)) {
                return 0;
            }
            ar_update_receive(updates, byte);
        }
        is_active = 1;
        last = port_ticks();
        if (result == AR_SMP_WAITING) {
            return 0; /* an action did a part of its work */
        }
    }
    return 0;
}

/* Does not sleep while an update arrives: the port has room for one byte, and many arrive in a millisecond. */
void sensor_wait(void)
{
    is_active &= (uint32_t)(port_ticks() - last < POLL_MS * PORT_TICKS_PER_MS);
    if (!is_active) {
        board_wait();
    }
}
