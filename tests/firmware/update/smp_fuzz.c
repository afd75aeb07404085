/* Sends random and changed frames to the protocol, and checks what it does: smp_fuzz FRAMES SEED. Build it with sanitizers.
 *
 * A slot in memory checks that chunks are whole units without gaps, inside the size that was announced. Every answer must
 * be a frame with a right CRC, for the request that was sent, and a map that this library reads too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cbor.h"
#include "smp.h"

enum { SLOT_BYTES = 4096, OUT_BYTES = 8192, MESSAGE_BYTES = 640, LINE_BYTES = 1200 };

static ar_smp smp;
static ar_smp_actions table;
static uint64_t state;
static uint8_t slot_data[SLOT_BYTES];
static uint32_t written, announced, uploads, chunks, ends, answers, errors, texts;
static uint8_t out[OUT_BYTES];
static uint32_t out_bytes;

static uint32_t draw(uint32_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

static void require(int holds, const char *what)
{
    if (!holds) {
        printf("failed: %s\n", what);
        abort();
    }
}

static int sometimes_again(void) { return draw(4) == 0; }

static int put(void *context, uint8_t byte)
{
    (void)context;
    if (draw(16) == 0) {
        return 0;
    }
    require(out_bytes < OUT_BYTES, "the answer ends");
    out[out_bytes++] = byte;
    return 1;
}

static void take_text(void *context, uint8_t byte)
{
    (void)context;
    (void)byte;
    texts++;
}

static int get_slot(void *context, uint32_t index, ar_smp_slot *slot)
{
    (void)context;
    memset(slot, (int)index, sizeof *slot);
    slot->flags = draw(32);
    for (uint32_t i = 0; i < 4; i++) {
        slot->version[i] = draw(2) ? draw(10) : UINT32_MAX - draw(3);
    }
    return index >= 1 + draw(5) ? 0 : draw(4) ? 1 : -1;
}

static int upload_begin(void *context, const ar_smp_upload *upload)
{
    (void)context;
    if (sometimes_again()) {
        return AR_SMP_AGAIN;
    }
    if (upload->bytes > SLOT_BYTES) {
        return AR_SMP_IMAGE_TOO_LARGE;
    }
    require(upload->bytes > 0 && upload->received == 0, "an upload begins at 0");
    memset(slot_data, 0xFF, sizeof slot_data);
    written = 0;
    announced = upload->bytes;
    uploads++;
    return AR_SMP_OK;
}

static uint32_t upload_status(void *context, const ar_smp_upload *upload)
{
    (void)context;
    if (draw(4) || upload->bytes > SLOT_BYTES) {
        return draw(2) ? 0 : UINT32_MAX - draw(64); /* nonsense must not be believed */
    }
    const uint32_t all = (upload->bytes + table.unit_bytes - 1) / table.unit_bytes;
    const uint32_t units = draw(all);
    announced = upload->bytes;
    written = units * table.unit_bytes;
    return written;
}

static int upload_chunk(void *context, uint32_t at, const uint8_t *data, uint32_t bytes)
{
    (void)context;
    if (sometimes_again()) {
        return AR_SMP_AGAIN;
    }
    if (draw(64) == 0) {
        return AR_SMP_IMAGE_WRITE_FAILED;
    }
    const uint32_t units = (announced + table.unit_bytes - 1) / table.unit_bytes;
    require(bytes > 0 && at % table.unit_bytes == 0 && bytes % table.unit_bytes == 0,
            "a chunk is made of units");
    require(at == written, "chunks follow each other");
    require(at + bytes <= units * table.unit_bytes, "a chunk is inside the file");
    require((uintptr_t)data % 4 == 0, "the data is aligned");
    memcpy(slot_data + at, data, bytes);
    written = at + bytes;
    chunks++;
    return AR_SMP_OK;
}

static int upload_end(void *context, const ar_smp_upload *upload)
{
    (void)context;
    require(upload->received == upload->bytes && written >= upload->bytes, "the end comes at the end");
    if (sometimes_again()) {
        return AR_SMP_AGAIN;
    }
    ends++;
    return draw(4) ? AR_SMP_OK : AR_SMP_IMAGE_INVALID_HASH;
}

