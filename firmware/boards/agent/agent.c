/* The device's side of the Arenite protocol; docs/protocol.md describes the frames.
 *
 * The device answers each frame with one frame. A frame is COBS-encoded, ends with a zero byte and carries a CRC-32.
 * It has at most FRAME_MAX bytes, so no COBS code reaches 255, for which the encoder would need a special case.
 */
#include "agent.h"
#include "health.h"
#include "port.h"

#define PROTOCOL_VERSION 1u
#define FRAME_MAX 253u /* header, arguments, data and CRC */
#define HEADER 4u
#define DATA_MAX 240u
#define CRC_BYTES 4u
#define CRC_RESIDUE 0x2144DF1Cu /* CRC-32 of any message followed by its own CRC */

enum { HELLO = 1, DESCRIBE, WRITE, READ, INFER, MEMORY, RESTART, HEALTH, LOG };
enum { DONE = 0, BAD_FRAME, BAD_COMMAND, BAD_RANGE, NO_SESSION, OUT_OF_ORDER };
enum { TENSOR_INPUT = 0, TENSOR_OUTPUT, TENSOR_TICKS };

/* The current request, and then the reply, which overwrites it. The words align the 32-bit fields for every core. */
static union {
    uint8_t byte[FRAME_MAX + 3];
    uint32_t word[(FRAME_MAX + 3) / 4];
} frame;

