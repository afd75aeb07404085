#include "esp_model.h"

#include "esp_ota_ops.h"

/* One of the two entries of `otadata`, each at the start of a page. */
typedef struct {
    uint32_t sequence; /* the slot is (sequence - 1) % 2 */
    uint8_t label[20];
    uint32_t state;
    uint32_t crc; /* of `sequence` */
} entry;

esp_device *esp_now;

static const esp_partition_t partitions[MEMORIES] = {
    {0, ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_DATA_OTA, 0xE000, 2 * ESP_PAGE, ESP_PAGE, "otadata", 0,
     0},
    {0, ESP_PARTITION_TYPE_DATA, (esp_partition_subtype_t)0x41, 0x10000, UPDATE_PAGES * ESP_PAGE, ESP_PAGE,
     "update", 0, 0},
    {0, ESP_PARTITION_TYPE_APP, (esp_partition_subtype_t)0x10, 0x20000, OTA_PAGES * ESP_PAGE, ESP_PAGE,
     "ota_0", 0, 0},
    {0, ESP_PARTITION_TYPE_APP, (esp_partition_subtype_t)0x11, 0x30000, OTA_PAGES * ESP_PAGE, ESP_PAGE,
     "ota_1", 0, 0},
    {0, ESP_PARTITION_TYPE_DATA, (esp_partition_subtype_t)0x42, 0x40000, MODEL_PAGES * ESP_PAGE, ESP_PAGE,
     "model_0", 0, 0},
    {0, ESP_PARTITION_TYPE_DATA, (esp_partition_subtype_t)0x42, 0x50000, MODEL_PAGES * ESP_PAGE, ESP_PAGE,
     "model_1", 0, 0},
};

static const ar_flash *flash_of(const esp_partition_t *partition)
{
    return &esp_now->flash.flashes[partition - partitions];
}

static int is_equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const esp_partition_t *esp_partition_find_first(esp_partition_type_t type, esp_partition_subtype_t subtype,
                                                const char *label)
{
    for (int i = 0; i < MEMORIES; i++) {
        if (partitions[i].type == type &&
            (subtype == ESP_PARTITION_SUBTYPE_ANY || partitions[i].subtype == subtype) &&
            (label == 0 || is_equal(partitions[i].label, label))) {
            return &partitions[i];
        }
    }
    return 0;
}

esp_err_t esp_partition_read(const esp_partition_t *partition, size_t from, void *to, size_t size)
{
    const ar_flash *flash = flash_of(partition);
    if (from > partition->size) {
        return ESP_ERR_INVALID_ARG;
    }
    if (size > partition->size - from) {
        return ESP_ERR_INVALID_SIZE;
    }
    return flash->read(flash->context, (uint32_t)from, to, (uint32_t)size) ? ESP_FAIL : ESP_OK;
}

esp_err_t esp_partition_write(const esp_partition_t *partition, size_t to, const void *from, size_t size)
{
    const ar_flash *flash = flash_of(partition);
    if (to > partition->size) {
        return ESP_ERR_INVALID_ARG;
    }
    if (size > partition->size - to) {
        return ESP_ERR_INVALID_SIZE;
    }
    return flash->program(flash->context, (uint32_t)to, from, (uint32_t)size) ? ESP_FAIL : ESP_OK;
}

esp_err_t esp_partition_erase_range(const esp_partition_t *partition, size_t offset, size_t size)
{
    const ar_flash *flash = flash_of(partition);
    if (offset > partition->size || offset % ESP_PAGE != 0) {
        return ESP_ERR_INVALID_ARG;
    }
    if (size > partition->size - offset || size % ESP_PAGE != 0) {
        return ESP_ERR_INVALID_SIZE;
    }
    for (size_t at = offset; at < offset + size; at += ESP_PAGE) {
        if (flash->erase(flash->context, (uint32_t)(at / ESP_PAGE)) != 0) {
            return ESP_FAIL;
        }
    }
    return ESP_OK;
}

