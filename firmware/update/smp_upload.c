/* The upload of an image in order, in whole units of the flash memory. */
#include "smp_groups.h"

/* What an action that returned AR_SMP_AGAIN is doing. */
enum { START = 0, BEGINNING = 1, WRITING = 2, ENDING = 3 };
enum { IMAGE, BYTES, OFFSET, DATA, HASH, UPGRADE, FIELDS };

static void copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = from[i];
    }
}

/* Moves bytes to a place that may overlap them, before or behind. */
static void move(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (to <= from) {
        copy(to, from, bytes);
        return;
    }
    while (bytes--) {
        to[bytes] = from[bytes];
    }
}

static int is_same_upload(const ar_smp *smp, const ar_cbor_field *fields)
{
    const ar_smp_upload *upload = &smp->upload;
    uint32_t difference = upload->image ^ fields[IMAGE].value;
    if (!smp->is_uploading || !upload->has_hash || !fields[HASH].is_present) {
        return 0;
    }
    difference |= upload->bytes ^ fields[BYTES].value;
    for (uint32_t i = 0; i < AR_SMP_HASH_BYTES; i++) {
        difference |= (uint32_t)(upload->hash[i] ^ fields[HASH].data[i]);
    }
    return difference == 0;
}

static void set_upload(ar_smp *smp, const ar_cbor_field *fields)
{
    ar_smp_upload *upload = &smp->upload;
    upload->image = fields[IMAGE].value;
    upload->bytes = fields[BYTES].value;
    upload->received = 0;
    upload->has_hash = fields[HASH].is_present;
    upload->only_upgrade = fields[UPGRADE].value != 0;
    if (upload->has_hash) {
        copy(upload->hash, fields[HASH].data, AR_SMP_HASH_BYTES);
    }
    smp->is_uploading = 0;
}

/* Goes on with an upload that was stopped, or begins it. */
static int begin(ar_smp *smp, const ar_cbor_field *fields)
{
    const ar_smp_actions *actions = smp->actions;
    ar_smp_upload *upload = &smp->upload;
    if (smp->phase == START) {
        if (!fields[BYTES].is_present || fields[BYTES].value == 0 ||
            (fields[HASH].is_present && fields[HASH].value != AR_SMP_HASH_BYTES)) {
            return AR_SMP_RC(AR_SMP_INVALID);
        }
        if (is_same_upload(smp, fields)) {
            return AR_SMP_OK;
        }
        set_upload(smp, fields);
        uint32_t written = 0;
        if (upload->has_hash && actions->upload_status) {
            written = actions->upload_status(actions->context, upload);
        }
        if (written && written <= upload->bytes &&
            (written == upload->bytes || (written & (actions->unit_bytes - 1u)) == 0)) {
            upload->received = written;
            smp->is_uploading = 1;
            return AR_SMP_OK;
        }
        smp->phase = BEGINNING;
    }
    const int error = actions->upload_begin(actions->context, upload);
    smp->is_uploading = error == AR_SMP_OK;
    return error;
}

/* Returns how many received bytes are staged because they do not fill a unit. */
static uint32_t staged_bytes(const ar_smp *smp)
{
    return smp->upload.received & (smp->actions->unit_bytes - 1u);
}

/* Puts the data behind the staged bytes, at the start of the buffer, and stages what does not fill a unit. */
static void arrange(ar_smp *smp, const ar_cbor_field *data)
{
    const uint32_t staged = staged_bytes(smp), mask = smp->actions->unit_bytes - 1u;
    uint32_t bytes = staged + data->value;
    move(smp->buffer + staged, data->data, data->value);
    copy(smp->buffer, smp->staged, staged);
    smp->chunk_bytes = (uint16_t)data->value;
    if (smp->upload.received + data->value == smp->upload.bytes) {
        for (; bytes & mask; bytes++) {
            smp->buffer[bytes] = 0xFF;
        }
    }
    smp->write_bytes = (uint16_t)(bytes & ~mask);
    copy(smp->staged, smp->buffer + smp->write_bytes, bytes & mask);
}

static int write(ar_smp *smp)
{
    if (smp->write_bytes) {
        const uint32_t at = smp->upload.received - staged_bytes(smp);
        const int error =
            smp->actions->upload_chunk(smp->actions->context, at, smp->buffer, smp->write_bytes);
        if (error) {
            smp->is_uploading = error == AR_SMP_AGAIN;
            return error;
        }
    }
    smp->upload.received += smp->chunk_bytes;
    smp->phase = smp->upload.received == smp->upload.bytes ? ENDING : START;
    return AR_SMP_OK;
}

static int end(ar_smp *smp)
{
    if (!smp->actions->upload_end) {
        return AR_SMP_OK;
    }
    const int error = smp->actions->upload_end(smp->actions->context, &smp->upload);
    smp->is_uploading = error == AR_SMP_OK || error == AR_SMP_AGAIN;
    return error;
}

/* Reads the request, and finds out whether its data is the next one of the upload. */
static int read_chunk(ar_smp *smp)
{
    ar_cbor_field fields[FIELDS] = {
        [IMAGE] = {.name = "image", .type = AR_CBOR_UINT},
        [BYTES] = {.name = "len", .type = AR_CBOR_UINT},
        [OFFSET] = {.name = "off", .type = AR_CBOR_UINT},
        [DATA] = {.name = "data", .type = AR_CBOR_BYTES},
        [HASH] = {.name = "sha", .type = AR_CBOR_BYTES},
        [UPGRADE] = {.name = "upgrade", .type = AR_CBOR_SIMPLE},
    };
    const ar_cbor_field *data = &fields[DATA];
    int error = ar_smp_read_request(smp, fields, FIELDS);
    if (error == AR_SMP_OK && !(fields[OFFSET].is_present && data->is_present)) {
        error = AR_SMP_RC(AR_SMP_INVALID);
    }
    if (error == AR_SMP_OK && fields[OFFSET].value == 0) {
        error = begin(smp, fields);
    }
    if (error) {
        return error;
    }
    const ar_smp_upload *upload = &smp->upload;
    smp->phase = START;
    if (!smp->is_uploading) {
        return AR_SMP_OK;
    }
    if (upload->received == upload->bytes) {
        smp->phase = fields[OFFSET].value == 0 ? ENDING : START;
    } else if (fields[OFFSET].value == upload->received && data->value) {
        if (data->value > upload->bytes - upload->received) {
            return AR_SMP_IMAGE_OVERRUN;
        }
        arrange(smp, data);
        smp->phase = WRITING;
    }
    return AR_SMP_OK;
}

int ar_smp_upload_request(ar_smp *smp, ar_cbor_writer *answer)
{
    const ar_smp_actions *actions = smp->actions;
    if (!actions->upload_begin || !actions->upload_chunk) {
        return AR_SMP_RC(AR_SMP_UNSUPPORTED);
    }
    int error = AR_SMP_OK;
    if (smp->phase == START || smp->phase == BEGINNING) {
        error = read_chunk(smp);
    }
    if (error == AR_SMP_OK && smp->phase == WRITING) {
        error = write(smp);
    }
    const int is_ending = smp->phase == ENDING;
    if (error == AR_SMP_OK && is_ending) {
        error = end(smp);
    }
    if (error) {
        return error;
    }
    /* A client that sent another offset goes on from this one. */
    ar_cbor_open_map(answer);
    ar_cbor_put_uint(answer, "off", smp->is_uploading ? smp->upload.received : 0);
    if (is_ending && actions->upload_end && smp->upload.has_hash) {
        ar_cbor_put_true(answer, "match");
    }
    return AR_SMP_OK;
}
