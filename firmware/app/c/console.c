#include "console.h"

enum { BYTES = 512, RECEIVED = 32, HEADER = 4 }; /* BYTES is a power of two */

static uint8_t buffer[BYTES];
static uint32_t head, tail; /* bytes that were written, and bytes that were sent; both wrap at 32 bits */
static uint32_t end;        /* end of the line or frame that is being written */
static uint32_t fits, dropped, told;
static uint32_t uses_frames; /* lines are sent as frames */
static uint32_t is_frame;    /* a frame is being written */
static uint32_t code_at, length, crc;
static uint32_t number, dropped_frames; /* frames so far: all of them, and those that were dropped */
static char received[RECEIVED];
static uint32_t received_count, is_complete;

static void store(uint32_t byte)
{
    if (end - tail >= BYTES) {
        fits = 0;
    }
    if (fits) {
        buffer[end++ % BYTES] = (uint8_t)byte;
    }
}

/* Appends a byte to a frame with consistent overhead byte stuffing: each run of bytes other than zero follows its
 * length plus one. A frame is shorter than 254 bytes, so no run is. */
static void store_stuffed(uint32_t byte)
{
    if (byte) {
        store(byte);
        return;
    }
    const uint32_t run = end - code_at;
    if (fits) {
        buffer[code_at % BYTES] = (uint8_t)run;
    }
    code_at = end;
    store(0);
}

static void put(uint32_t byte)
{
    /* CRC-32 of four bits at a time: a table of 64 bytes, and a tenth of the time that single bits take. */
    static const uint32_t table[16] = {
        0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u,
        0x4DB26158u, 0x5005713Cu, 0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu,
        0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu,
    };
    if (!is_frame) {
        store(byte);
        return;
    }
    fits &= (uint32_t)(length++ < HEADER + CONSOLE_FRAME_DATA);
    crc ^= byte;
    crc = crc >> 4 ^ table[crc & 15u];
    crc = crc >> 4 ^ table[crc & 15u];
    store_stuffed(byte);
}

static void begin(void)
{
    end = head;
    fits = 1;
    is_frame = 0;
}

void console_value(uint64_t value, uint32_t bytes)
{
    for (; bytes; bytes--, value >>= 8) {
        put((uint32_t)value & 0xFFu);
    }
}

void console_bytes(const void *data, uint32_t count)
{
    for (const uint8_t *bytes = data; count; count--) {
        put(*bytes++);
    }
}

void console_frame(uint32_t type, uint32_t format)
{
    begin();
    store(0);
    code_at = end;
    store(0);
    is_frame = 1;
    length = 0;
    crc = UINT32_MAX;
    console_value(type | format << 8 | number << 16, HEADER);
    number++;
}

void console_drop_frame(void)
{
    number++;
    dropped_frames++;
}

void console_text(const char *text)
{
    while (*text) {
        put((uint8_t)*text++);
    }
}

uint64_t console_divide(uint64_t value, uint64_t divisor)
{
    uint64_t rest = 0;
    if ((value | divisor) <= UINT32_MAX) {
        return (uint32_t)value / (uint32_t)divisor;
    }
    /* The quotient takes the place of the bits that move into the rest. */
    for (uint32_t k = 0; k < 64; k++) {
        rest = rest << 1 | value >> 63;
        value <<= 1;
        if (rest >= divisor) {
            rest -= divisor;
            value |= 1u;
        }
    }
    return value;
}

void console_decimal(uint64_t value, uint32_t digits)
{
    uint8_t text[21]; /* digits of the largest number, and a point */
    uint32_t count = 0, place = 0;
    do {
        if (place == digits && place) {
            text[count++] = '.';
        }
        const uint64_t quotient = console_divide(value, 10);
        text[count++] = (uint8_t)('0' + (uint32_t)value - 10u * (uint32_t)quotient);
        value = quotient;
        place++;
    } while (value || place <= digits);
    while (count) {
        put(text[--count]);
    }
}

void console_number(uint64_t value) { console_decimal(value, 0); }

void console_count(uint64_t value, const char *text)
{
    console_number(value);
    console_text(text);
}

void console_time(uint64_t milliseconds)
{
    console_text("[");
    console_decimal(milliseconds, 3);
    console_text(" s] ");
}

static uint32_t finish(void)
{
    if (is_frame) {
        uint32_t check = ~crc;
        for (uint32_t k = 0; k < 4; k++, check >>= 8) {
            store_stuffed(check & 0xFFu);
        }
        store_stuffed(
            0); /* ends the last run, with the zero byte that ends the frame in place of another length */
    } else {
        store('\n');
    }
    head = fits ? end : head;
    return fits;
}

void console_begin(void)
{
    if (uses_frames) {
        console_frame(CONSOLE_TEXT, 0);
        return;
    }
    if (dropped != told) {
        begin();
        console_count(dropped - told, dropped - told == 1 ? " line was dropped" : " lines were dropped");
        told = finish() ? dropped : told;
    }
    begin();
}

void console_end(void)
{
    const uint32_t is_dropped = !finish();
    dropped_frames += is_dropped & is_frame;
    dropped += is_dropped & !is_frame;
}

void console_note(const char *text)
{
    console_begin();
    console_text(text);
    console_end();
}

void console_use_frames(uint32_t uses) { uses_frames = uses; }

uint32_t console_uses_frames(void) { return uses_frames; }

uint32_t console_room(void) { return BYTES - (head - tail); }

uint32_t console_dropped(void) { return dropped; }

uint32_t console_dropped_frames(void) { return dropped_frames; }

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

uint32_t console_is_equal(const char *text, const char *expected)
{
    while (*text && *text == *expected) {
        text++;
        expected++;
    }
    return *text == *expected;
}
