#include "boot.h"

#include "boot_record.h"

/* The start of the CRC of the record. Another number follows when the meaning of a field changes. */
#define RECORD_TAG 0x41423031u

static int suits(const ar_boot *boot)
{
    if (boot->pair_count == 0 || boot->pair_count > AR_BOOT_PAIRS || boot->trials == 0 ||
        boot->trials > 255) {
        return 0;
    }
    for (uint32_t i = 0; i < boot->pair_count; i++) {
        const ar_flash *first = boot->pairs[i].slots[0], *second = boot->pairs[i].slots[1],
                       *scratch = boot->pairs[i].scratch;
        if (scratch == 0) {
            continue;
        }
        if (first->page_bytes != second->page_bytes || first->pages != second->pages ||
            first->pages > UINT16_MAX || first->unit_bytes > AR_STORE_MAX_UNIT ||
            first->unit_bytes != second->unit_bytes || scratch->page_bytes != first->page_bytes ||
            scratch->unit_bytes != first->unit_bytes || scratch->pages == 0) {
            return 0;
        }
    }
    return 1;
}

int ar_boot_start(ar_boot *boot)
{
    boot->written = 0;
    boot->saving = 0;
    if (!suits(boot)) {
        return 1;
    }
    const int found =
        ar_store_start(&boot->store, boot->state, AR_BOOT_RECORD_BYTES, RECORD_TAG, boot->record);
    if (found != AR_STORE_LOADED) {
        for (uint32_t i = 0; i < AR_BOOT_RECORD_BYTES; i++) {
            boot->record[i] = 0;
        }
    }
    return found == AR_STORE_UNSUITABLE;
}

int ar_boot_save(ar_boot *boot)
{
    int result;
    ar_store_save(&boot->store, 0);
    do {
        result = ar_store_step(&boot->store);
    } while (result == AR_STORE_BUSY);
    boot->written = 1;
    return result != AR_STORE_SAVED;
}

static uint32_t all_pairs(const ar_boot *boot) { return (1u << boot->pair_count) - 1; }

/* Checks the images that are in use if the pairs of `changed` use their other slots. Returns 0 if all of them may run
 * together. `images` has room for all pairs. */
static uint32_t check(const ar_boot *boot, uint32_t changed, ar_boot_image *images)
{
    for (uint32_t i = 0; i < boot->pair_count; i++) {
        const uint32_t slot = ar_boot_slot(boot, i) ^ (changed >> i & 1u);
        const int reason = boot->check(boot->context, i, slot, ar_boot_counter(boot, i), &images[i]);
        if (reason != 0) {
            return (uint32_t)reason;
        }
        for (uint32_t k = 0; k < AR_BOOT_ABI_BYTES; k++) {
            if (images[i].abi[k] != images[0].abi[k]) {
                return AR_BOOT_ABI_DIFFERS;
            }
        }
    }
    return 0;
}

static void set_phase(ar_boot *boot, uint32_t phase, uint32_t outcome)
{
    field_write(boot, FIELD_PHASE, 1, phase);
    field_write(boot, FIELD_OUTCOME, 1, outcome);
    field_write(boot, FIELD_STARTS, 1, 0);
    field_write(boot, FIELD_STEP, 1, 0);
    field_write(boot, FIELD_PAIR, 1, 0);
    field_write(boot, FIELD_PAGE, 2, 0);
}

/* Returns the number of pages that the images in both slots of a pair take. If one of them may not run, its length is
 * unknown, and all pages count. */
static uint32_t pages_in_use(const ar_boot *boot, uint32_t pair)
{
    const ar_flash *slot = boot->pairs[pair].slots[0];
    uint32_t pages = 0;
    for (uint32_t i = 0; i < 2; i++) {
        ar_boot_image image;
        if (boot->check(boot->context, pair, i, 0, &image) != 0) {
            return slot->pages;
        }
        const uint32_t end = (image.bytes - 1) / slot->page_bytes + 1;
        pages = end > pages ? end : pages;
    }
    return pages < slot->pages ? pages : slot->pages;
}

/* Begins the installation of the other images of the pairs in `changed`, which were found to be good. */
static int begin_install(ar_boot *boot, uint32_t changed, uint32_t outcome, const ar_boot_image *images)
{
    for (uint32_t i = 0; i < boot->pair_count; i++) {
        if (boot->pairs[i].scratch != 0 && (changed >> i & 1u)) {
            field_write(boot, FIELD_ENDS + 2 * i, 2, pages_in_use(boot, i));
        }
        field_write(boot, FIELD_NEW + 4 * i, 4, images[i].counter);
    }
    field_write(boot, FIELD_PAIRS, 1, changed);
    field_write(boot, FIELD_REASON, 1, 0);
    set_phase(boot, AR_BOOT_INSTALL, outcome);
    return ar_boot_save(boot);
}

/* Installs the images that were asked for, or puts the old ones back. */
static int change(ar_boot *boot, uint32_t phase, uint32_t outcome)
{
    if (!boot->written && ar_boot_save(boot) != 0) {
        return 1;
    }
    if (ar_boot_swap(boot) != 0) {
        return 1;
    }
    uint32_t active = field_read(boot, FIELD_ACTIVE, 1);
    const uint32_t pairs = field_read(boot, FIELD_PAIRS, 1);
    for (uint32_t i = 0; i < boot->pair_count; i++) {
        if (boot->pairs[i].scratch == 0) {
            active ^= pairs & 1u << i;
        }
    }
    field_write(boot, FIELD_ACTIVE, 1, active);
    set_phase(boot, phase, outcome);
    return ar_boot_save(boot);
}

