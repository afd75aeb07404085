/* Cuts the power of a model of a device in every operation on its flash memories, while it installs images, and again
 * in every operation of what follows. After each start, all images in use must be whole and fit together.
 *
 * power_cuts PAGE UNIT CHECK_BITS SLOT_PAGES SCRATCH_PAGES LAYOUT STORY EVERY SECOND SEED prints the numbers of first
 * and second cuts and of starts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boot.h"
#include "flash_model.h"

/* The memories. The model's slots come after those of the firmware. */
enum { STATE, SCRATCH, FIRST_SLOT };
/* Which kinds of pairs the device has. */
enum { SWAP, EXCHANGE, SWAP_AND_MODEL, LAYOUTS };
/* What the new images do. DOWNGRADE: the first ones are asked for again after the new ones were confirmed. */
enum { CONFIRMS, REJECTS, HANGS, DAMAGED, DOWNGRADE, MIXED, STORIES };
/* The generations of images. A byte of an image depends on its generation, pair and place. */
enum { NONE, OLD, NEW, BROKEN };
enum { MAX_STARTS = 40, REASON_DAMAGED = 7, REASON_COUNTER = 8, REJECTED = 9 };

typedef struct {
    model model;
    uint32_t layout, story, slot_pages;
    uint32_t depth;  /* the cuts that this copy of the device has gone through */
    uint32_t every;  /* a first cut in every `every`-th operation */
    uint32_t second; /* a second cut in one of `second` operations, by chance; 0: none */
} world;

/* The counts of all copies of the device. */
static uint64_t cuts[3], starts, outcomes[8];
static const char *failure;

static uint32_t pair_count(const world *w) { return w->layout == SWAP_AND_MODEL ? 2 : 1; }

static uint8_t image_byte(uint32_t generation, uint32_t pair, uint32_t at)
{
    const uint32_t seed = (generation == BROKEN ? NEW : generation) * 7919u + pair * 104729u + at;
    return (uint8_t)((seed * 2654435761u >> 15) ^ (generation == BROKEN && at == 5));
}

/* New images are a little longer than old ones, and end inside a page. */
static uint32_t image_bytes(const world *w, uint32_t generation)
{
    const uint32_t page = w->model.geometry.page_bytes;
    return (w->slot_pages - 1) * page - (generation == OLD ? page + page / 2 : page / 4);
}

static const ar_flash *slot_flash(const world *w, uint32_t pair, uint32_t slot)
{
    return &w->model.flashes[FIRST_SLOT + 2 * pair + slot];
}

/* The generation of the image that is whole in a slot. */
static uint32_t whole_image(const world *w, uint32_t pair, uint32_t slot)
{
    const ar_flash *flash = slot_flash(w, pair, slot);
    for (uint32_t generation = OLD; generation <= NEW; generation++) {
        const uint32_t bytes = image_bytes(w, generation);
        uint32_t at = 0;
        for (uint32_t count; at < bytes; at += count) {
            uint8_t part[256];
            count = bytes - at < sizeof part ? bytes - at : (uint32_t)sizeof part;
            uint32_t same = 0;
            if (flash->read(flash->context, at, part, count) == 0) {
                while (same < count && part[same] == image_byte(generation, pair, at + same)) {
                    same++;
                }
            }
            if (same < count) {
                break;
            }
        }
        if (at >= bytes) {
            return generation;
        }
    }
    return NONE;
}

static int check(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *image)
{
    const world *w = context;
    const uint32_t generation = whole_image(w, pair, slot);
    if (generation == NONE) {
        return REASON_DAMAGED;
    }
    memset(image->abi, (int)(pair_count(w) == 2 ? generation : 1), sizeof image->abi);
    image->bytes = image_bytes(w, generation);
    image->counter = generation;
    return image->counter < minimum ? REASON_COUNTER : 0;
}

static void fail(const char *text)
{
    if (failure == 0) {
        failure = text;
    }
}

