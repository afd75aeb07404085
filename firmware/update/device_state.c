/* The state of the images, and the requests to change it. */
#include "boot_record.h"
#include "device.h"
#include "device_parts.h"
#include "smp_groups.h"

/* The group of Arenite, its only command, and the version of the frames of coded_frames.h. */
enum { GROUP = 64, COMMAND_DEVICE = 0, CODED_VERSION = 1 };
enum { START = 0, SAVING = 1 };

static uint32_t requested_pairs(const ar_update *update)
{
    return ar_boot_phase(&update->boot) == AR_BOOT_REQUESTED ? field_read(&update->boot, FIELD_PAIRS, 1) : 0;
}

int device_get_slot(void *context, uint32_t index, ar_smp_slot *slot)
{
    const ar_update *update = context;
    const uint32_t pair = index >> 1, number = index & 1u;
    device_image image;
    if (pair >= update->boot.pair_count) {
        return 0;
    }
    if (!device_read_image(device_slot(update, pair, number), &image)) {
        return -1;
    }
    slot->image = pair;
    slot->slot = number;
    for (uint32_t i = 0; i < 4; i++) {
        slot->version[i] = image.version[i];
    }
    for (uint32_t i = 0; i < AR_SMP_HASH_BYTES; i++) {
        slot->hash[i] = image.hash[i];
    }
    slot->flags = number == 0 ? (uint32_t)AR_SMP_BOOTABLE | AR_SMP_ACTIVE |
                                    (ar_update_is_trial(update) ? 0u : (uint32_t)AR_SMP_CONFIRMED)
                              : (image.kind == pair + 1 ? (uint32_t)AR_SMP_BOOTABLE : 0u) |
                                    (requested_pairs(update) >> pair & 1u ? (uint32_t)AR_SMP_PENDING : 0u);
    return 1;
}

/* Returns whether the images that run if the pairs of `pairs` change have the same hash of graph, arena and kernels. */
static int fits(const ar_update *update, uint32_t pairs)
{
    device_image first, second;
    return device_read_image(device_slot(update, 0, pairs & 1u), &first) &&
           (update->boot.pair_count < 2 || (device_read_image(device_slot(update, 1, pairs >> 1), &second) &&
                                            device_is_equal(first.abi, second.abi, AR_BOOT_ABI_BYTES)));
}

/* Returns the pair whose slot `number` has the image with this hash, or the number of pairs. A model in the slot of the
 * firmware does not count. */
static uint32_t find_image(const ar_update *update, uint32_t number, const uint8_t *hash)
{
    uint32_t pair = 0;
    device_image image;
    while (pair < update->boot.pair_count &&
           !(device_read_image(device_slot(update, pair, number), &image) && image.kind == pair + 1 &&
             device_is_equal(image.hash, hash, AR_SMP_HASH_BYTES))) {
        pair++;
    }
    return pair;
}

int device_test(void *context, const uint8_t *hash)
{
    ar_update *update = context;
    const uint32_t count = update->boot.pair_count;
    if (update->job == SAVING) {
        const int result = device_end_save(update);
        update->job = result == AR_SMP_AGAIN ? SAVING : START;
        return result;
    }
    if (update->boot.saving) {
        return AR_SMP_AGAIN;
    }
    const uint32_t pair = find_image(update, 1, hash);
    if (pair == count) {
        return find_image(update, 0, hash) < count ? AR_SMP_IMAGE_TEST_DENIED : AR_SMP_IMAGE_NO_IMAGE;
    }
    /* The image runs with those that were asked for before, or with the images in use, or with all others. */
    const uint32_t choices[3] = {1u << pair | requested_pairs(update), 1u << pair, (1u << count) - 1};
    for (uint32_t i = 0; i < 3; i++) {
        if (fits(update, choices[i])) {
            update->job = SAVING;
            return device_begin_save(update, ar_boot_request(&update->boot, choices[i]));
        }
    }
    return AR_SMP_IMAGE_TEST_DENIED;
}

int device_confirm(void *context, const uint8_t *hash)
{
    const ar_update *update = context;
    if (hash && find_image(update, 0, hash) == update->boot.pair_count) {
        return device_test(context, hash); /* an image stays if it passes its own test, and only then */
    }
    return ar_update_is_trial(update) ? AR_SMP_IMAGE_CONFIRM_DENIED : AR_SMP_OK;
}

int device_group(void *context, uint32_t group, uint32_t command, ar_cbor_writer *answer)
{
    static const char counters[AR_BOOT_PAIRS][9] = {"counter0", "counter1"};
    static const char sizes[AR_BOOT_PAIRS][6] = {"size0", "size1"};
    const ar_update *update = context;
    const ar_boot *boot = &update->boot;
    const char *board = update->board->board;
    device_image image;
    uint32_t length = 0;
    if (group != GROUP || command != COMMAND_DEVICE || update->smp.operation != SMP_READ) {
        return AR_SMP_RC(AR_SMP_UNSUPPORTED);
    }
    ar_cbor_open_map(answer);
    while (board[length]) {
        length++;
    }
    ar_cbor_put_string(answer, "board", AR_CBOR_TEXT, (const uint8_t *)board, length);
    const ar_flash *firmware = device_slot(update, 0, 0);
    device_read_image(firmware, &image);
    ar_cbor_put_string(answer, "abi", AR_CBOR_BYTES, image.abi, AR_BOOT_ABI_BYTES);
    /* The check has accepted the firmware that runs, so it trusts the key that signed this firmware, and no other. */
    if (image.key_at && firmware->read(firmware->context, image.key_at, image.hash, AR_SMP_HASH_BYTES) == 0) {
        ar_cbor_put_string(answer, "key", AR_CBOR_BYTES, image.hash, AR_SMP_HASH_BYTES);
    }
    ar_cbor_put_uint(answer, "coded", CODED_VERSION);
    ar_cbor_put_uint(answer, "phase", ar_boot_phase(boot));
    ar_cbor_put_uint(answer, "outcome", ar_boot_outcome(boot));
    ar_cbor_put_uint(answer, "reason", ar_boot_reason(boot));
    ar_cbor_put_uint(answer, "pairs", field_read(boot, FIELD_PAIRS, 1)); /* that the last update changed */
    for (uint32_t pair = 0; pair < boot->pair_count; pair++) {
        const ar_flash *slot = device_slot(update, pair, 1);
        ar_cbor_put_uint(answer, counters[pair], ar_boot_counter(boot, pair));
        ar_cbor_put_uint(answer, sizes[pair], slot->pages * slot->page_bytes);
    }
    return AR_SMP_OK;
}