static int select_image(void *context, const uint8_t *hash)
{
    (void)context;
    uint32_t sum = 0;
    for (uint32_t i = 0; hash && i < AR_SMP_HASH_BYTES; i++) {
        sum += hash[i];
    }
    return sum % 2 ? AR_SMP_IMAGE_NO_IMAGE : sometimes_again() ? AR_SMP_AGAIN : AR_SMP_OK;
}

static int erase(void *context, uint32_t slot)
{
    (void)context;
    return slot > 1 ? AR_SMP_IMAGE_INVALID_SLOT : sometimes_again() ? AR_SMP_AGAIN : AR_SMP_OK;
}

static int reset_request(void *context, int is_forced)
{
    (void)context;
    return is_forced || draw(2) ? AR_SMP_OK : AR_SMP_RC(AR_SMP_BUSY_ERROR);
}

static const char *stat_group(void *context, uint32_t group)
{
    static const char *const names[] = {"s", "statistics of the device"};
    (void)context;
    return group < 2 ? names[group] : 0;
}

static const char *stat(void *context, uint32_t group, uint32_t field, uint32_t *value)
{
    (void)context;
    *value = draw(2) ? draw(300) : UINT32_MAX;
    return field < 3 + 40 * group ? "a field with a name" : 0; /* the second group does not fit an answer */
}

static uint32_t update_crc(uint32_t crc, uint32_t byte)
{
    crc ^= byte << 8;
    for (uint32_t k = 0; k < 8; k++) {
        crc = crc << 1 ^ (crc & 0x8000u ? 0x1021u : 0);
    }
    return crc & 0xFFFFu;
}

/* Write parts of requests. */
static uint32_t add_head(uint8_t *to, uint32_t at, uint32_t type, uint32_t value)
{
    if (value < 24 && draw(16)) {
        to[at++] = (uint8_t)(type << 5 | value);
        return at;
    }
    const uint32_t size = value < 256 && draw(4) ? 0 : value < 65536 && draw(4) ? 1 : draw(8) ? 2 : 3;
    to[at++] = (uint8_t)(type << 5 | (24 + size));
    for (uint32_t k = 1u << size; k--;) {
        to[at++] = (uint8_t)(k < 4 ? value >> 8 * k & 0xFFu : draw(8) == 0);
    }
    return at;
}

static uint32_t add_text(uint8_t *to, uint32_t at, const char *text)
{
    const uint32_t bytes = (uint32_t)strlen(text);
    at = add_head(to, at, 3, bytes);
    memcpy(to + at, text, bytes);
    return at + bytes;
}

static uint32_t add_string(uint8_t *to, uint32_t at, uint32_t type, uint32_t bytes, uint32_t seed)
{
    at = add_head(to, at, type, bytes);
    for (uint32_t i = 0; i < bytes; i++) {
        to[at + i] = (uint8_t)(seed + i);
    }
    return at + bytes;
}