static void wait_for_state(ar_boot *boot)
{
    int result;
    while ((result = ar_boot_step(boot)) == AR_STORE_BUSY) {
    }
    if (result != AR_STORE_SAVED) {
        fail("the state could not be saved");
    }
}

static void write_image(const world *w, uint32_t pair, uint32_t slot, uint32_t generation)
{
    const ar_flash *flash = slot_flash(w, pair, slot);
    const uint32_t bytes = image_bytes(w, generation), unit = flash->unit_bytes;
    for (uint32_t page = 0; page < flash->pages; page++) {
        flash->erase(flash->context, page);
    }
    for (uint32_t at = 0; at < bytes; at += unit) {
        uint8_t part[AR_STORE_MAX_UNIT];
        for (uint32_t i = 0; i < unit; i++) {
            part[i] = at + i < bytes ? image_byte(generation, pair, at + i) : 0xFF;
        }
        flash->program(flash->context, at, part, unit);
    }
}

/* Writes images of `generation` to all unused slots, or to that of the firmware only, and asks for them. */
static void update(const world *w, ar_boot *boot, uint32_t generation, uint32_t pairs)
{
    if (ar_boot_prepare(boot) != 0) {
        fail("an update was not permitted");
        return;
    }
    wait_for_state(boot);
    for (uint32_t i = 0; i < pair_count(w); i++) {
        if (pairs >> i & 1u) {
            write_image(w, i, boot->pairs[i].scratch != 0 ? 1 : ar_boot_slot(boot, i) ^ 1u, generation);
        }
    }
    if (ar_boot_request(boot, pairs) != 0) {
        fail("a request was not permitted");
        return;
    }
    wait_for_state(boot);
}

/* What the application does after a start. Returns 1 if the story has ended. `running`: the generation that runs. */
static int application(const world *w, ar_boot *boot, int choice, uint32_t running)
{
    const uint32_t all = pair_count(w) == 2 ? 3 : 1;
    const uint32_t outcome = ar_boot_outcome(boot);
    if (choice == AR_BOOT_RUN_TRIAL) {
        if (running == OLD) {
            fail("old images are on trial");
        }
        if (w->story == CONFIRMS || w->story == DOWNGRADE) {
            ar_boot_confirm(boot);
            wait_for_state(boot);
        } else if (w->story == REJECTS) {
            ar_boot_reject(boot, REJECTED);
            wait_for_state(boot);
        }
        return 0;
    }
    if (running == NEW) {
        if (w->story != CONFIRMS && w->story != DOWNGRADE) {
            fail("images that did not confirm themselves are in use");
        }
        if (ar_boot_counter(boot, 0) != NEW) {
            fail("the security counter did not grow");
        }
        if (w->story == DOWNGRADE && (outcome != AR_BOOT_REFUSED || ar_boot_reason(boot) != REASON_COUNTER)) {
            update(w, boot, OLD, all);
            return 0;
        }
        return 1;
    }
    if (ar_boot_counter(boot, 0) > OLD) {
        fail("old images run although their security counter is too small");
    }
    if (w->story == DAMAGED && outcome == AR_BOOT_REFUSED && ar_boot_reason(boot) == REASON_DAMAGED) {
        return 1;
    }
    if (w->story == MIXED && outcome == AR_BOOT_REFUSED && ar_boot_reason(boot) == AR_BOOT_ABI_DIFFERS) {
        return 1;
    }
    if (w->story == REJECTS && outcome == AR_BOOT_RETURNED && ar_boot_reason(boot) == REJECTED) {
        return 1;
    }
    if (w->story == HANGS && outcome == AR_BOOT_RETURNED) {
        return 1;
    }
    update(w, boot, w->story == DAMAGED ? BROKEN : NEW, w->story == MIXED ? 1 : all);
    return 0;
}

