#include "smp_groups.h"

enum { RECEIVING = 0, HANDLING = 1, SENDING = 2 };
enum { VERSION_2 = 1 };

void ar_smp_start(ar_smp *smp, const ar_smp_actions *actions)
{
    uint8_t *bytes = (uint8_t *)smp;
    for (uint32_t i = 0; i < sizeof *smp; i++) {
        bytes[i] = 0;
    }
    smp->actions = actions;
}

int ar_smp_receive(ar_smp *smp, uint8_t byte)
{
    const uint8_t head = smp->head;
    if ((uint8_t)(head - smp->tail) >= AR_SMP_RING_BYTES) {
        return 0;
    }
    smp->ring[head % AR_SMP_RING_BYTES] = byte;
    smp->head = (uint8_t)(head + 1);
    return 1;
}

int ar_smp_is_in_line(const ar_smp *smp)
{
    return smp->state == SENDING && (smp->is_coded || smp->line.output.column != 0);
}

int ar_smp_is_receiving(const ar_smp *smp) { return smp->state == RECEIVING; }

int ar_smp_next_byte(ar_smp *smp, uint8_t *byte)
{
    if (smp->tail == smp->head) {
        return 0;
    }
    *byte = smp->ring[smp->tail % AR_SMP_RING_BYTES];
    smp->tail = (uint8_t)(smp->tail + 1);
    return 1;
}

int ar_smp_read_request(const ar_smp *smp, ar_cbor_field *fields, uint32_t count)
{
    const uint8_t *data = smp->buffer + SMP_HEADER_BYTES;
    return ar_cbor_read_map(data, smp->length, fields, count) ? AR_SMP_OK : AR_SMP_RC(AR_SMP_INVALID);
}

/* Reads the header. Returns 0 for a message that is no request. */
static int read_header(ar_smp *smp, uint32_t message)
{
    const uint8_t *header = smp->buffer;
    smp->operation = header[0] & 7u;
    smp->version = header[0] >> 3 & 3u;
    smp->length = (uint16_t)(header[2] << 8 | header[3]);
    smp->group = (uint16_t)(header[4] << 8 | header[5]);
    smp->sequence = header[6];
    smp->command = header[7];
    return smp->length + (uint32_t)SMP_HEADER_BYTES == message &&
           (smp->operation == SMP_READ || smp->operation == SMP_WRITE);
}

static int handle(ar_smp *smp, ar_cbor_writer *answer)
{
    if (smp->version > VERSION_2) {
        return AR_SMP_RC(AR_SMP_TOO_NEW);
    }
    switch (smp->group) {
    case SMP_GROUP_OS:
        return ar_smp_os_group(smp, answer);
    case SMP_GROUP_IMAGE:
        return ar_smp_image_group(smp, answer);
    case SMP_GROUP_STATISTICS:
        return ar_smp_statistics_group(smp, answer);
    default:
        return smp->actions->group
                   ? smp->actions->group(smp->actions->context, smp->group, smp->command, answer)
                   : AR_SMP_RC(AR_SMP_UNSUPPORTED);
    }
}

/* Returns the general error that a client of version 1 gets instead of an error of a group. No number below
 * belongs to two groups. */
static uint32_t general_error(int error)
{
    switch (error) {
    case SMP_STATISTICS_NO_GROUP:
    case AR_SMP_IMAGE_NO_IMAGE:
    case AR_SMP_IMAGE_NO_FREE_SLOT:
        return AR_SMP_NOT_FOUND;
    case AR_SMP_IMAGE_INVALID_SLOT:
    case AR_SMP_IMAGE_INVALID_HEADER:
    case AR_SMP_IMAGE_INVALID_MAGIC:
    case AR_SMP_IMAGE_INVALID_HASH:
    case AR_SMP_IMAGE_TOO_LARGE:
    case AR_SMP_IMAGE_OVERRUN:
        return AR_SMP_INVALID;
    case AR_SMP_IMAGE_DOWNGRADE:
    case AR_SMP_IMAGE_ALREADY_PENDING:
        return AR_SMP_BAD_STATE;
    case AR_SMP_IMAGE_CONFIRM_DENIED:
    case AR_SMP_IMAGE_TEST_DENIED:
        return AR_SMP_DENIED;
    default:
        return AR_SMP_UNKNOWN;
    }
}

/* Write and end the fields of an answer. */
static void write_error(const ar_smp *smp, ar_cbor_writer *answer, int error)
{
    if (error < AR_SMP_RC(0) && smp->version == VERSION_2) {
        ar_cbor_text(answer, "err");
        ar_cbor_open_map(answer);
        ar_cbor_put_uint(answer, "group", smp->group);
        ar_cbor_put_uint(answer, "rc", (uint32_t)error);
        ar_cbor_close(answer);
    } else {
        const uint32_t code = error < AR_SMP_RC(0) ? general_error(error) : (uint32_t)(error - AR_SMP_RC(0));
        ar_cbor_put_uint(answer, "rc", code);
    }
}

