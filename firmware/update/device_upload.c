/* The upload of a file to slot 1, and its erasure.
 *
 * The last page of the slot names the file, if the file leaves this page free. It is erased before any other page, and
 * written after all pages have been erased. So a page that names a file stands behind pages that were erased for this
 * file. The file is written in order, so all that follows its last unit that is not erased is still erased.
 *
 * The power may have failed while a unit was programmed: the last one that is not erased, or the one behind it, even if
 * it looks erased. So the page of the last unit that is not erased and all pages behind it are erased again. They begin
 * with the last one: a start after the next power cut then finds the same page or the one before it. */
#include "device_parts.h"

/* Steps. An action begins with 0. */
enum { START, PREPARING, FINDING, ERASING_TORN, ERASING, NAMING, FINISHING, WORKING };
enum { NAME_BYTES = AR_SMP_HASH_BYTES + 4, STEPS = 4 /* pieces that are read at once */ };

static int fail(ar_update *update, int error)
{
    update->job = START;
    return error;
}

static uint32_t last_page(const ar_update *update) { return update->slot->pages - 1; }

/* Returns the number of pages of the file that is uploaded. */
static uint32_t pages_of(const ar_update *update)
{
    return (update->smp.upload.bytes - 1) / update->slot->page_bytes + 1;
}

static int is_named(const ar_update *update)
{
    return update->smp.upload.has_hash && pages_of(update) <= last_page(update);
}

/* Makes the name of the file that is uploaded, in one piece. */
static void make_name(const ar_update *update, uint8_t *name)
{
    for (uint32_t i = 0; i < PIECE_BYTES; i++) {
        const uint32_t size = update->smp.upload.bytes >> (i - AR_SMP_HASH_BYTES) % 4 * 8;
        const uint32_t byte = i < AR_SMP_HASH_BYTES ? update->smp.upload.hash[i]
                              : i < NAME_BYTES      ? size
                                                    : 0xFF;
        name[i] = (uint8_t)byte;
    }
}

/* Returns whether slot 1 has a part of the file that is uploaded. */
static int has_part(const ar_update *update)
{
    const ar_flash *slot = update->slot;
    uint8_t wanted[PIECE_BYTES], name[NAME_BYTES];
    make_name(update, wanted);
    return is_named(update) && !update->is_stale &&
           slot->read(slot->context, last_page(update) * slot->page_bytes, name, NAME_BYTES) == 0 &&
           device_is_equal(name, wanted, NAME_BYTES);
}

static int is_erased(const ar_flash *slot, uint32_t at)
{
    uint8_t piece[PIECE_BYTES];
    uint32_t all = 0xFF;
    if (slot->read(slot->context, at, piece, PIECE_BYTES) != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < PIECE_BYTES; i++) {
        all &= piece[i];
    }
    return all == 0xFF;
}

/* Searches the end of what was written, from the end of the file. Then `at` and `end` are the last and the first page
 * that are erased again. */
static void find_end(ar_update *update)
{
    const ar_flash *slot = update->slot;
    for (uint32_t i = 0; i < STEPS; i++) {
        if (update->at && is_erased(slot, update->at - PIECE_BYTES)) {
            update->at -= PIECE_BYTES;
            continue;
        }
        update->end = (update->at ? update->at - PIECE_BYTES : 0) / slot->page_bytes;
        update->at = pages_of(update) - 1;
        update->job = ERASING_TORN;
        return;
    }
}

/* Erases page `at`, and goes on with the one before, down to `end`. Returns AR_SMP_AGAIN, AR_SMP_OK after the last one,
 * or an error. */
static int erase_page(ar_update *update)
{
    const ar_flash *slot = update->slot;
    if (slot->erase(slot->context, update->at) != 0) {
        return fail(update, AR_SMP_IMAGE_ERASE_FAILED);
    }
    if (update->at == update->end) {
        return AR_SMP_OK;
    }
    update->at--;
    return AR_SMP_AGAIN;
}

/* Withdraws a request, before the first erasure. Returns AR_SMP_OK when this is in flash. */
static int prepare(ar_update *update, const ar_flash *slot)
{
    if (update->job == START) {
        if (update->boot.saving) {
            return AR_SMP_AGAIN;
        }
        update->slot = slot;
        update->job = PREPARING;
        return device_begin_save(update, ar_boot_prepare(&update->boot));
    }
    const int result = device_end_save(update);
    return result == AR_SMP_OK || result == AR_SMP_AGAIN ? result : fail(update, result);
}

static int begin_upload(ar_update *update, const ar_smp_upload *upload)
{
    if (upload->image >= update->boot.pair_count) {
        return AR_SMP_IMAGE_NO_FREE_SLOT;
    }
    const ar_flash *slot = device_slot(update, upload->image, 1);
    if (upload->bytes > slot->pages * slot->page_bytes) {
        return AR_SMP_IMAGE_TOO_LARGE;
    }
    return upload->only_upgrade ? AR_SMP_RC(AR_SMP_UNSUPPORTED) : prepare(update, slot);
}