static int start(world *w)
{
    ar_boot boot;
    memset(&boot, 0, sizeof boot);
    model_restart(&w->model);
    boot.pair_count = pair_count(w);
    for (uint32_t i = 0; i < boot.pair_count; i++) {
        boot.pairs[i].slots[0] = slot_flash(w, i, 0);
        boot.pairs[i].slots[1] = slot_flash(w, i, 1);
        boot.pairs[i].scratch = i == 0 && w->layout != EXCHANGE ? &w->model.flashes[SCRATCH] : 0;
    }
    boot.state = &w->model.flashes[STATE];
    boot.trials = 2;
    boot.check = check;
    boot.context = w;
    starts++;
    if (ar_boot_start(&boot) != 0) {
        fail("the memories do not suit");
        return 1;
    }
    const int choice = ar_boot_choose(&boot);
    if (choice != AR_BOOT_RUN && choice != AR_BOOT_RUN_TRIAL) {
        fail(choice == AR_BOOT_NOTHING ? "there is no image that may run" : "the flash memory failed");
        return 1;
    }
    outcomes[ar_boot_outcome(&boot)]++;
    uint32_t running = NONE;
    for (uint32_t i = 0; i < boot.pair_count; i++) {
        const uint32_t generation = whole_image(w, i, ar_boot_slot(&boot, i));
        if (generation == NONE || (i != 0 && generation != running)) {
            fail("an image that runs is damaged, or does not fit the others");
            return 1;
        }
        running = generation;
    }
    const int ended = application(w, &boot, choice, running);
    if (w->model.violation != 0) {
        fail(w->model.violation);
    }
    return ended;
}

static void run(world *w)
{
    for (uint32_t i = 0; failure == 0; i++) {
        if (i == MAX_STARTS) {
            fail("the story does not end");
        } else if (start(w)) {
            return;
        }
    }
}

/* Before an operation: lets a copy of the device lose power in it, and live on. */
static void cut(model *m, uint32_t memory, int erases, uint32_t at, const void *data)
{
    const world *w = m->context;
    if (failure != 0 || (w->depth == 0 ? m->operations % w->every != 0 : model_random(m) % w->second != 0)) {
        return;
    }
    world copy = *w;
    model_copy(&copy.model, m);
    copy.depth++;
    copy.model.context = &copy;
    copy.model.before = copy.depth < 2 && w->second != 0 ? cut : 0;
    copy.model.random = model_random(m) | 1u;
    cuts[copy.depth]++;
    model_interrupt(&copy.model, memory, erases, at, data);
    run(&copy);
    model_destroy(&copy.model);
}

int main(int count, char **arguments)
{
    uint32_t numbers[10];
    if (count != 11) {
        return 2;
    }
    for (int i = 0; i < 10; i++) {
        numbers[i] = (uint32_t)strtoul(arguments[i + 1], 0, 10);
    }
    const model_geometry geometry = {numbers[0], numbers[1], numbers[2] != 0};
    world w;
    memset(&w, 0, sizeof w);
    w.slot_pages = numbers[3];
    w.layout = numbers[5];
    w.story = numbers[6];
    w.every = numbers[7];
    w.second = numbers[8];
    const uint32_t pages[] = {3, numbers[4], w.slot_pages, w.slot_pages, w.slot_pages, w.slot_pages};
    model_create(&w.model, &geometry, pages, FIRST_SLOT + 2 * pair_count(&w));
    w.model.random = numbers[9] * 2654435761u | 1u;
    for (uint32_t i = 0; i < pair_count(&w); i++) {
        write_image(&w, i, 0, OLD);
    }
    w.model.operations = 0;
    w.model.before = cut;
    w.model.context = &w;
    run(&w);
    printf("{\"operations\": %lu, \"first\": %llu, \"second\": %llu, \"starts\": %llu, \"outcomes\": [",
           (unsigned long)w.model.operations, (unsigned long long)cuts[1], (unsigned long long)cuts[2],
           (unsigned long long)starts);
    for (int i = 0; i < 6; i++) {
        printf("%s%llu", i == 0 ? "" : ", ", (unsigned long long)outcomes[i]);
    }
    printf("], \"failure\": %s%s%s}\n", failure == 0 ? "" : "\"", failure == 0 ? "null" : failure,
           failure == 0 ? "" : "\"");
    model_destroy(&w.model);
    return failure != 0;
}