/* Writes a request that is right in most of its parts. */
static uint32_t make_request(uint8_t *to)
{
    static const uint16_t commands[][2] = {{0, 0}, {0, 5}, {0, 6}, {1, 0}, {1, 1}, {1, 1},
                                           {1, 1}, {1, 1}, {1, 5}, {2, 0}, {2, 1}, {3, 0}};
    const uint16_t *command = commands[draw(sizeof commands / sizeof *commands)];
    const uint32_t key = command[0] * 16u + command[1];
    uint32_t at = 9, fields = 0;
    switch (key) {
    case 0:
        at = add_text(to, at, "d");
        at = add_string(to, at, 3, draw(3) ? draw(20) : draw(500), draw(256));
        fields = 1;
        break;
    case 5:
        at = add_text(to, at, "force");
        at = add_head(to, at, 0, draw(3));
        fields = 1;
        break;
    case 16:
        at = add_text(to, at, "hash");
        at = add_string(to, at, 2, draw(8) ? 32 : draw(64), draw(4));
        at = add_text(to, at, "confirm");
        to[at++] = (uint8_t)(0xF4 + draw(3));
        fields = 2;
        break;
    case 17: {
        const uint32_t offset = draw(8) ? smp.upload.received : draw(2) ? 0 : draw(SLOT_BYTES);
        at = add_text(to, at, "off");
        at = add_head(to, at, 0, offset);
        at = add_text(to, at, "data");
        const uint32_t left = smp.upload.bytes - smp.upload.received;
        const uint32_t data = draw(4) ? draw(80) : draw(480);
        at = add_string(to, at, 2, left && data > left && draw(4) ? left : data, draw(256));
        fields = 2;
        if (offset == 0 || draw(16) == 0) {
            at = add_text(to, at, "len");
            at = add_head(to, at, 0, draw(8) ? 1 + draw(300) : draw(2 * SLOT_BYTES));
            fields++;
            if (draw(4) && at < 500) {
                at = add_text(to, at, "sha");
                at = add_string(to, at, 2, draw(16) ? 32 : draw(40), draw(3));
                fields++;
            }
        }
        break;
    }
    case 21:
        at = add_text(to, at, "slot");
        at = add_head(to, at, 0, draw(3));
        fields = 1;
        break;
    case 32:
        at = add_text(to, at, "name");
        at = add_text(to, at, draw(2) ? "s" : draw(2) ? "statistics of the device" : "x");
        fields = 1;
        break;
    default:
        break;
    }
    if (draw(8) == 0 && at < 560) { /* a field that nobody knows, with items inside */
        at = add_text(to, at, "other");
        const uint32_t items = draw(4);
        at = add_head(to, at, 4, items);
        for (uint32_t i = 0; i < items; i++) {
            at = add_head(to, at, draw(2) ? 0 : 7, draw(24));
        }
        fields++;
    }
    to[8] = (uint8_t)(0xA0 + fields);
    to[0] = (uint8_t)((draw(8) == 0                                      ? draw(8)
                       : key == 16 || key == 17 || key == 5 || key == 21 ? 2
                                                                         : draw(2) * 2) |
                      (draw(16) ? draw(2) : draw(4)) << 3);
    to[1] = 0;
    to[4] = (uint8_t)(command[0] >> 8);
    to[5] = (uint8_t)command[0];
    to[6] = (uint8_t)draw(256);
    to[7] = (uint8_t)command[1];
    if (draw(3) == 0) { /* change some bytes behind the header */
        for (uint32_t k = 1 + draw(4); k; k--) {
            to[8 + draw(at - 8)] = (uint8_t)draw(256);
        }
    }
    if (draw(16) == 0) {
        at = 8 + draw(at - 7);
    }
    const uint32_t length = draw(64) ? at - 8 : draw(65536);
    to[2] = (uint8_t)(length >> 8);
    to[3] = (uint8_t)length;
    return at;
}

static uint32_t encode(const uint8_t *message, uint32_t bytes, uint8_t *line)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t frame[MESSAGE_BYTES + 8] = {0};
    uint32_t crc = 0, at = 0, in_line = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        crc = update_crc(crc, message[i]);
        frame[2 + i] = message[i];
    }
    frame[0] = (uint8_t)((bytes + 2) >> 8);
    frame[1] = (uint8_t)(bytes + 2);
    frame[2 + bytes] = (uint8_t)(crc >> 8);
    frame[3 + bytes] = (uint8_t)crc;
    const uint32_t limit = draw(4) ? 124 : 4 + 4 * draw(40);
    for (uint32_t i = 0; i < bytes + 4; i += 3) {
        if (in_line == 0) {
            line[at++] = i ? 4 : 6;
            line[at++] = i ? 20 : 9;
        }
        const uint32_t group = (uint32_t)frame[i] << 16 | (uint32_t)frame[i + 1] << 8 | frame[i + 2];
        for (uint32_t k = 0; k < 4; k++) {
            line[at++] = (uint8_t)(i + k > bytes + 4 ? '=' : digits[group >> (18 - 6 * k) & 63u]);
        }
        in_line += 4;
        if (in_line >= limit || i + 3 >= bytes + 4) {
            line[at++] = '\n';
            in_line = 0;
        }
    }
    return at;
}