static void begin_answer(ar_smp *smp, ar_cbor_writer *answer)
{
    answer->at = smp->buffer + SMP_HEADER_BYTES;
    answer->end = smp->buffer + (smp->is_coded ? smp->coding->max_message : AR_SMP_BUFFER_BYTES);
    answer->is_full = 0;
}

/* Calls the action of the request. When it is done, begins to send the answer. */
static int answer_request(ar_smp *smp)
{
    ar_cbor_writer answer;
    begin_answer(smp, &answer);
    int result = handle(smp, &answer);
    if (result == AR_SMP_AGAIN) {
        return AR_SMP_WAITING;
    }
    smp->phase = 0;
    if (result < 0) {
        result = AR_SMP_RC(AR_SMP_UNKNOWN);
    }
    if (result == AR_SMP_OK) {
        ar_cbor_close(&answer);
        result = answer.is_full ? AR_SMP_RC(AR_SMP_TOO_LONG) : AR_SMP_OK;
    }
    if (result != AR_SMP_OK) {
        smp->is_resetting = 0;
        begin_answer(smp, &answer);
        ar_cbor_open_map(&answer);
        write_error(smp, &answer, result);
        ar_cbor_close(&answer);
    }
    const uint32_t bytes = (uint32_t)(answer.at - smp->buffer), data = bytes - SMP_HEADER_BYTES;
    const uint32_t version = smp->version > VERSION_2 ? VERSION_2 : smp->version;
    const uint8_t header[SMP_HEADER_BYTES] = {
        (uint8_t)((smp->operation + 1u) | version << 3),
        0,
        (uint8_t)(data >> 8),
        (uint8_t)(data & 0xFFu),
        (uint8_t)(smp->group >> 8),
        (uint8_t)(smp->group & 0xFFu),
        smp->sequence,
        smp->command,
    };
    for (uint32_t i = 0; i < SMP_HEADER_BYTES; i++) {
        smp->buffer[i] = header[i];
    }
    ar_smp_output_begin(&smp->line.output, smp->buffer, bytes);
    smp->state = SENDING;
    return AR_SMP_BUSY;
}

void ar_smp_take_message(ar_smp *smp, uint32_t bytes)
{
    static const ar_smp_input start;
    smp->frames++;
    smp->is_coded = 1;
    smp->line.input = start;
    smp->state = read_header(smp, bytes) ? HANDLING : RECEIVING;
}

int ar_smp_take_byte(ar_smp *smp, uint8_t byte)
{
    switch (ar_smp_input_byte(&smp->line.input, smp->buffer, AR_SMP_MAX_MESSAGE, byte)) {
    case AR_SMP_INPUT_TEXT:
        if (smp->actions->text) {
            smp->actions->text(smp->actions->context, byte);
        }
        return 0;
    case AR_SMP_INPUT_MESSAGE:
        ar_smp_take_message(smp, smp->line.input.length - 2u);
        smp->is_coded = 0;
        return 1;
    case AR_SMP_INPUT_DAMAGED:
        smp->damaged++;
        return 0;
    default:
        return 0;
    }
}

static int receive(ar_smp *smp)
{
    uint8_t byte;
    if (smp->coding || !ar_smp_next_byte(smp, &byte)) {
        return AR_SMP_IDLE;
    }
    ar_smp_take_byte(smp, byte);
    return AR_SMP_BUSY;
}

static int send(ar_smp *smp)
{
    const ar_smp_coding *coding = smp->is_coded ? smp->coding : 0;
    const uint8_t byte = coding ? coding->byte(smp) : ar_smp_output_byte(&smp->line.output, smp->buffer);
    if (!smp->actions->put(smp->actions->context, byte)) {
        return AR_SMP_WAITING;
    }
    if (coding ? coding->advance(smp) : ar_smp_output_advance(&smp->line.output)) {
        return AR_SMP_BUSY;
    }
    static const ar_smp_input start;
    smp->line.input = start;
    smp->state = RECEIVING;
    const int result = smp->is_resetting ? AR_SMP_RESET : AR_SMP_BUSY;
    smp->is_resetting = 0;
    return result;
}

int ar_smp_step(ar_smp *smp)
{
    if (smp->coding && smp->coding->receive(smp)) {
        return AR_SMP_BUSY;
    }
    switch (smp->state) {
    case HANDLING:
        return answer_request(smp);
    case SENDING:
        return send(smp);
    default:
        return receive(smp);
    }
}
