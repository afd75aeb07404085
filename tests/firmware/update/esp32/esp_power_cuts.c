/* Cuts the power of a model of an ESP32 in every operation on its flash memory while it updates firmware and model, and
 * again in every operation of what follows. After each start, firmware and model must be whole and fit together.
 *
 * esp_power_cuts STORY SECOND SEED prints the numbers of first and second cuts and of starts. There is a second cut in one
 * of SECOND operations, by chance; 0: none. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "esp_boot.h"
#include "esp_model.h"
#include "esp_system.h"

/* What the new images do. CRASHES: the new firmware crashes before it calls esp_boot_start. DAMAGED: our check refuses it.
 * FOREIGN: our check accepts it, but ESP-IDF does not start it. DOWNGRADE: the old images are asked for after the new ones
 * were confirmed. STUCK: the boot loader of ESP-IDF no longer starts the new firmware after it was confirmed. GONE: the
 * new firmware is damaged after it was confirmed. The stories from
 * MODEL_CONFIRMS on have a new model and no new firmware. */
enum {
    CONFIRMS,
    REJECTS,
    HANGS,
    CRASHES,
    DAMAGED,
    FOREIGN,
    DOWNGRADE,
    STUCK,
    GONE,
    MODEL_CONFIRMS,
    MODEL_REJECTS,
    MODEL_HANGS
};
enum { FIRMWARE = 1, MODEL = 2 };
/* The generations of images. A byte of an image depends on its generation, pair and place. */
enum { NONE, OLD, NEW, BROKEN };
enum { MAX_STARTS = 60, REASON_DAMAGED = 7, REASON_COUNTER = 8, REJECTED = 9, PAYLOAD = 112, PART = 32 };

typedef struct {
    esp_device device; /* first, so that a pointer to it is one to the world */
    uint32_t story, second, depth;
    uint32_t is_damaged;
    jmp_buf restart; /* where esp_restart goes */
} world;

static uint64_t cuts[3], starts;
static const char *failure;

static world *now(void) { return (world *)(void *)esp_now; }

void esp_restart(void) { longjmp(now()->restart, 1); }

static void fail(const char *text)
{
    if (failure == 0) {
        failure = text;
    }
}

static uint8_t image_byte(uint32_t generation, uint32_t pair, uint32_t at)
{
    const uint32_t seed = (generation == BROKEN ? NEW : generation) * 7919u + pair * 104729u + at;
    return (uint8_t)((seed * 2654435761u >> 15) ^ (generation == BROKEN && at % ESP_PAGE == 5));
}

/* An image of a firmware has a header in its first page. The payload begins in the second one. */
static uint32_t payload_at(uint32_t pair) { return pair == AR_SLOTS_FIRMWARE ? ESP_PAGE : 0; }

static int is_equal(const ar_flash *flash, uint32_t at, uint32_t image_at, uint32_t bytes,
                    uint32_t generation, uint32_t pair)
{
    uint8_t part[PAYLOAD];
    if (flash->read(flash->context, at, part, bytes) != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < bytes; i++) {
        if (part[i] != image_byte(generation, pair, image_at + i)) {
            return 0;
        }
    }
    return 1;
}

/* The boot loader of ESP-IDF sees the payload at the start of the partition, and not the header. */
int esp_image_is_valid(int slot)
{
    const ar_flash *flash = &esp_now->flash.flashes[OTA_0 + slot];
    if (now()->story == FOREIGN && is_equal(flash, 0, ESP_PAGE, PAYLOAD, NEW, 0)) {
        return 0;
    }
    return is_equal(flash, 0, ESP_PAGE, PAYLOAD, OLD, 0) || is_equal(flash, 0, ESP_PAGE, PAYLOAD, NEW, 0);
}

/* The generation of the image that is whole in a slot. */
static uint32_t whole_image(const ar_flash *flash, uint32_t pair)
{
    for (uint32_t generation = OLD; generation <= NEW; generation++) {
        const uint32_t payload = payload_at(pair);
        if (is_equal(flash, payload, payload, PAYLOAD, generation, pair) &&
            (payload == 0 || is_equal(flash, 0, 0, PART, generation, pair))) {
            return generation;
        }
    }
    return NONE;
}

