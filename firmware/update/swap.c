#include "boot_record.h"

/* Bytes that are copied at once: a multiple of every unit. */
enum { PART_BYTES = AR_STORE_MAX_UNIT < 64 ? 64 : AR_STORE_MAX_UNIT };

/* The slots are swapped in groups of as many pages as the scratch has. Each group takes three steps. No step erases
 * what it reads, so a step that was interrupted is repeated from its beginning. */
enum { STEP_SAVE, STEP_FORWARD, STEP_BACK, STEPS };

static int wait(const ar_flash *flash)
{
    while (flash->busy != 0 && flash->busy(flash->context)) {
    }
    return 0;
}

static int erase_pages(const ar_flash *flash, uint32_t page, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (flash->erase(flash->context, page + i) != 0 || wait(flash) != 0) {
            return 1;
        }
    }
    return 0;
}

/* Copies `count` pages, and compares the copy with its source. */
static int copy_pages(const ar_flash *to, uint32_t to_page, const ar_flash *from, uint32_t from_page,
                      uint32_t count)
{
    uint8_t part[PART_BYTES], copy[PART_BYTES];
    const uint32_t bytes = count * to->page_bytes;
    const uint32_t source = from_page * from->page_bytes, target = to_page * to->page_bytes;
    for (uint32_t at = 0, size; at < bytes; at += size) {
        size = bytes - at < PART_BYTES ? bytes - at : (uint32_t)PART_BYTES;
        /* A unit with damaged check bits is part of no image that was valid. It is copied as erased bytes. */
        if (from->read(from->context, source + at, part, size) != 0) {
            for (uint32_t i = 0; i < size; i++) {
                part[i] = 0xFF;
            }
        }
        if (to->program(to->context, target + at, part, size) != 0 || wait(to) != 0 ||
            to->read(to->context, target + at, copy, size) != 0) {
            return 1;
        }
        for (uint32_t i = 0; i < size; i++) {
            if (copy[i] != part[i]) {
                return 1;
            }
        }
    }
    return 0;
}

static int swap_step(const ar_boot_pair *pair, uint32_t step, uint32_t page, uint32_t count)
{
    const ar_flash *used = pair->slots[0], *unused = pair->slots[1], *scratch = pair->scratch;
    switch (step) {
    case STEP_SAVE:
        return erase_pages(scratch, 0, count) || copy_pages(scratch, 0, used, page, count);
    case STEP_FORWARD:
        return erase_pages(used, page, count) || copy_pages(used, page, unused, page, count);
    default:
        return erase_pages(unused, page, count) || copy_pages(unused, page, scratch, 0, count);
    }
}

static int swap_pair(ar_boot *boot, uint32_t number)
{
    const ar_boot_pair *pair = &boot->pairs[number];
    const uint32_t end = field_read(boot, FIELD_ENDS + 2 * number, 2);
    uint32_t page;
    while ((page = field_read(boot, FIELD_PAGE, 2)) < end) {
        const uint32_t rest = end - page, group = pair->scratch->pages;
        const uint32_t count = rest < group ? rest : group, step = field_read(boot, FIELD_STEP, 1);
        if (swap_step(pair, step, page, count) != 0) {
            return 1;
        }
        field_write(boot, FIELD_STEP, 1, (step + 1) % STEPS);
        if (step + 1 == STEPS) {
            field_write(boot, FIELD_PAGE, 2, page + count);
        }
        if (ar_boot_save(boot) != 0) {
            return 1;
        }
    }
    return 0;
}

int ar_boot_swap(ar_boot *boot)
{
    for (uint32_t number; (number = field_read(boot, FIELD_PAIR, 1)) < boot->pair_count;) {
        const uint32_t chosen = field_read(boot, FIELD_PAIRS, 1) >> number & 1u;
        if (chosen && boot->pairs[number].scratch != 0 && swap_pair(boot, number) != 0) {
            return 1;
        }
        field_write(boot, FIELD_PAIR, 1, number + 1);
        field_write(boot, FIELD_PAGE, 2, 0);
        field_write(boot, FIELD_STEP, 1, STEP_SAVE);
        if (ar_boot_save(boot) != 0) {
            return 1;
        }
    }
    return 0;
}
