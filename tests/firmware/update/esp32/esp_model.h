/* A model of an ESP32 with ESP-IDF: its partitions, `otadata`, its boot loader with the rollback of applications
 * (CONFIG_BOOTLOADER_APP_ROLLBACK_ENABLE), and the functions of esp_ota_ops.h. It follows ESP-IDF's documentation and the
 * behavior of its functions. The memories are those of flash_model.h: pages of 4096 bytes, and units of 16 bytes that are
 * programmed once. The code needs no C library. */
#ifndef ESP_MODEL_H
#define ESP_MODEL_H

#include "flash_model.h"

/* The memories of the flash model. */
enum { OTADATA, UPDATE, OTA_0, OTA_1, MODEL_0, MODEL_1, MEMORIES };
enum { ESP_PAGE = 4096, ESP_UNIT = 16 };
/* The pages of the slots: few, unless a test needs those of a real device. */
#ifndef OTA_PAGES
enum { OTA_PAGES = 3, MODEL_PAGES = 2, UPDATE_PAGES = 3 };
#endif
/* The states of an application in `otadata`. */
enum { IMG_NEW, IMG_PENDING, IMG_VALID, IMG_INVALID, IMG_ABORTED };

typedef struct {
    model flash;
    int running;   /* the slot of the application that runs */
    uint32_t kept; /* a word that keeps its value over a reset */
    int refused;   /* 1 + a slot that the boot loader does not start, though its image is valid; 0: none */
    uint32_t boot_fail; /* 1: the boot loader found no application */
} esp_device;

/* The device to which the functions of ESP-IDF refer. */
extern esp_device *esp_now;
/* Returns whether ESP-IDF would start what is in the partition of a slot. The test has this function, and esp_restart. */
int esp_image_is_valid(int slot);

/* Runs the boot loader: sets `running`, or `boot_fail`. */
void esp_model_boot(void);
/* Returns the state of the application in a slot, or -1 if `otadata` has none. */
int esp_model_state(int slot);

#endif