static void check_answer(const uint8_t *request)
{
    static uint8_t message[AR_SMP_BUFFER_BYTES];
    ar_smp_input input;
    memset(&input, 0, sizeof input);
    uint32_t complete = 0;
    for (uint32_t i = 0; i < out_bytes; i++) {
        const int kind = ar_smp_input_byte(&input, message, sizeof message, out[i]);
        require(kind == AR_SMP_INPUT_NONE || (kind == AR_SMP_INPUT_MESSAGE && i == out_bytes - 1),
                "the answer is a frame");
        complete += kind == AR_SMP_INPUT_MESSAGE;
    }
    require(complete == 1, "the answer is one frame");
    const uint32_t bytes = input.length - 2u;
    require(bytes >= 10 && (uint32_t)(message[2] << 8 | message[3]) == bytes - 8,
            "the answer tells its length");
    require((message[0] & 7u) == (request[0] & 7u) + 1u, "the answer has the operation of the request");
    require(memcmp(message + 4, request + 4, 4) == 0,
            "the answer has group, sequence and command of the request");
    require(message[8] == 0xBF && message[bytes - 1] == 0xFF, "the answer is a map");
    answers++;
    ar_cbor_field code = {.name = "rc", .type = AR_CBOR_UINT};
    errors += ar_cbor_read_map(message + 8, bytes - 8, &code, 1) && code.is_present;
}

/* Sends bytes, and runs until nothing is left to do. Returns whether there was an answer. */
static uint32_t send(const uint8_t *bytes, uint32_t count)
{
    uint32_t sent = 0, idle = 0;
    out_bytes = 0;
    for (uint32_t steps = 0; idle < 2; steps++) {
        require(steps < 100000, "every request ends");
        while (sent < count && draw(4) && ar_smp_receive(&smp, bytes[sent])) {
            sent++;
        }
        const int result = ar_smp_step(&smp);
        require(result >= AR_SMP_IDLE && result <= AR_SMP_RESET, "a step has a known result");
        idle = result == AR_SMP_IDLE && sent == count ? idle + 1 : 0;
    }
    return out_bytes > 0;
}

static const uint8_t special[] = {6, 9, 4, 20, '\n', '\r', 'A', 'A', 'A', '+', '/', '='};

int main(int count, char **arguments)
{
    const uint32_t frames = count > 1 ? (uint32_t)strtoul(arguments[1], 0, 10) : 1000;
    state = count > 2 ? strtoul(arguments[2], 0, 10) : 1;
    const ar_smp_actions all = {
        .put = put,
        .text = take_text,
        .slot = get_slot,
        .upload_begin = upload_begin,
        .upload_status = upload_status,
        .upload_chunk = upload_chunk,
        .upload_end = upload_end,
        .test = select_image,
        .confirm = select_image,
        .erase = erase,
        .reset_request = reset_request,
        .stat_group = stat_group,
        .stat = stat,
        .unit_bytes = 8,
    };
    table = all;
    ar_smp_start(&smp, &table);
    uint32_t damaged = 0, random_lines = 0;
    static uint8_t message[MESSAGE_BYTES + 1024], line[LINE_BYTES * 4];
    for (uint32_t i = 0; i < frames; i++) {
        if (draw(500) == 0) { /* another flash memory, or a reset */
            table = all;
            table.unit_bytes = 1u << draw(6);
            if (draw(4) == 0) {
                table.upload_status = 0;
                table.upload_end = 0;
            }
            ar_smp_start(&smp, &table);
        }
        uint32_t bytes = make_request(message);
        bytes = bytes > MESSAGE_BYTES ? MESSAGE_BYTES : bytes;
        uint32_t length = encode(message, bytes, line);
        const uint32_t kind = draw(8);
        if (kind == 0) { /* damage on the way */
            for (uint32_t k = 1 + draw(5); k; k--) {
                line[draw(length)] = (uint8_t)draw(256);
            }
            damaged++;
        } else if (kind == 1) { /* anything */
            length = draw(LINE_BYTES);
            for (uint32_t k = 0; k < length; k++) {
                line[k] = (uint8_t)(draw(2) ? draw(256) : special[draw(sizeof special)]);
            }
            random_lines++;
        }
        const uint32_t is_answered = send(line, length);
        if (kind > 1 && is_answered) {
            check_answer(message);
        }
        if (kind > 1 && !is_answered) {
            const uint32_t operation = message[0] & 7u;
            require((operation != 0 && operation != 2) || bytes > AR_SMP_MAX_MESSAGE ||
                        (uint32_t)(message[2] << 8 | message[3]) != bytes - 8,
                    "a request is answered");
        }
    }
    printf("%u frames, %u of them damaged and %u random bytes: %u answers, %u of them general errors, %u "
           "uploads, "
           "%u chunks, %u ends, %u bytes of text\n",
           frames, damaged, random_lines, answers, errors, uploads, chunks, ends, texts);
    return 0;
}
