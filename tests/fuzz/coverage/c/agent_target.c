/* Fuzz target: the agent receives bytes from a hostile host. Built with the toy model, and with a model that takes its
 * input row by row.
 *
 * If the first byte of the fuzzer's input is even, the other bytes go to the serial port as they are. If it is odd, they
 * are a list of requests, each after a byte with its length. This program then adds the CRC and the COBS frame of each
 * request, because a fuzzer cannot guess a CRC. */
#include <string.h>

#include "agent.h"
#include "memory_watch.h"
#include "port.h"
#include "serial_port.h"
#include "target.h"

/* Sizes in bytes: of all bytes that the agent receives, and of one framed reply. */
#define MAX_STREAM 8192u
#define MAX_REPLY 300u

static uint8_t stream[MAX_STREAM];
static uint8_t reply[MAX_REPLY];
static uint32_t reply_bytes;

static uint32_t crc32_of(const uint8_t *data, uint32_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;
    while (bytes--) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

/* Checks a complete reply: a COBS frame with the right CRC, a known status, and a command of the protocol. */
static void check_reply(void)
{
    uint8_t data[MAX_REPLY];
    uint32_t at = 0, count = 0;
    while (at < reply_bytes) {
        const uint32_t code = reply[at];
        EXPECT(code > 0 && at + code <= reply_bytes);
        memcpy(data + count, reply + at + 1, code - 1);
        count += code - 1;
        at += code;
        data[count++] = 0;
    }
    EXPECT(count >= 9); /* header, CRC, and the zero that ends the last block */
    EXPECT(crc32_of(data, count - 1) == 0x2144DF1Cu); /* the CRC of all data that end with their own CRC */
    EXPECT(data[1] <= 5);
}

void serial_sent(uint8_t byte)
{
    if (byte == 0) {
        check_reply();
        reply_bytes = 0;
    } else {
        EXPECT(reply_bytes < MAX_REPLY);
        reply[reply_bytes++] = byte;
    }
}

/* Writes the COBS frame of a request to `to`. Returns its size in bytes. */
static uint32_t encode(uint8_t *to, const uint8_t *request, uint32_t bytes)
{
    uint8_t data[260];
    uint32_t at = 0, count = 0;
    memcpy(data, request, bytes);
    const uint32_t crc = crc32_of(data, bytes);
    for (uint32_t i = 0; i < 4; i++) {
        data[bytes++] = (uint8_t)(crc >> 8 * i);
    }
    while (at <= bytes) {
        uint32_t zero = at;
        while (zero < bytes && data[zero] && zero - at < 254) {
            zero++;
        }
        to[count++] = (uint8_t)(zero - at + 1);
        memcpy(to + count, data + at, zero - at);
        count += zero - at;
        at = zero + (zero - at < 254);
    }
    to[count++] = 0;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    const int framed = data[0] & 1;
    size_t count = 0;
    data++;
    size--;
    if (framed) {
        while (size > 1 && count + 300 < MAX_STREAM) {
            const size_t wanted = data[0] % 250u, bytes = wanted < size - 1 ? wanted : size - 1;
            count += encode(stream + count, data + 1, (uint32_t)bytes);
            data += 1 + bytes;
            size -= 1 + bytes;
        }
    } else {
        count = size < MAX_STREAM ? size : MAX_STREAM;
        memcpy(stream, data, count);
    }
    reply_bytes = 0;
    serial_receive(stream, count);
    if (setjmp(serial_end) == 0) {
        ar_prepare();
        ar_serve();
    }
    EXPECT(ar_guards_damaged() == 0);
    return 0;
}