int device_begin(void *context, const ar_smp_upload *upload)
{
    ar_update *update = context;
    const ar_flash *slot = update->slot;
    int result;
    if (update->job == START) {
        return begin_upload(update, upload);
    }
    if (device_is_busy(slot)) {
        return AR_SMP_AGAIN;
    }
    switch (update->job) {
    case PREPARING:
        result = prepare(update, slot);
        if (result != AR_SMP_OK) {
            return result;
        }
        if (has_part(update)) {
            update->job = FINDING;
            update->at = (upload->bytes + PIECE_BYTES - 1) & ~(PIECE_BYTES - 1u);
        } else {
            update->job = ERASING;
            update->at = update->end = last_page(update);
        }
        return AR_SMP_AGAIN;
    case FINDING:
        find_end(update);
        return AR_SMP_AGAIN;
    case ERASING_TORN:
        result = erase_page(update);
        if (result == AR_SMP_OK) {
            update->smp.upload.received = update->end * slot->page_bytes;
            update->resumed++;
            update->job = FINISHING;
        }
        break;
    case ERASING:
        result = erase_page(update);
        if (result == AR_SMP_OK && update->end != 0 && last_page(update) != 0) {
            update->at = pages_of(update) - 1;
            update->end = 0;
        } else if (result == AR_SMP_OK) {
            update->is_stale = 0;
            update->job = is_named(update) ? NAMING : FINISHING;
        }
        break;
    case NAMING: {
        uint8_t name[PIECE_BYTES];
        make_name(update, name);
        update->job = FINISHING;
        const uint32_t bytes = (NAME_BYTES + slot->unit_bytes - 1) & ~(slot->unit_bytes - 1);
        result = slot->program(slot->context, last_page(update) * slot->page_bytes, name, bytes)
                     ? fail(update, AR_SMP_IMAGE_WRITE_FAILED)
                     : AR_SMP_OK;
        break;
    }
    default:
        update->job = START;
        return AR_SMP_OK;
    }
    return result == AR_SMP_OK ? AR_SMP_AGAIN : result;
}

int device_write(void *context, uint32_t at, const uint8_t *data, uint32_t bytes)
{
    ar_update *update = context;
    const ar_flash *slot = update->slot;
    if (update->job == START) {
        update->job = WORKING;
        update->at = 0;
    }
    if (device_is_busy(slot)) {
        return AR_SMP_AGAIN;
    }
    if (update->at == bytes) {
        return fail(update, AR_SMP_OK);
    }
    const uint32_t rest = bytes - update->at, piece = rest < PIECE_BYTES ? rest : PIECE_BYTES;
    if (slot->program(slot->context, at + update->at, data + update->at, piece) != 0) {
        return fail(update, AR_SMP_IMAGE_WRITE_FAILED);
    }
    update->at += piece;
    return AR_SMP_AGAIN;
}

int device_end(void *context, const ar_smp_upload *upload)
{
    ar_update *update = context;
    const ar_flash *slot = update->slot;
    if (!upload->has_hash) {
        return AR_SMP_OK;
    }
    if (update->job == START) {
        update->job = WORKING;
        update->at = 0;
        ar_sha256_start(&update->hash);
    }
    for (uint32_t i = 0; i < STEPS && update->at < upload->bytes; i++) {
        uint8_t piece[PIECE_BYTES];
        const uint32_t rest = upload->bytes - update->at, bytes = rest < PIECE_BYTES ? rest : PIECE_BYTES;
        if (slot->read(slot->context, update->at, piece, bytes) != 0) {
            update->is_stale = 1;
            return fail(update, AR_SMP_IMAGE_READ_FAILED);
        }
        ar_sha256_add(&update->hash, piece, bytes);
        update->at += bytes;
    }
    if (update->at < upload->bytes) {
        return AR_SMP_AGAIN;
    }
    uint8_t hash[AR_SMP_HASH_BYTES];
    ar_sha256_finish(&update->hash, hash);
    update->is_stale = (uint8_t)!device_is_equal(hash, upload->hash, AR_SMP_HASH_BYTES);
    return fail(update, update->is_stale ? AR_SMP_IMAGE_INVALID_HASH : AR_SMP_OK);
}

int device_erase(void *context, uint32_t slot)
{
    ar_update *update = context;
    if (update->job == START || update->job == PREPARING) {
        if (!(slot & 1u) || slot >> 1 >= update->boot.pair_count) {
            return AR_SMP_IMAGE_INVALID_SLOT;
        }
        const int result = prepare(update, device_slot(update, slot >> 1, 1));
        if (result != AR_SMP_OK) {
            return result;
        }
        update->job = ERASING;
        update->at = last_page(update);
        update->end = 0;
        return AR_SMP_AGAIN;
    }
    if (device_is_busy(update->slot)) {
        return AR_SMP_AGAIN;
    }
    if (update->job == ERASING) {
        const int result = erase_page(update);
        if (result == AR_SMP_OK) {
            update->job = FINISHING;
        }
        return result == AR_SMP_OK ? AR_SMP_AGAIN : result;
    }
    return fail(update, AR_SMP_OK);
}