/* The functions for the phases return what runs, or GO_ON if the phase has changed. */
enum { GO_ON = AR_BOOT_FAILED - 1 };

static int steady(ar_boot *boot)
{
    ar_boot_image images[AR_BOOT_PAIRS];
    if (check(boot, 0, images) == 0) {
        return AR_BOOT_RUN;
    }
    for (uint32_t changed = 1; changed <= all_pairs(boot); changed++) {
        if (check(boot, changed, images) == 0) {
            return begin_install(boot, changed, AR_BOOT_REPAIRED, images) ? AR_BOOT_FAILED : GO_ON;
        }
    }
    return AR_BOOT_NOTHING;
}

static int requested(ar_boot *boot)
{
    ar_boot_image images[AR_BOOT_PAIRS];
    const uint32_t pairs = field_read(boot, FIELD_PAIRS, 1), reason = check(boot, pairs, images);
    if (reason == 0) {
        return begin_install(boot, pairs, AR_BOOT_NO_UPDATE, images) ? AR_BOOT_FAILED : GO_ON;
    }
    field_write(boot, FIELD_REASON, 1, reason);
    set_phase(boot, AR_BOOT_STEADY, AR_BOOT_REFUSED);
    return ar_boot_save(boot) ? AR_BOOT_FAILED : GO_ON;
}

static int trial(ar_boot *boot)
{
    ar_boot_image images[AR_BOOT_PAIRS];
    const uint32_t starts = field_read(boot, FIELD_STARTS, 1), reason = check(boot, 0, images);
    if (reason == 0 && starts < boot->trials) {
        field_write(boot, FIELD_STARTS, 1, starts + 1);
        return ar_boot_save(boot) ? AR_BOOT_FAILED : AR_BOOT_RUN_TRIAL;
    }
    if (check(boot, field_read(boot, FIELD_PAIRS, 1), images) == 0) {
        if (reason != 0) {
            field_write(boot, FIELD_REASON, 1, reason);
        }
        set_phase(boot, AR_BOOT_RETURN, ar_boot_outcome(boot));
    } else if (reason == 0) {
        set_phase(boot, AR_BOOT_STEADY, AR_BOOT_KEPT);
    } else {
        return AR_BOOT_NOTHING;
    }
    return ar_boot_save(boot) ? AR_BOOT_FAILED : GO_ON;
}

int ar_boot_choose(ar_boot *boot)
{
    int result = GO_ON;
    /* The longest way, REQUESTED, INSTALL, TRIAL, RETURN, STEADY, has five phases. A memory that reads differently each
     * time must not keep the device here. */
    for (uint32_t round = 0; round < 8 && result == GO_ON; round++) {
        switch (ar_boot_phase(boot)) {
        case AR_BOOT_STEADY:
            result = steady(boot);
            break;
        case AR_BOOT_REQUESTED:
            result = requested(boot);
            break;
        case AR_BOOT_INSTALL:
            result = change(boot, AR_BOOT_TRIAL, ar_boot_outcome(boot)) ? AR_BOOT_FAILED : GO_ON;
            break;
        case AR_BOOT_TRIAL:
            result = trial(boot);
            break;
        case AR_BOOT_RETURN:
            result = change(boot, AR_BOOT_STEADY, AR_BOOT_RETURNED) ? AR_BOOT_FAILED : GO_ON;
            break;
        default:
            return AR_BOOT_FAILED;
        }
    }
    return result == GO_ON ? AR_BOOT_FAILED : result;
}

static int begin_save(ar_boot *boot)
{
    boot->saving = 1;
    return !ar_store_save(&boot->store, 0);
}

static int may_change(const ar_boot *boot, int on_trial)
{
    const uint32_t phase = ar_boot_phase(boot);
    return !boot->saving &&
           (on_trial ? phase == AR_BOOT_TRIAL : phase == AR_BOOT_STEADY || phase == AR_BOOT_REQUESTED);
}

int ar_boot_prepare(ar_boot *boot)
{
    if (!may_change(boot, 0)) {
        return 1;
    }
    field_write(boot, FIELD_PHASE, 1, AR_BOOT_STEADY);
    return begin_save(boot);
}

int ar_boot_request(ar_boot *boot, uint32_t pairs)
{
    if (!may_change(boot, 0) || pairs == 0 || pairs > all_pairs(boot)) {
        return 1;
    }
    field_write(boot, FIELD_PAIRS, 1, pairs);
    field_write(boot, FIELD_PHASE, 1, AR_BOOT_REQUESTED);
    return begin_save(boot);
}

int ar_boot_confirm(ar_boot *boot)
{
    if (!may_change(boot, 1)) {
        return 1;
    }
    for (uint32_t i = 0; i < boot->pair_count; i++) {
        const uint32_t new = field_read(boot, FIELD_NEW + 4 * i, 4);
        if (new > ar_boot_counter(boot, i)) {
            field_write(boot, FIELD_MINIMUM + 4 * i, 4, new);
        }
    }
    set_phase(boot, AR_BOOT_STEADY, AR_BOOT_CONFIRMED);
    return begin_save(boot);
}

int ar_boot_reject(ar_boot *boot, uint32_t reason)
{
    if (!may_change(boot, 1) || reason == 0 || reason > 255) {
        return 1;
    }
    field_write(boot, FIELD_REASON, 1, reason);
    field_write(boot, FIELD_STARTS, 1, 255); /* as many as `trials` can be */
    return begin_save(boot);
}

int ar_boot_step(ar_boot *boot)
{
    const int result = ar_store_step(&boot->store);
    if (result != AR_STORE_BUSY) {
        boot->saving = 0;
    }
    if (result == AR_STORE_SAVED) {
        boot->written = 1;
    }
    return result;
}
