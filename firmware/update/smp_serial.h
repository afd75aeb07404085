/* The frames in which messages of the Simple Management Protocol travel over a serial port, among lines of text.
 *
 * A frame is the length of message and CRC (two bytes, upper byte first), the message, and its CRC-16/XMODEM, all of it
 * in base64, in lines that begin with the bytes 6, 9 (the first line) or 4, 20 (the others) and end with a newline. */
#ifndef ARENITE_SMP_SERIAL_H
#define ARENITE_SMP_SERIAL_H

#include <stdint.h>

/* ar_smp_input_byte: */
enum {
    AR_SMP_INPUT_NONE = 0,    /* the byte belongs to a frame */
    AR_SMP_INPUT_TEXT = 1,    /* the byte belongs to a line of text */
    AR_SMP_INPUT_MESSAGE = 2, /* the byte ends a frame, and the message is in the buffer */
    AR_SMP_INPUT_DAMAGED = 3  /* the byte shows that a frame is damaged; the rest of the line is ignored */
};

/* All fields are 0 at the start. */
typedef struct {
    uint16_t length;   /* that the frame declares */
    uint16_t count;    /* bytes that were decoded, with the length */
    uint16_t crc;      /* of the bytes behind the length */
    uint16_t bits;     /* that do not make a byte yet */
    uint8_t bit_count; /* number of these bits */
    uint8_t delimiter; /* first byte of a delimiter, or 0 */
    uint8_t line;      /* kind of line */
    uint8_t is_open;   /* a frame was begun */
} ar_smp_input;

/* Takes the next byte. A message of at most `capacity` bytes is written to `buffer`, which nobody else may change
 * from the start of a frame to its end. The length of the message is `input->length` - 2. */
int ar_smp_input_byte(ar_smp_input *input, uint8_t *buffer, uint32_t capacity, uint8_t byte);

uint16_t ar_smp_crc(uint32_t crc, uint32_t byte);

typedef struct {
    uint16_t bytes; /* of the message */
    uint16_t at;    /* base64 character that is sent next */
    uint16_t crc;
    uint8_t column; /* of the line */
} ar_smp_output;

/* Begins a frame with the message in `buffer`, which must not change until ar_smp_output_advance returns 0. */
void ar_smp_output_begin(ar_smp_output *output, const uint8_t *buffer, uint32_t bytes);
/* Returns byte `at` of length, message and CRC, and 0 behind them. */
uint8_t ar_smp_output_data(const ar_smp_output *output, const uint8_t *buffer, uint32_t at);
/* Returns the byte that is sent next. */
uint8_t ar_smp_output_byte(const ar_smp_output *output, const uint8_t *buffer);
/* Goes on behind the byte that was sent. Returns 0 if it was the last one. */
int ar_smp_output_advance(ar_smp_output *output);

#endif
