/* A partition of an ESP32's flash memory, for what the application learned: `arenite` in partitions.csv.
 *
 * Compiled with ESP-IDF's headers; never run on a board. */
#include "flash_region.h"
#include <esp_partition.h>

enum { UNIT = 16, SUBTYPE = 0x40 };

static const esp_partition_t *partition;

static int erase(void *context, uint32_t page)
{
    (void)context;
    return esp_partition_erase_range(partition, page * APP_FLASH_PAGE, APP_FLASH_PAGE) != ESP_OK;
}

static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    (void)context;
    return esp_partition_write(partition, at, data, bytes) != ESP_OK;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    (void)context;
    return esp_partition_read(partition, at, data, bytes) != ESP_OK;
}

uint32_t learning_flash(ar_flash *flash)
{
    partition =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, (esp_partition_subtype_t)SUBTYPE, "arenite");
    flash_region(flash, UNIT, erase, program, read);
    return partition && partition->size >= APP_FLASH_PAGES * APP_FLASH_PAGE &&
           partition->erase_size <= APP_FLASH_PAGE;
}
