#include "esp_boot.h"

#include <esp_ota_ops.h>
#include <esp_system.h>

#include "boot_record.h"

/* Restarts in a row, at most, because the record and `otadata` name different applications. If the boot loader cannot
 * start the one that the record names, the running one stays until the next loss of power. */
enum { MAX_RESTARTS = 8 };
#define RESTARTS_TAG 0x41455200u

/* Counts a restart. Returns 0 if there were too many. */
static int may_restart(uint32_t *restarts)
{
    const uint32_t count = (*restarts & ~0xFFu) == RESTARTS_TAG ? *restarts & 0xFFu : 0;
    *restarts = RESTARTS_TAG | (count < MAX_RESTARTS ? count + 1 : count);
    return count < MAX_RESTARTS;
}

/* The boot loader counts a start of a firmware on trial as one, and the old firmware that asks for it needs another. */
static uint32_t trials(const ar_boot *boot)
{
    const uint32_t has_firmware = field_read(boot, FIELD_PAIRS, 1) >> AR_SLOTS_FIRMWARE & 1u;
    return has_firmware ? 2 * AR_SLOTS_TRIALS : AR_SLOTS_TRIALS;
}

static int reject(ar_boot *boot)
{
    int result = ar_boot_reject(boot, ESP_BOOT_REFUSED) ? AR_STORE_FAILED : AR_STORE_BUSY;
    while (result == AR_STORE_BUSY) {
        result = ar_boot_step(boot);
    }
    return result != AR_STORE_SAVED;
}

/* Lets the boot loader start `wanted`. It returns only if this is not possible. */
static void change_to(uint32_t *restarts, const esp_partition_t *wanted)
{
    if (!may_restart(restarts)) {
        return;
    }
    if (esp_ota_set_boot_partition(wanted) == ESP_OK) {
        esp_restart();
    }
}

static const esp_partition_t *wanted_partition(const esp_boot *esp)
{
    return esp->slots.slots[AR_SLOTS_FIRMWARE][ar_boot_slot(&esp->boot, AR_SLOTS_FIRMWARE)].partition;
}

/* No images may run together. If the firmware that the record names is damaged, the boot loader has started the other one.
 * Then the record must name the one that runs, because an update is written to the other slot. */
static int without_model(esp_boot *esp, const esp_partition_t *running)
{
    ar_boot *boot = &esp->boot;
    if (wanted_partition(esp) == running) {
        return ESP_BOOT_NO_MODEL;
    }
    if (ar_boot_phase(boot) != AR_BOOT_STEADY) {
        return ESP_BOOT_OTHER;
    }
    field_write(boot, FIELD_ACTIVE, 1, field_read(boot, FIELD_ACTIVE, 1) ^ 1u << AR_SLOTS_FIRMWARE);
    return ar_boot_save(boot) ? ESP_BOOT_FAILED : ESP_BOOT_NO_MODEL;
}

int esp_boot_confirm(void)
{
    const esp_partition_t *running = esp_ota_get_running_partition();
    /* The first function marks what `otadata` names, which is another application if that one is damaged. It fails if a
     * power cut has destroyed `otadata`. */
    if (esp_ota_get_boot_partition() == running && esp_ota_mark_app_valid_cancel_rollback() == ESP_OK) {
        return 0;
    }
    return esp_ota_set_boot_partition(running) != ESP_OK ||
           esp_ota_mark_app_valid_cancel_rollback() != ESP_OK;
}

int esp_boot_start(esp_boot *esp)
{
    ar_boot *boot = &esp->boot;
    const esp_partition_t *running = esp_ota_get_running_partition();
    if (esp_slots_start(&esp->slots, boot) != 0 || running == 0) {
        return ESP_BOOT_FAILED;
    }
    esp->slots.memories.public_key = esp->public_key;
    esp->slots.memories.board = esp->board;
    boot->check = esp->check;
    if (ar_boot_start(boot) != 0) {
        return ESP_BOOT_FAILED;
    }
    /* The second round is for a firmware that ESP-IDF refuses. */
    for (uint32_t round = 0; round < 2; round++) {
        boot->trials = trials(boot);
        const int choice = ar_boot_choose(boot);
        if (choice == AR_BOOT_FAILED || choice == AR_BOOT_NOTHING) {
            return choice == AR_BOOT_FAILED ? ESP_BOOT_FAILED : without_model(esp, running);
        }
        const esp_partition_t *wanted = wanted_partition(esp);
        if (wanted == running) {
            *esp->restarts = 0;
            if (choice == AR_BOOT_RUN_TRIAL) {
                return ESP_BOOT_RUN_TRIAL;
            }
            /* An error only means that the next start tries again. */
            (void)esp_boot_confirm();
            return ESP_BOOT_RUN;
        }
        change_to(esp->restarts, wanted);
        if (choice != AR_BOOT_RUN_TRIAL || reject(boot) != 0) {
            return ESP_BOOT_OTHER;
        }
    }
    return ESP_BOOT_OTHER;
}
