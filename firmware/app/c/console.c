#include "console.h"

enum { BYTES = 512, RECEIVED = 32 }; /* BYTES is a power of two */

static uint8_t buffer[BYTES];
static uint32_t head, tail; /* bytes that were written, and bytes that were sent; both wrap at 32 bits */
static uint32_t end;        /* end of the line that is being written */
static uint32_t fits, dropped, told;
static char received[RECEIVED];
static uint32_t received_count, is_complete;

static void put(uint8_t byte)
{
    if (end - tail >= BYTES) {
        fits = 0;
    }
    if (fits) {
        buffer[end++ % BYTES] = byte;
    }
}

static void begin(void)
{
    end = head;
    fits = 1;
}

void console_text(const char *text)
{
    while (*text) {
        put((uint8_t)*text++);
    }
}

void console_decimal(uint64_t value, uint32_t digits)
{
    uint8_t text[21]; /* digits of the largest number, and a point */
    uint32_t count = 0, place = 0;
    do {
        if (place == digits && place) {
            text[count++] = '.';
        }
        text[count++] = (uint8_t)('0' + value % 10u);
        value /= 10u;
        place++;
    } while (value || place <= digits);
    while (count) {
        put(text[--count]);
    }
}

void console_number(uint64_t value) { console_decimal(value, 0); }

static uint32_t finish(void)
{
    put('\n');
    head = fits ? end : head;
    return fits;
}

void console_begin(void)
{
    if (dropped != told) {
        begin();
        console_number(dropped - told);
        console_text(dropped - told == 1 ? " line was dropped" : " lines were dropped");
        told = finish() ? dropped : told;
    }
    begin();
}

void console_end(void) { dropped += !finish(); }

uint32_t console_dropped(void) { return dropped; }

void console_poll(void)
{
    while (tail != head && console_port_put(buffer[tail % BYTES])) {
        tail++;
    }
    uint8_t byte;
    while (!is_complete && console_port_get(&byte)) {
        if (byte == '\n' || byte == '\r') {
            is_complete = received_count > 0;
        } else if (received_count < RECEIVED - 1) {
            received[received_count++] = (char)byte;
        }
    }
}

const char *console_received(void)
{
    if (!is_complete) {
        return 0;
    }
    received[received_count] = 0;
    received_count = 0;
    is_complete = 0;
    return received;
}
