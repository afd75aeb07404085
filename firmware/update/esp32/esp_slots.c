#include "esp_slots.h"

/* The subtypes of our data partitions; ESP-IDF leaves 0x40 to 0xFE to applications. `arenite` (0x40) belongs to state
 * that an application learns. */
enum { SUBTYPE_STATE = 0x41, SUBTYPE_MODEL = 0x42 };

/* Returns the place in the partition of an offset in the slot. */
static uint32_t place(const esp_slot *slot, uint32_t at)
{
    if (!slot->turned) {
        return at;
    }
    return at < ESP_SLOTS_PAGE ? slot->partition->size - ESP_SLOTS_PAGE + at : at - ESP_SLOTS_PAGE;
}

/* Returns how many of `bytes` bytes from `at` are in the same page. */
static uint32_t in_page(uint32_t at, uint32_t bytes)
{
    const uint32_t rest = ESP_SLOTS_PAGE - at % ESP_SLOTS_PAGE;
    return bytes < rest ? bytes : rest;
}

static int erase(void *context, uint32_t page)
{
    const esp_slot *slot = context;
    return esp_partition_erase_range(slot->partition, place(slot, page * ESP_SLOTS_PAGE), ESP_SLOTS_PAGE) !=
           ESP_OK;
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    const esp_slot *slot = context;
    const uint8_t *from = data;
    while (bytes != 0) {
        const uint32_t part = in_page(at, bytes);
        if (esp_partition_write(slot->partition, place(slot, at), from, part) != ESP_OK) {
            return 1;
        }
        at += part;
        from += part;
        bytes -= part;
    }
    return 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    const esp_slot *slot = context;
    uint8_t *to = data;
    while (bytes != 0) {
        const uint32_t part = in_page(at, bytes);
        if (esp_partition_read(slot->partition, place(slot, at), to, part) != ESP_OK) {
            return 1;
        }
        at += part;
        to += part;
        bytes -= part;
    }
    return 0;
}

/* Finds a partition. Returns 0, or 1 if there is none that suits. */
static int find(esp_slot *slot, ar_flash *flash, uint32_t is_app, uint32_t subtype, const char *label)
{
    slot->partition = esp_partition_find_first(is_app ? ESP_PARTITION_TYPE_APP : ESP_PARTITION_TYPE_DATA,
                                               (esp_partition_subtype_t)subtype, label);
    slot->turned = is_app;
    if (slot->partition == 0 || slot->partition->erase_size > ESP_SLOTS_PAGE ||
        slot->partition->size < 2 * ESP_SLOTS_PAGE) {
        return 1;
    }
    *flash = (ar_flash){.page_bytes = ESP_SLOTS_PAGE,
                        .pages = slot->partition->size / ESP_SLOTS_PAGE,
                        .unit_bytes = ESP_SLOTS_UNIT,
                        .erase = erase,
                        .program = program,
                        .read = read,
                        .context = slot};
    return 0;
}

int esp_slots_start(esp_slots *slots, ar_boot *boot)
{
    static const char *const labels[AR_SLOTS_PAIRS][2] = {{"ota_0", "ota_1"}, {"model_0", "model_1"}};
    ar_slots *memories = &slots->memories;
    for (uint32_t pair = 0; pair < AR_SLOTS_PAIRS; pair++) {
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t is_app = pair == AR_SLOTS_FIRMWARE;
            const uint32_t subtype = is_app ? (uint32_t)ESP_PARTITION_SUBTYPE_APP_OTA_0 + i : SUBTYPE_MODEL;
            if (find(&slots->slots[pair][i], &memories->slots[pair][i], is_app, subtype, labels[pair][i])) {
                return 1;
            }
            boot->pairs[pair].slots[i] = &memories->slots[pair][i];
        }
        boot->pairs[pair].scratch = 0;
        if (memories->slots[pair][0].pages != memories->slots[pair][1].pages) {
            return 1;
        }
    }
    boot->pair_count = AR_SLOTS_PAIRS;
    boot->state = &memories->state;
    boot->trials = AR_SLOTS_TRIALS;
    boot->context = memories;
    return find(&slots->state, &memories->state, 0, SUBTYPE_STATE, "update");
}
