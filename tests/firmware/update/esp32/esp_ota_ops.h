/* For tests: the part of ESP-IDF's header that our code uses. esp_model.c has the functions. */
#ifndef ESP_OTA_OPS_H
#define ESP_OTA_OPS_H

#include "esp_partition.h"

enum { ESP_ERR_OTA_VALIDATE_FAILED = 0x1503 };

const esp_partition_t *esp_ota_get_running_partition(void);
const esp_partition_t *esp_ota_get_boot_partition(void);
esp_err_t esp_ota_set_boot_partition(const esp_partition_t *partition);
esp_err_t esp_ota_mark_app_valid_cancel_rollback(void);

#endif
