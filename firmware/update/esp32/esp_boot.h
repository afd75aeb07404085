/* Decides after each start of an ESP32 which firmware and model run, together with the boot loader of ESP-IDF.
 *
 * The boot loader starts the application that `otadata` names. It knows no model and no signature of ours, and gives a new
 * application one start: without a confirmation, the next start returns to the old application. ar_boot (boot.h) knows
 * firmware and model, and its record decides. So each application calls esp_boot_start first. If the record names the
 * other firmware, it changes `otadata` and restarts. A firmware on trial that was replaced by the boot loader is started
 * again until it has had AR_SLOTS_TRIALS starts.
 *
 * The order of writes makes each power cut harmless:
 *   - The record is written before `otadata` changes to the new firmware.
 *   - `otadata` says that the new firmware is valid before the record says that it is confirmed. */
#ifndef ARENITE_ESP_BOOT_H
#define ARENITE_ESP_BOOT_H

#include "boot.h"
#include "esp_slots.h"

enum {
    ESP_BOOT_RUN,       /* run the firmware and the model that ar_boot names */
    ESP_BOOT_RUN_TRIAL, /* the same, on trial: start the watchdog first */
    ESP_BOOT_NO_MODEL,  /* no firmware and model may run together: take an update */
    ESP_BOOT_OTHER,     /* the chip does not start the firmware that the record names: take no update */
    ESP_BOOT_FAILED     /* the partitions are others, or the flash memory does not work */
};

/* The reason of ar_boot_reject if ESP-IDF refuses the new firmware: it is no application for this chip. */
enum { ESP_BOOT_REFUSED = 253 };

typedef struct {
    esp_slots slots;
    ar_boot boot;
    /* Set these, then call esp_boot_start. */
    uint32_t *restarts; /* a word that keeps its value over a reset, not over a loss of power */
    const uint8_t *public_key;
    const char *board;
    int (*check)(void *context, uint32_t pair, uint32_t slot, uint32_t minimum, ar_boot_image *image);
} esp_boot;

/* Returns one of the values above, or restarts the chip. */
int esp_boot_start(esp_boot *esp);

/* Tells the boot loader of ESP-IDF that the running firmware is good. Call it before ar_boot_confirm. Returns 0, or 1 if
 * `otadata` could not be written. */
int esp_boot_confirm(void);

#endif
