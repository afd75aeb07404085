/* An ESP32 for the program of `arenite update build`, on QEMU's RISC-V machine: the flash memory is a part of the RAM, at
 * FLASH_AT, which keeps its content over a reset. esp_model.c is the rest of ESP-IDF. The application is always the same
 * code, whatever slot runs. */
#include "esp_model.h"

#include "esp_partition.h"
#include "esp_system.h"
#include "health.h"
#include "port.h"

#define FLASH ((uint8_t *)FLASH_AT)

static const uint32_t places[MEMORIES] = {OTADATA_AT, UPDATE_AT, OTA_0_AT, OTA_1_AT, MODEL_0_AT, MODEL_1_AT};
static const uint32_t pages[MEMORIES] = {2, UPDATE_PAGES, OTA_PAGES, OTA_PAGES, MODEL_PAGES, MODEL_PAGES};
static esp_device device;

/* The memory must be erased where it is programmed, as a NOR memory must be. */
static int program(void *context, uint32_t at, const void *data, uint32_t bytes)
{
    uint8_t *to = (uint8_t *)context + at;
    const uint8_t *from = data;
    for (uint32_t i = 0; i < bytes; i++) {
        if (to[i] != 0xFF) {
            return 1;
        }
        to[i] = from[i];
    }
    return at % ESP_UNIT != 0 || bytes % ESP_UNIT != 0;
}

static int read(void *context, uint32_t at, void *data, uint32_t bytes)
{
    uint8_t *to = data;
    const uint8_t *from = (const uint8_t *)context + at;
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = from[i];
    }
    return 0;
}

static int erase(void *context, uint32_t page)
{
    uint8_t *to = (uint8_t *)context + page * ESP_PAGE;
    for (uint32_t i = 0; i < ESP_PAGE; i++) {
        to[i] = 0xFF;
    }
    return 0;
}

/* What the boot loader of ESP-IDF recognizes an application by. */
int esp_image_is_valid(int slot) { return FLASH[places[OTA_0 + slot]] == 0xE9; }

esp_err_t esp_partition_mmap(const esp_partition_t *partition, size_t offset, size_t size,
                             esp_partition_mmap_memory_t memory, const void **pointer,
                             esp_partition_mmap_handle_t *handle)
{
    (void)memory;
    *handle = 1;
    if (offset > partition->size || size > partition->size - offset) {
        return ESP_ERR_INVALID_SIZE;
    }
    *pointer =
        FLASH + (partition->subtype == 0x42 ? places[MODEL_0 + (partition->label[6] == '1')] : 0) + offset;
    return ESP_OK;
}

void esp_restart(void) { port_restart(PORT_REQUESTED); }

/* A restart without port_restart is a reset over the chip's USB, which the test makes. */
uint32_t port_reset_cause(uint32_t *word)
{
    static const uint8_t causes[] = {[PORT_POWER_ON] = HEALTH_PIN,
                                     [PORT_REQUESTED] = HEALTH_SOFTWARE,
                                     [PORT_FAULT] = HEALTH_FAULT,
                                     [PORT_WATCHDOG] = HEALTH_WATCHDOG};
    *word = port_reason ^ PORT_REASON_MAGIC;
    port_reason = PORT_REASON_MAGIC | PORT_POWER_ON;
    return *word < sizeof causes ? causes[*word] : HEALTH_POWER_ON;
}

void port_watchdog_start(void) {}
void port_watchdog_feed(void) {}

int update_main(void);

int main(void)
{
    for (uint32_t i = 0; i < MEMORIES; i++) {
        device.flash.flashes[i] = (ar_flash){.page_bytes = ESP_PAGE,
                                             .pages = pages[i],
                                             .unit_bytes = ESP_UNIT,
                                             .erase = erase,
                                             .program = program,
                                             .read = read,
                                             .context = FLASH + places[i]};
    }
    esp_now = &device;
    esp_model_boot();
    return device.boot_fail ? 1 : update_main();
}
