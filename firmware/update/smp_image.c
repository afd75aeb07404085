#include "smp_groups.h"

enum { STATE = 0, UPLOAD = 1, ERASE = 5 };

/* Writes a number in decimal digits, and returns the place behind it. */
static uint8_t *write_decimal(uint8_t *at, uint32_t value)
{
    static const uint32_t powers[10] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                        10000,      1000,      100,      10,      1};
    uint32_t is_written = 0;
    for (uint32_t k = 0; k < 10; k++) {
        uint8_t digit = '0';
        for (; value >= powers[k]; value -= powers[k]) {
            digit++;
        }
        is_written |= (uint32_t)(digit != '0' || k == 9);
        if (is_written) {
            *at++ = digit;
        }
    }
    return at;
}

static void write_version(ar_cbor_writer *answer, const uint32_t *version)
{
    uint8_t text[43], *at = text; /* four numbers of ten digits, and three points */
    const uint32_t parts = version[3] ? 4 : 3;
    for (uint32_t i = 0; i < parts; i++) {
        if (i) {
            *at++ = '.';
        }
        at = write_decimal(at, version[i]);
    }
    ar_cbor_put_string(answer, "version", AR_CBOR_TEXT, text, (uint32_t)(at - text));
}

static void write_slot(ar_cbor_writer *answer, const ar_smp_slot *slot)
{
    static const char names[5][10] = {"bootable", "pending", "confirmed", "active", "permanent"};
    ar_cbor_open_map(answer);
    if (slot->image) {
        ar_cbor_put_uint(answer, "image", slot->image);
    }
    ar_cbor_put_uint(answer, "slot", slot->slot);
    write_version(answer, slot->version);
    ar_cbor_put_string(answer, "hash", AR_CBOR_BYTES, slot->hash, AR_SMP_HASH_BYTES);
    for (uint32_t i = 0; i < 5; i++) {
        if (slot->flags >> i & 1u) {
            ar_cbor_put_true(answer, names[i]);
        }
    }
    ar_cbor_close(answer);
}

static int list(const ar_smp_actions *actions, ar_cbor_writer *answer)
{
    ar_smp_slot slot;
    ar_cbor_open_map(answer);
    ar_cbor_text(answer, "images");
    ar_cbor_open_array(answer);
    for (uint32_t index = 0;; index++) {
        const int result = actions->slot(actions->context, index, &slot);
        if (result == 0) {
            break;
        }
        if (result > 0) {
            write_slot(answer, &slot);
        }
    }
    ar_cbor_close(answer);
    return AR_SMP_OK;
}

static int set_state(ar_smp *smp)
{
    enum { HASH, CONFIRM, FIELDS };
    ar_cbor_field fields[FIELDS] = {
        [HASH] = {.name = "hash", .type = AR_CBOR_BYTES},
        [CONFIRM] = {.name = "confirm", .type = AR_CBOR_SIMPLE},
    };
    const int error = ar_smp_read_request(smp, fields, FIELDS);
    if (error) {
        return error;
    }
    const ar_cbor_field *hash = &fields[HASH];
    const int is_confirm = fields[CONFIRM].value != 0;
    if (hash->is_present ? hash->value != AR_SMP_HASH_BYTES : !is_confirm) {
        return AR_SMP_IMAGE_INVALID_HASH;
    }
    int (*action)(void *, const uint8_t *) = is_confirm ? smp->actions->confirm : smp->actions->test;
    return action ? action(smp->actions->context, hash->data) : AR_SMP_RC(AR_SMP_UNSUPPORTED);
}

static int erase(ar_smp *smp, ar_cbor_writer *answer)
{
    ar_cbor_field slot = {.name = "slot", .type = AR_CBOR_UINT};
    int error = ar_smp_read_request(smp, &slot, 1);
    if (error == AR_SMP_OK) {
        smp->is_uploading = 0;
        error = smp->actions->erase
                    ? smp->actions->erase(smp->actions->context, slot.is_present ? slot.value : 1)
                    : AR_SMP_RC(AR_SMP_UNSUPPORTED);
    }
    if (error == AR_SMP_OK) {
        ar_cbor_open_map(answer);
    }
    return error;
}

int ar_smp_image_group(ar_smp *smp, ar_cbor_writer *answer)
{
    if (smp->command == STATE && smp->actions->slot) {
        const int error = smp->operation == SMP_WRITE ? set_state(smp) : AR_SMP_OK;
        return error ? error : list(smp->actions, answer);
    }
    if (smp->command == UPLOAD && smp->operation == SMP_WRITE) {
        return ar_smp_upload_request(smp, answer);
    }
    if (smp->command == ERASE && smp->operation == SMP_WRITE) {
        return erase(smp, answer);
    }
    return AR_SMP_RC(AR_SMP_UNSUPPORTED);
}
