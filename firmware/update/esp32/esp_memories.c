/* Declared in esp_memories.h, compiled with ESP-IDF. Never run on a board. */
#include "boot.h"
#include "device_parts.h"
#include "esp_boot.h"
#include "health.h"
#include "model_code.h"
#include "program.h"
#include "update_layout.h"

#include "esp_memories.h"

#undef model
#undef golden

enum { PAYLOAD_BYTES_AT = 12 }; /* a word in the header of an image */

static const uint8_t public_key[] = PROGRAM_KEY;
static const uint8_t abi[AR_BOOT_ABI_BYTES] = PROGRAM_ABI;
static uint32_t no_memory[2 * AR_GUARD_WORDS];
static const ar_model no_model = {.name = "none", .guards = no_memory};
static const ar_golden no_samples;

model_data memories_model = {&no_model, &no_samples};

static esp_boot esp;
static int choice;
static uint32_t restarts AR_NOINIT;

/* Maps the model's partition, and loads the model that ar_boot has chosen. ar_boot has checked it and its firmware. That
 * firmware may have been signed with another ABI than it has, so the ABI is compared with that of this program too. */
static void load_model(void)
{
    const uint32_t number = ar_boot_slot(&esp.boot, AR_SLOTS_MODEL);
    const ar_flash *flash = &esp.slots.memories.slots[AR_SLOTS_MODEL][number];
    const void *payload;
    esp_partition_mmap_handle_t handle;
    device_image image;
    uint8_t size[4];
    if (!device_read_image(flash, &image) || !device_is_equal(image.abi, abi, sizeof abi) ||
        flash->read(flash->context, PAYLOAD_BYTES_AT, size, sizeof size) != 0) {
        return;
    }
    const uint32_t bytes =
        size[0] | (uint32_t)size[1] << 8 | (uint32_t)size[2] << 16 | (uint32_t)size[3] << 24;
    if (esp_partition_mmap(esp.slots.slots[AR_SLOTS_MODEL][number].partition, AR_UPDATE_MODEL_HEADER, bytes,
                           ESP_PARTITION_MMAP_DATA, &payload, &handle) != ESP_OK) {
        return;
    }
    model_data found;
    if (model_data_load(payload, bytes, &model_target, &found) == 0) {
        memories_model = found;
    }
}

int memories_start(ar_boot *memories)
{
    esp.restarts = &restarts;
    esp.public_key = public_key;
    esp.board = PROGRAM_BOARD;
    esp.check = ar_slots_check;
    choice = esp_boot_start(&esp);
    if (choice == ESP_BOOT_FAILED || choice == ESP_BOOT_OTHER) {
        return 0;
    }
    if (choice == ESP_BOOT_RUN_TRIAL) {
        port_watchdog_start();
    }
    if (choice != ESP_BOOT_NO_MODEL) {
        load_model();
    }
    *memories = esp.boot;
    return 1;
}

int memories_are_on_trial(void) { return choice == ESP_BOOT_RUN_TRIAL; }

int memories_confirm(void) { return esp_boot_confirm(); }
