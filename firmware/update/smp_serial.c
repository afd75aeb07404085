#include "smp_serial.h"

enum { START = 6, START_2 = 9, CONTINUE = 4, CONTINUE_2 = 20 };
enum { HEADER_BYTES = 8, CRC_BYTES = 2, LENGTH_BYTES = 2, DELIMITER_BYTES = 2, LINE_CHARACTERS = 124 };
enum { TEXT_LINE = 0, FRAME_LINE = 1, IGNORED_LINE = 2 };

uint16_t ar_smp_crc(uint32_t crc, uint32_t byte)
{
    crc ^= byte << 8;
    for (uint32_t k = 0; k < 8; k++) {
        crc = crc << 1 ^ (crc & 0x8000u ? 0x1021u : 0);
    }
    return (uint16_t)crc;
}

static int ignore_line(ar_smp_input *input)
{
    input->line = IGNORED_LINE;
    input->is_open = 0;
    return AR_SMP_INPUT_DAMAGED;
}

static int begin_line(ar_smp_input *input, uint32_t delimiter)
{
    input->bits = 0;
    input->bit_count = 0;
    int result = AR_SMP_INPUT_NONE;
    if (delimiter == START) {
        if (input->is_open) {
            result = AR_SMP_INPUT_DAMAGED; /* bytes of the frame before are missing */
        }
        input->length = input->count = input->crc = 0;
        input->is_open = 1;
    } else if (!input->is_open) {
        return ignore_line(input);
    }
    input->line = FRAME_LINE;
    return result;
}

static int end_line(ar_smp_input *input)
{
    input->line = TEXT_LINE;
    if (!input->is_open || input->count < LENGTH_BYTES || input->count < input->length + LENGTH_BYTES) {
        return AR_SMP_INPUT_NONE;
    }
    input->is_open = 0;
    return input->crc == 0 ? AR_SMP_INPUT_MESSAGE : AR_SMP_INPUT_DAMAGED;
}

/* Returns the six bits of a base64 character, or 64. */
static uint32_t sextet(uint32_t c)
{
    if (c - 'A' < 26) {
        return c - 'A';
    }
    if (c - 'a' < 26) {
        return c - 'a' + 26;
    }
    if (c - '0' < 10) {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : 64;
}

static int take_decoded(ar_smp_input *input, uint8_t *buffer, uint32_t capacity, uint32_t byte)
{
    if (input->count < LENGTH_BYTES) {
        input->length = (uint16_t)((uint32_t)input->length << 8 | byte);
        input->count++;
        if (input->count == LENGTH_BYTES &&
            (input->length < HEADER_BYTES + CRC_BYTES || input->length > capacity + CRC_BYTES)) {
            return ignore_line(input);
        }
        return AR_SMP_INPUT_NONE;
    }
    const uint32_t at = input->count - (uint32_t)LENGTH_BYTES;
    if (at >= input->length) {
        return ignore_line(input);
    }
    if (at < input->length - (uint32_t)CRC_BYTES) {
        buffer[at] = (uint8_t)byte;
    }
    input->crc = ar_smp_crc(input->crc, byte);
    input->count++;
    return AR_SMP_INPUT_NONE;
}

int ar_smp_input_byte(ar_smp_input *input, uint8_t *buffer, uint32_t capacity, uint8_t byte)
{
    const uint32_t delimiter = input->delimiter;
    input->delimiter = 0;
    if (byte == START || byte == CONTINUE) {
        input->delimiter = byte;
        return AR_SMP_INPUT_NONE;
    }
    if ((delimiter == START && byte == START_2) || (delimiter == CONTINUE && byte == CONTINUE_2)) {
        return begin_line(input, delimiter);
    }
    if (input->line == TEXT_LINE) {
        return AR_SMP_INPUT_TEXT;
    }
    if (delimiter && input->line == FRAME_LINE) {
        ignore_line(input);
        input->line = byte == '\n' ? TEXT_LINE : IGNORED_LINE;
        return AR_SMP_INPUT_DAMAGED;
    }
    if (byte == '\n') {
        return end_line(input);
    }
    if (input->line == IGNORED_LINE || byte == '\r') {
        return AR_SMP_INPUT_NONE;
    }
    if (byte == '=') {
        input->bit_count = 0;
        return AR_SMP_INPUT_NONE;
    }
    const uint32_t value = sextet(byte);
    if (value == 64) {
        return ignore_line(input);
    }
    input->bits = (uint16_t)((uint32_t)input->bits << 6 | value);
    input->bit_count = (uint8_t)(input->bit_count + 6);
    if (input->bit_count < 8) {
        return AR_SMP_INPUT_NONE;
    }
    input->bit_count = (uint8_t)(input->bit_count - 8);
    return take_decoded(input, buffer, capacity, (uint32_t)input->bits >> input->bit_count & 0xFFu);
}

void ar_smp_output_begin(ar_smp_output *output, const uint8_t *buffer, uint32_t bytes)
{
    output->bytes = (uint16_t)bytes;
    output->at = 0;
    output->column = 0;
    output->crc = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        output->crc = ar_smp_crc(output->crc, buffer[i]);
    }
}

static uint32_t frame_bytes(const ar_smp_output *output)
{
    return LENGTH_BYTES + output->bytes + (uint32_t)CRC_BYTES;
}

uint8_t ar_smp_output_data(const ar_smp_output *output, const uint8_t *buffer, uint32_t at)
{
    const uint32_t length = output->bytes + (uint32_t)CRC_BYTES;
    if (at < LENGTH_BYTES) {
        return (uint8_t)(at ? length : length >> 8);
    }
    at -= LENGTH_BYTES;
    if (at < output->bytes) {
        return buffer[at];
    }
    at -= output->bytes;
    return (uint8_t)(at >= CRC_BYTES ? 0 : at ? output->crc : output->crc >> 8);
}

/* Returns whether all characters were sent: a base64 group of four encodes three bytes. */
static int is_complete(const ar_smp_output *output)
{
    return (output->at & 3u) == 0 && 3u * ((uint32_t)output->at >> 2) >= frame_bytes(output);
}

static int ends_line(const ar_smp_output *output)
{
    return output->column == DELIMITER_BYTES + LINE_CHARACTERS ||
           (output->column >= DELIMITER_BYTES && is_complete(output));
}

uint8_t ar_smp_output_byte(const ar_smp_output *output, const uint8_t *buffer)
{
    if (output->column < DELIMITER_BYTES) {
        return output->at == 0 ? (output->column ? START_2 : START)
                               : (output->column ? CONTINUE_2 : CONTINUE);
    }
    if (ends_line(output)) {
        return '\n';
    }
    const uint32_t first = 3u * ((uint32_t)output->at >> 2), position = output->at & 3u;
    if (position > 1 && first + position > frame_bytes(output)) {
        return '=';
    }
    uint32_t group = 0;
    for (uint32_t i = 0; i < 3; i++) {
        group = group << 8 | ar_smp_output_data(output, buffer, first + i);
    }
    const uint32_t value = group >> (18u - 6u * position) & 63u;
    return (uint8_t)(value < 26    ? 'A' + value
                     : value < 52  ? 'a' + value - 26
                     : value < 62  ? '0' + value - 52
                     : value == 62 ? '+'
                                   : '/');
}

int ar_smp_output_advance(ar_smp_output *output)
{
    if (ends_line(output)) {
        output->column = 0;
        return !is_complete(output);
    }
    output->at = (uint16_t)(output->at + (output->column >= DELIMITER_BYTES));
    output->column++;
    return 1;
}
