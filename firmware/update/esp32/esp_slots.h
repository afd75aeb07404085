/* The partitions of an ESP32 as the memories of ar_boot (boot.h): ota_0 and ota_1 for the firmware, model_0 and model_1
 * for the model, and `update` for the state.
 *
 * An image begins with its header, but the boot loader of ESP-IDF wants the application at the start of its partition.
 * So the slot of a firmware is turned by one page: page 0 of the slot is the last page of the partition, and page n is
 * page n - 1. The header of the image fills page 0, and its payload, the application, begins at offset 0 of the
 * partition. */
#ifndef ARENITE_ESP_SLOTS_H
#define ARENITE_ESP_SLOTS_H

#include <esp_partition.h>

#include "slots.h"

/* The unit is the one of encrypted partitions. Other partitions can be written byte by byte. */
enum { ESP_SLOTS_PAGE = 4096, ESP_SLOTS_UNIT = 16 };

typedef struct {
    const esp_partition_t *partition;
    uint32_t turned; /* 1: page 0 is the last page of the partition */
} esp_slot;

typedef struct {
    ar_slots memories;
    esp_slot slots[AR_SLOTS_PAIRS][2], state;
} esp_slots;

/* Finds the partitions, and fills `memories` and what ar_boot_start needs of `boot`. Returns 0, or 1 if a partition is
 * missing, or if those of a pair have different sizes. Both structures must stay valid. */
int esp_slots_start(esp_slots *slots, ar_boot *boot);

#endif
