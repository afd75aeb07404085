/* The port of the firmware (port.h) for a fuzz target. */
#include "serial_port.h"

#include "memory_watch.h"
#include "port.h"

/* An input may request four billion inferences. The firmware reads the tick counter in each inference, so the target
 * ends an input after this number of reads. */
#define MAX_TICKS 20000u

jmp_buf serial_end;
uint32_t port_reason;
uint32_t port_tick_hz = 25000000u;

static const uint8_t *incoming;
static size_t left; /* number of bytes of incoming that the firmware has not read */
static uint32_t ticks_left;

void serial_receive(const uint8_t *data, size_t size)
{
    incoming = data;
    left = size;
    ticks_left = MAX_TICKS;
}

uint8_t port_getc(void)
{
    if (left == 0) {
        longjmp(serial_end, 1);
    }
    left--;
    return *incoming++;
}

void port_putc(uint8_t byte) { serial_sent(byte); }

uint32_t port_ticks(void)
{
    static uint32_t now;
    if (ticks_left-- == 0) {
        longjmp(serial_end, 1);
    }
    return now += 0x01234567u; /* wraps often */
}

void port_restart(uint32_t reason)
{
    port_reason = PORT_REASON_MAGIC | reason;
    longjmp(serial_end, 1);
}

uint32_t ar_stack_bytes(void) { return 2048; }

uint32_t ar_stack_used(void) { return 100; }
