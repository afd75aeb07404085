/* Reads and writes the part of CBOR (RFC 8949) that management messages use: maps with names, numbers, booleans, byte
 * strings and texts. */
#ifndef ARENITE_CBOR_H
#define ARENITE_CBOR_H

#include <stdint.h>

/* Major types. */
enum {
    AR_CBOR_UINT = 0,
    AR_CBOR_BYTES = 2,
    AR_CBOR_TEXT = 3,
    AR_CBOR_ARRAY = 4,
    AR_CBOR_MAP = 5,
    AR_CBOR_SIMPLE = 7
};

/* A field of a map that the caller wants. `type` is AR_CBOR_UINT, AR_CBOR_BYTES or AR_CBOR_TEXT, or AR_CBOR_SIMPLE for
 * a boolean. ar_cbor_read_map writes the other members. */
typedef struct {
    const char *name;
    uint8_t type;
    uint8_t is_present;
    uint32_t value;      /* the number, 0 or 1 for a boolean, or the bytes of a string */
    const uint8_t *data; /* the string, inside the message */
} ar_cbor_field;

/* Reads the map that is all of the `bytes` bytes from `data`. No byte is also accepted, as a map without fields. Returns
 * 1, or 0 if the data is not a map with names, if a wanted field has another type, or if bytes are missing or left over.
 * A field that is null counts as absent, and fields that the caller does not want are skipped. It does not accept
 * strings, arrays and inner maps of indefinite length, tags, and numbers of wanted fields above UINT32_MAX. */
int ar_cbor_read_map(const uint8_t *data, uint32_t bytes, ar_cbor_field *fields, uint32_t count);

/* Where the next byte is written. A message that does not fit sets `is_full`, and nothing is written past `end`. */
typedef struct {
    uint8_t *at, *end;
    uint8_t is_full;
} ar_cbor_writer;

void ar_cbor_open_map(ar_cbor_writer *writer);
void ar_cbor_open_array(ar_cbor_writer *writer);
void ar_cbor_close(ar_cbor_writer *writer);
void ar_cbor_text(ar_cbor_writer *writer, const char *text);

/* Write a name and a value. The string may overlap the place at which it is written, if it is behind it. */
void ar_cbor_put_uint(ar_cbor_writer *writer, const char *name, uint32_t value);
void ar_cbor_put_true(ar_cbor_writer *writer, const char *name);
void ar_cbor_put_string(ar_cbor_writer *writer, const char *name, uint32_t type, const uint8_t *data,
                        uint32_t bytes);

#endif