/* The CRC-32 of esp_rom_crc32_le with a start of 0xFFFFFFFF: the register begins at 0. */
static uint32_t crc_of(const entry *e)
{
    uint32_t crc = 0;
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t bit = (e->sequence >> i & 1u) ^ (crc & 1u);
        crc = crc >> 1 ^ (bit ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static void read_entries(entry entries[2])
{
    for (size_t i = 0; i < 2; i++) {
        (void)esp_partition_read(&partitions[OTADATA], i * ESP_PAGE, &entries[i], sizeof(entry));
    }
}

static esp_err_t write_entry(entry *e, int number)
{
    const size_t at = (size_t)number * ESP_PAGE;
    e->crc = crc_of(e);
    const esp_err_t result = esp_partition_erase_range(&partitions[OTADATA], at, ESP_PAGE);
    return result == ESP_OK ? esp_partition_write(&partitions[OTADATA], at, e, sizeof *e) : result;
}

static int is_rejected(const entry *e)
{
    return e->sequence == UINT32_MAX || e->state == IMG_INVALID || e->state == IMG_ABORTED;
}

static int is_valid(const entry *e) { return !is_rejected(e) && e->crc == crc_of(e); }

static int slot_of(const entry *e) { return (int)((e->sequence - 1) % 2); }

/* Returns the number of the valid entry with the highest sequence, or -1. */
static int active(const entry entries[2])
{
    if (is_valid(&entries[0]) && is_valid(&entries[1])) {
        return entries[1].sequence > entries[0].sequence;
    }
    return is_valid(&entries[0]) ? 0 : is_valid(&entries[1]) ? 1 : -1;
}

void esp_model_boot(void)
{
    entry entries[2];
    int is_initial = 0, first = -1;
    read_entries(entries);
    for (int i = 0; i < 2; i++) {
        if (entries[i].state == IMG_PENDING) {
            entries[i].state = IMG_ABORTED;
            (void)write_entry(&entries[i], i);
        }
    }
    if (is_rejected(&entries[0]) && is_rejected(&entries[1])) {
        first = 0;
        is_initial = 1;
        for (int i = 0; i < 2; i++) {
            is_initial &= entries[i].sequence == UINT32_MAX || entries[i].crc != crc_of(&entries[i]);
        }
    } else if (active(entries) >= 0) {
        entry *e = &entries[active(entries)];
        first = slot_of(e);
        if (e->state == IMG_NEW) {
            e->state = IMG_PENDING;
            (void)write_entry(e, (int)(e - entries));
        }
    }
    /* The slots from the chosen one down, and then those behind it. */
    for (int i = 0; i < 2; i++) {
        const int slot = first < 0 ? i : i == 0 ? first : !first;
        if (esp_image_is_valid(slot) && slot != esp_now->refused - 1) {
            if (is_initial) {
                entry e = {.sequence = (uint32_t)slot + 1, .state = IMG_VALID};
                (void)write_entry(&e, 0);
            }
            esp_now->running = slot;
            return;
        }
    }
    esp_now->boot_fail = 1;
}

int esp_model_state(int slot)
{
    entry entries[2];
    read_entries(entries);
    for (int i = 0; i < 2; i++) {
        if (slot_of(&entries[i]) == slot && entries[i].crc == crc_of(&entries[i])) {
            return (int)entries[i].state;
        }
    }
    return -1;
}

const esp_partition_t *esp_ota_get_running_partition(void) { return &partitions[OTA_0 + esp_now->running]; }

const esp_partition_t *esp_ota_get_boot_partition(void)
{
    entry entries[2];
    read_entries(entries);
    const int number = active(entries);
    return &partitions[OTA_0 + (number < 0 ? 0 : slot_of(&entries[number]))];
}

esp_err_t esp_ota_set_boot_partition(const esp_partition_t *partition)
{
    const int slot = (int)(partition - partitions) - OTA_0;
    entry entries[2];
    if (slot < 0 || slot > 1) {
        return ESP_ERR_INVALID_ARG;
    }
    if (!esp_image_is_valid(slot)) {
        return ESP_ERR_OTA_VALIDATE_FAILED;
    }
    read_entries(entries);
    const int number = active(entries);
    int target = 0;
    if (number < 0) {
        entries[0].sequence = (uint32_t)slot + 1;
    } else if (slot_of(&entries[number]) == slot) {
        target = number;
    } else {
        target = !number;
        entries[target].sequence = entries[number].sequence + 1;
    }
    entries[target].state = IMG_NEW;
    return write_entry(&entries[target], target);
}

esp_err_t esp_ota_mark_app_valid_cancel_rollback(void)
{
    entry entries[2];
    read_entries(entries);
    const int number = active(entries);
    if (number < 0) {
        return ESP_FAIL;
    }
    if (entries[number].state == IMG_VALID) {
        return ESP_OK;
    }
    entries[number].state = IMG_VALID;
    return write_entry(&entries[number], number);
}