static int check(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *image)
{
    const ar_slots *slots = context;
    const uint32_t generation = whole_image(&slots->slots[pair][slot], pair);
    if (generation == NONE) {
        return REASON_DAMAGED;
    }
    memset(image->abi, (int)(now()->story >= MODEL_CONFIRMS ? 1 : generation), sizeof image->abi);
    image->bytes = payload_at(pair) + PAYLOAD;
    image->counter = generation;
    return image->counter < minimum ? REASON_COUNTER : 0;
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

static void program(const ar_flash *flash, uint32_t pair, uint32_t generation, uint32_t from, uint32_t bytes)
{
    for (uint32_t at = from; at < from + bytes; at += ESP_UNIT) {
        uint8_t part[ESP_UNIT];
        for (uint32_t i = 0; i < ESP_UNIT; i++) {
            part[i] = image_byte(generation, pair, at + i);
        }
        if (flash->program(flash->context, at, part, ESP_UNIT) != 0) {
            fail("a unit could not be programmed");
        }
    }
}

static void write_image(const ar_flash *flash, uint32_t pair, uint32_t generation)
{
    for (uint32_t page = 0; page < flash->pages; page++) {
        if (flash->erase(flash->context, page) != 0) {
            fail("a page could not be erased");
        }
    }
    if (payload_at(pair) != 0) {
        program(flash, pair, generation, 0, PART);
    }
    program(flash, pair, generation, payload_at(pair), PAYLOAD);
}

static void update(ar_boot *boot, uint32_t generation, uint32_t pairs)
{
    if (ar_boot_prepare(boot) != 0) {
        fail("an update was not permitted");
        return;
    }
    wait_for_state(boot);
    for (uint32_t pair = 0; pair < AR_SLOTS_PAIRS; pair++) {
        if (pairs >> pair & 1u) {
            write_image(boot->pairs[pair].slots[ar_boot_slot(boot, pair) ^ 1u], pair, generation);
        }
    }
    if (ar_boot_request(boot, pairs) != 0) {
        fail("a request was not permitted");
        return;
    }
    wait_for_state(boot);
}

/* What the application does after a start with images of `generation`. Returns 1 if the story has ended. */
static int application(ar_boot *boot, int choice, uint32_t generation)
{
    const uint32_t story = now()->story, outcome = ar_boot_outcome(boot), reason = ar_boot_reason(boot);
    const uint32_t pairs = story >= MODEL_CONFIRMS ? MODEL : FIRMWARE | MODEL;
    const int confirms =
        story == CONFIRMS || story == DOWNGRADE || story == STUCK || story == GONE || story == MODEL_CONFIRMS;
    if (choice == ESP_BOOT_RUN_TRIAL) {
        if (generation == OLD) {
            fail("old images are on trial");
        }
        if (confirms) {
            if (esp_boot_confirm() != 0 || ar_boot_confirm(boot) != 0) {
                fail("a confirmation was not permitted");
            }
            wait_for_state(boot);
        } else if (story == REJECTS || story == MODEL_REJECTS) {
            if (ar_boot_reject(boot, REJECTED) != 0) {
                fail("a rejection was not permitted");
            }
            wait_for_state(boot);
        }
        return 0;
    }
    if (esp_model_state(esp_now->running) != IMG_VALID) {
        fail("ESP-IDF does not know that the firmware is valid");
    }
    if (esp_now->kept != 0) {
        fail("restarts before a successful start still count");
    }
    if (generation == NEW) {
        if (!confirms) {
            fail("images that did not confirm themselves are in use");
        }
        if (ar_boot_counter(boot, 1) != NEW) {
            fail("the security counter did not grow");
        }
        if (story == DOWNGRADE && (outcome != AR_BOOT_REFUSED || reason != REASON_COUNTER)) {
            update(boot, OLD, pairs);
            return 0;
        }
        if (story == GONE && !now()->is_damaged) {
            const ar_flash *flash = boot->pairs[0].slots[ar_boot_slot(boot, 0)];
            now()->is_damaged = 1;
            (void)flash->erase(flash->context, 1);
            return 0;
        }
        esp_now->refused = story == STUCK ? 1 + esp_now->running : 0;
        return story != STUCK;
    }
    if (ar_boot_counter(boot, 1) > OLD) {
        fail("old images run although their security counter is too small");
    }
    if ((story == DAMAGED && outcome == AR_BOOT_REFUSED && reason == REASON_DAMAGED) ||
        (story == FOREIGN && outcome == AR_BOOT_RETURNED && reason == ESP_BOOT_REFUSED) ||
        ((story == REJECTS || story == MODEL_REJECTS) && outcome == AR_BOOT_RETURNED && reason == REJECTED) ||
        ((story == HANGS || story == CRASHES || story == MODEL_HANGS || esp_now->refused != 0) &&
         outcome == AR_BOOT_RETURNED)) {
        return 1;
    }
    update(boot, story == DAMAGED ? BROKEN : NEW, pairs);
    return 0;
}

static int start(world *w)
{
    static const uint8_t key[1] = {0};
    esp_boot esp;
    memset(&esp, 0xA5, sizeof esp); /* as RAM may be */
    memset(&esp.boot, 0, sizeof esp.boot);
    starts++;
    model_restart(&w->device.flash);
    esp_model_boot();
    if (esp_now->boot_fail) {
        fail("the boot loader found no application");
        return 1;
    }
    const ar_flash *application_flash = &esp_now->flash.flashes[OTA_0 + esp_now->running];
    const int is_new = is_equal(application_flash, 0, ESP_PAGE, PAYLOAD, NEW, 0);
    if (w->story == CRASHES && is_new) {
        return 0;
    }
    esp.restarts = &w->device.kept;
    esp.public_key = key;
    esp.board = "esp32";
    esp.check = check;
    if (setjmp(w->restart) != 0) {
        return 0;
    }
    const int choice = esp_boot_start(&esp);
    if (w->device.refused != 0 && choice == ESP_BOOT_OTHER) {
        return 1;
    }
    if (w->is_damaged && choice == ESP_BOOT_NO_MODEL) {
        update(&esp.boot, NEW, FIRMWARE | MODEL);
        return 0;
    }
    if (choice != ESP_BOOT_RUN && choice != ESP_BOOT_RUN_TRIAL) {
        fail(choice == ESP_BOOT_NO_MODEL ? "no firmware and model may run together" : "the memory failed");
        return 1;
    }
    const uint32_t slot = ar_boot_slot(&esp.boot, 0);
    const uint32_t firmware = whole_image(&esp.slots.memories.slots[0][slot], 0);
    const uint32_t network = whole_image(&esp.slots.memories.slots[1][ar_boot_slot(&esp.boot, 1)], 1);
    if ((int)slot != esp_now->running) {
        fail("another firmware runs than the record names");
    }
    if (firmware == NONE || network == NONE || (w->story < MODEL_CONFIRMS && firmware != network)) {
        fail("an image that runs is damaged, or does not fit the other one");
        return 1;
    }
    return application(&esp.boot, choice, network);
}

static void run(world *w)
{
    for (uint32_t i = 0; failure == 0; i++) {
        if (i == MAX_STARTS) {
            fail("the story does not end");
        } else if (start(w)) {
            break;
        }
    }
    if (w->device.flash.violation != 0) {
        fail(w->device.flash.violation);
    }
}

/* Before an operation: lets a copy of the device lose power in it, and live on. */
static void cut(model *m, uint32_t memory, int erases, uint32_t at, const void *data)
{
    esp_device *before = esp_now;
    const world *w = now();
    if (failure != 0 || (w->depth != 0 && model_random(m) % w->second != 0)) {
        return;
    }
    world copy = *w;
    model_copy(&copy.device.flash, m);
    copy.depth++;
    copy.device.flash.before = copy.depth < 2 && w->second != 0 ? cut : 0;
    copy.device.flash.random = model_random(m) | 1u;
    copy.device.kept = model_random(m) % 4 ? model_random(m) : copy.device.kept; /* RAM may keep its value */
    cuts[copy.depth]++;
    esp_now = &copy.device;
    model_interrupt(&copy.device.flash, memory, erases, at, data);
    run(&copy);
    model_destroy(&copy.device.flash);
    esp_now = before;
}

int main(int count, char **arguments)
{
    static world w;
    if (count != 4) {
        return 2;
    }
    w.story = (uint32_t)strtoul(arguments[1], 0, 10);
    w.second = (uint32_t)strtoul(arguments[2], 0, 10);
    esp_now = &w.device;
    static const model_geometry geometry = {ESP_PAGE, ESP_UNIT, 0};
    static const uint32_t pages[MEMORIES] = {2, UPDATE_PAGES, OTA_PAGES, OTA_PAGES, MODEL_PAGES, MODEL_PAGES};
    model_create(&w.device.flash, &geometry, pages, MEMORIES);
    w.device.flash.random = (uint32_t)strtoul(arguments[3], 0, 10) * 2654435761u | 1u;
    ar_boot boot;
    static esp_slots slots;
    memset(&boot, 0, sizeof boot);
    if (esp_slots_start(&slots, &boot) != 0) {
        return 3;
    }
    write_image(boot.pairs[0].slots[0], 0, OLD);
    write_image(boot.pairs[1].slots[0], 1, OLD);
    w.device.flash.operations = 0;
    w.device.flash.before = cut;
    run(&w);
    printf(
        "{\"operations\": %lu, \"first\": %llu, \"second\": %llu, \"starts\": %llu, \"failure\": %s%s%s}\n",
        (unsigned long)w.device.flash.operations, (unsigned long long)cuts[1], (unsigned long long)cuts[2],
        (unsigned long long)starts, failure == 0 ? "" : "\"", failure == 0 ? "null" : failure,
        failure == 0 ? "" : "\"");
    model_destroy(&w.device.flash);
    return failure != 0;
}
