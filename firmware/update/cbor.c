#include "cbor.h"

/* Simple values, and the head that begins or ends an item of indefinite length. */
enum { FALSE_VALUE = 20, TRUE_VALUE = 21, NULL_VALUE = 22, INDEFINITE = 31, BREAK = 0xFF };

typedef struct {
    const uint8_t *at, *end;
} reader;

typedef struct {
    uint32_t type, value;
    const uint8_t *data;
    uint8_t is_large;      /* the value does not fit 32 bits */
    uint8_t is_indefinite; /* only of a map */
} item;

static uint32_t bytes_left(const reader *in) { return (uint32_t)(in->end - in->at); }

/* Reads the head of the next item, and the data of a string. Returns 0 if it is not accepted. */
static int next_item(reader *in, item *found)
{
    if (in->at == in->end) {
        return 0;
    }
    const uint32_t head = *in->at++, detail = head & 31u;
    found->type = head >> 5;
    found->value = detail;
    found->is_large = 0;
    found->is_indefinite = (uint8_t)(head == (AR_CBOR_MAP << 5 | INDEFINITE));
    if (found->type == 6 || (detail > 27 && !found->is_indefinite)) {
        return 0;
    }
    if (detail >= 24 && detail <= 27) {
        uint32_t bytes = 1u << (detail - 24);
        if (bytes > bytes_left(in)) {
            return 0;
        }
        found->value = 0;
        for (; bytes; bytes--) {
            found->is_large |= (uint8_t)(found->value >> 24 != 0);
            found->value = found->value << 8 | *in->at++;
        }
        if (found->type == AR_CBOR_SIMPLE) {
            found->value = INDEFINITE; /* a float, or a simple value that no field has */
        }
    }
    found->data = in->at;
    if (found->type == AR_CBOR_BYTES || found->type == AR_CBOR_TEXT) {
        if (found->is_large || found->value > bytes_left(in)) {
            return 0;
        }
        in->at += found->value;
    }
    return 1;
}

/* Skips the items inside an array or a map. Each item has at least one byte, so `pending` stays small. */
static int skip_inside(reader *in, const item *outer)
{
    uint32_t pending = 0;
    item inner = *outer;
    for (;;) {
        if (inner.type == AR_CBOR_ARRAY || inner.type == AR_CBOR_MAP) {
            if (inner.is_large || inner.is_indefinite || inner.value > bytes_left(in)) {
                return 0;
            }
            pending += inner.type == AR_CBOR_MAP ? 2 * inner.value : inner.value;
        }
        if (pending == 0) {
            return 1;
        }
        if (pending > bytes_left(in) || !next_item(in, &inner)) {
            return 0;
        }
        pending--;
    }
}

static int is_name(const item *key, const char *name)
{
    uint32_t i = 0;
    while (i < key->value && name[i] && key->data[i] == (uint8_t)name[i]) {
        i++;
    }
    return i == key->value && name[i] == 0;
}

static int store(ar_cbor_field *field, const item *value)
{
    if (value->type == AR_CBOR_SIMPLE && value->value == NULL_VALUE) {
        return 1;
    }
    if (value->type != field->type || value->is_large) {
        return 0;
    }
    field->value = value->value;
    if (field->type == AR_CBOR_SIMPLE) {
        if (value->value != FALSE_VALUE && value->value != TRUE_VALUE) {
            return 0;
        }
        field->value = value->value - FALSE_VALUE;
    }
    field->data = value->data;
    field->is_present = 1;
    return 1;
}

int ar_cbor_read_map(const uint8_t *data, uint32_t bytes, ar_cbor_field *fields, uint32_t count)
{
    reader in = {data, data + bytes};
    item map, key, value;
    for (uint32_t i = 0; i < count; i++) {
        fields[i].is_present = 0;
        fields[i].value = 0;
        fields[i].data = 0;
    }
    if (bytes == 0) {
        return 1;
    }
    if (!next_item(&in, &map) || map.type != AR_CBOR_MAP || map.is_large) {
        return 0;
    }
    for (uint32_t left = map.value; map.is_indefinite || left; left--) {
        if (map.is_indefinite && in.at != in.end && *in.at == BREAK) {
            in.at++;
            break;
        }
        if (!next_item(&in, &key) || key.type != AR_CBOR_TEXT || !next_item(&in, &value)) {
            return 0;
        }
        uint32_t i = 0;
        while (i < count && !is_name(&key, fields[i].name)) {
            i++;
        }
        if (i < count ? !store(&fields[i], &value) : !skip_inside(&in, &value)) {
            return 0;
        }
    }
    return in.at == in.end;
}

static void put(ar_cbor_writer *writer, uint32_t byte)
{
    if (writer->at == writer->end) {
        writer->is_full = 1;
    } else {
        *writer->at++ = (uint8_t)byte;
    }
}

static void put_head(ar_cbor_writer *writer, uint32_t type, uint32_t value)
{
    type <<= 5;
    if (value < 24) {
        put(writer, type | value);
        return;
    }
    uint32_t bits = value > 0xFFFFu ? 32 : value > 0xFFu ? 16 : 8;
    put(writer, type | (bits == 32 ? 26 : bits == 16 ? 25 : 24));
    while (bits) {
        bits -= 8;
        put(writer, value >> bits & 0xFFu);
    }
}

static void put_bytes(ar_cbor_writer *writer, uint32_t type, const uint8_t *data, uint32_t bytes)
{
    put_head(writer, type, bytes);
    for (; bytes; bytes--) {
        put(writer, *data++);
    }
}

void ar_cbor_open_map(ar_cbor_writer *writer) { put(writer, AR_CBOR_MAP << 5 | INDEFINITE); }

void ar_cbor_open_array(ar_cbor_writer *writer) { put(writer, AR_CBOR_ARRAY << 5 | INDEFINITE); }

void ar_cbor_close(ar_cbor_writer *writer) { put(writer, BREAK); }

void ar_cbor_text(ar_cbor_writer *writer, const char *text)
{
    uint32_t bytes = 0;
    while (text[bytes]) {
        bytes++;
    }
    put_bytes(writer, AR_CBOR_TEXT, (const uint8_t *)text, bytes);
}

void ar_cbor_put_uint(ar_cbor_writer *writer, const char *name, uint32_t value)
{
    ar_cbor_text(writer, name);
    put_head(writer, AR_CBOR_UINT, value);
}

void ar_cbor_put_true(ar_cbor_writer *writer, const char *name)
{
    ar_cbor_text(writer, name);
    put_head(writer, AR_CBOR_SIMPLE, TRUE_VALUE);
}

void ar_cbor_put_string(ar_cbor_writer *writer, const char *name, uint32_t type, const uint8_t *data,
                        uint32_t bytes)
{
    ar_cbor_text(writer, name);
    put_bytes(writer, type, data, bytes);
}