/* Returns the CRC-32 of the first `bytes` bytes of the frame. */
static uint32_t crc32(uint32_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (const uint8_t *p = frame.byte; bytes--; p++) {
        crc ^= *p;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

/* Receives the next frame that is not empty. Returns its length in bytes, without its CRC; 0 if the frame is damaged.
 * `length` counts the decoded bytes, `left` the bytes to the end of the current COBS block. */
static uint32_t receive(void)
{
    uint32_t length = 0, left = 0;
    for (;;) {
        const uint8_t byte = port_getc();
        if (byte == 0) {
            if (length == 0) {
                left = 0;
                continue;
            }
            /* Decoding adds a zero after each COBS block. The zero after the last block is not data. */
            length--;
            return left == 0 && length >= HEADER + CRC_BYTES && length <= FRAME_MAX &&
                           crc32(length) == CRC_RESIDUE
                       ? length - CRC_BYTES
                       : 0;
        }
        if (left == 0) {
            left = byte; /* COBS code: the number of bytes to the next zero, including that zero */
        } else {
            frame.byte[length < FRAME_MAX + 1 ? length : FRAME_MAX + 1] = byte;
            length++;
        }
        if (--left == 0) {
            frame.byte[length < FRAME_MAX + 1 ? length : FRAME_MAX + 1] = 0;
            length++;
        }
    }
}

/* Sends `bytes` bytes of the frame, and their CRC. */
static void send(uint32_t bytes)
{
    uint32_t crc = crc32(bytes), at = 0;
    for (uint32_t i = 0; i < CRC_BYTES; i++, crc >>= 8) {
        frame.byte[bytes++] = (uint8_t)crc;
    }
    frame.byte[bytes] = 0; /* the end of the last block */
    while (at <= bytes) {
        uint32_t zero = at;
        while (frame.byte[zero]) {
            zero++;
        }
        port_putc((uint8_t)(zero - at + 1));
        while (at < zero) {
            port_putc(frame.byte[at++]);
        }
        at++;
    }
    port_putc(0);
}

/* Copies `text` and its final zero to index `at` of the frame, as far as there is room. Returns the index after it. */
static uint32_t append_text(uint32_t at, const char *text)
{
    while (at < HEADER + DATA_MAX) {
        frame.byte[at++] = (uint8_t)*text;
        if (*text++ == 0) {
            break;
        }
    }
    return at;
}

static void copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    while (bytes--) {
        *to++ = *from++;
    }
}

/* Returns the tensor that bytes 2 and 3 of a request name; 0 if there is none. */
static const ar_io *named_tensor(void)
{
    const ar_model *model = ar_this_firmware.model;
    const uint32_t index = frame.byte[3];
    switch (frame.byte[2]) {
    case TENSOR_INPUT:
        return index < model->input_count ? model->inputs + index : 0;
    case TENSOR_OUTPUT:
        return index < model->output_count ? model->outputs + index : 0;
    case TENSOR_TICKS:
        return &ar_this_firmware.layer_ticks;
    default:
        return 0;
    }
}

/* Writes the answer to HELLO into the frame. Returns the size of the answer in bytes. */
static uint32_t hello(void)
{
    const ar_model *model = ar_this_firmware.model;
    frame.word[1] =
        PROTOCOL_VERSION | (uint32_t)model->input_count << 8 | (uint32_t)model->output_count << 16;
    frame.word[2] = model->layer_count | DATA_MAX << 16;
    frame.word[3] = ar_arena_bytes();
    copy(&frame.byte[16], model->hash, sizeof model->hash);
    frame.word[6] = PORT_TICK_HZ;
    return append_text(append_text(28, model->name), ar_this_firmware.board);
}

/* Returns the reason of the latest start: a PORT_ value, or with AR_HEALTH a HEALTH_ value. */
static uint32_t started_by(void)
{
#ifdef AR_HEALTH
    return health_cause();
#else
    return (port_reason & ~0xFFu) == PORT_REASON_MAGIC ? port_reason & 0xFFu : PORT_POWER_ON;
#endif
}

void ar_serve(void)
{
    /* `latest` is the sequence number of the latest request. A request with the same number is a repetition: an INFER
     * is then answered without another inference. `greeted` is 1 once the host has sent HELLO. Until then, the device
     * answers NO_SESSION, so that the host notices a restart, in which the device has lost its state. */
    static uint8_t latest;
    static uint8_t greeted;
    static ar_run run;
    uint32_t (*const take_rows)(uint32_t, const uint8_t *, uint32_t) = ar_this_firmware.take_rows;

    health_start();
    for (;;) {
        const uint32_t bytes = receive();
        const uint8_t sequence = frame.byte[0];
        const uint8_t command = frame.byte[1];
        const uint8_t flags = frame.byte[2];
        const ar_io *tensor = named_tensor();
        uint32_t status = DONE, reply = HEADER;

        if (bytes == 0) {
            status = BAD_FRAME;
            health_count(LOG_BAD_FRAME);
        } else if (command == HELLO) {
            greeted = 1;
            reply = hello();
        } else if (!greeted) {
            status = NO_SESSION;
        } else if (command == INFER) {
            if (sequence != latest) {
                if (take_rows && !take_rows(ar_this_firmware.model->inputs->bytes, 0, 0)) {
                    status = OUT_OF_ORDER;
                } else {
                    ar_infer(flags, &run);
                    health_inference();
                }
            }
            frame.word[1] = (uint32_t)run.total;
            frame.word[2] = (uint32_t)(run.total >> 32);
            frame.word[3] = run.init;
            reply = 16;
        } else if (command == MEMORY) {
            frame.word[1] = ar_stack_used();
            frame.word[2] = ar_stack_bytes();
            frame.word[3] = ar_guards_damaged();
            frame.word[4] = started_by();
            reply = 20;
        } else if (command == DESCRIBE || command == WRITE || command == READ) {
            const uint32_t offset = command == DESCRIBE ? 0 : frame.word[1];
            const uint32_t length = command == WRITE ? bytes - 8 : command == READ ? frame.word[2] : 0;
            const uint32_t streamed =
                take_rows && flags == TENSOR_INPUT; /* this input is never complete in memory */
            if (!tensor || length > DATA_MAX || offset > tensor->bytes || length > tensor->bytes - offset ||
                (streamed && command == READ)) {
                status = BAD_RANGE;
            } else if (streamed && command == WRITE) {
                /* A repeated request is not processed again. */
                if (sequence != latest && !take_rows(offset, &frame.byte[8], length)) {
                    status = OUT_OF_ORDER;
                }
            } else if (command == WRITE) {
                copy((uint8_t *)tensor->data + offset, &frame.byte[8], length);
            } else if (command == READ) {
                copy(&frame.byte[HEADER], (const uint8_t *)tensor->data + offset, length);
                reply += length;
            } else {
                frame.word[1] = tensor->bytes;
                frame.word[2] = tensor->dtype;
                reply = 12;
            }
#ifdef AR_HEALTH
        } else if (command == HEALTH) {
            reply += health_report(&frame.word[1]);
        } else if (command == LOG) {
            if (bytes < 12) {
                status = BAD_RANGE;
            } else {
                reply += health_log(&frame.word[1], flags);
            }
#endif
        } else if (command != RESTART) {
            status = BAD_COMMAND;
        }
#ifdef AR_HEALTH
        if (status == OUT_OF_ORDER || status == BAD_COMMAND || status == BAD_RANGE) {
            health_count(status == OUT_OF_ORDER ? LOG_OUT_OF_ORDER : LOG_BAD_REQUEST);
        }
#endif
        if (bytes && status != OUT_OF_ORDER) {
            latest = sequence;
        }
        frame.byte[1] = (uint8_t)status;
        frame.byte[2] = command;
        send(reply);
        if (status == DONE && command == RESTART) {
            port_restart(PORT_REQUESTED);
        }
    }
}
