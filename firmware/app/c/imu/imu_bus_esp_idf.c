/* The bus of a motion sensor in ESP-IDF 5.2 or later: I2C with the driver i2c_master.
 *
 * Never compiled with the headers of the framework, never run on a board. */
#include "app_pins.h"
#include "driver/i2c_master.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "imu_bus.h"

enum { TIMEOUT_MS = 20, MAX_BYTES = 32 }; /* that a driver writes at once */

static i2c_master_dev_handle_t device;

/* Returns whether the bus is there. */
static uint32_t start(void)
{
    if (!device) {
        const i2c_master_bus_config_t bus_settings = {
            .i2c_port = -1, /* any that is free */
            .sda_io_num = IMU_SDA,
            .scl_io_num = IMU_SCL,
            .clk_source = I2C_CLK_SRC_DEFAULT,
            .glitch_ignore_cnt = 7,
            .flags.enable_internal_pullup = 1,
        };
        const i2c_device_config_t settings = {
            .dev_addr_length = I2C_ADDR_BIT_LEN_7,
            .device_address = IMU_ADDRESS,
            .scl_speed_hz = 400000,
        };
        static i2c_master_bus_handle_t bus;
        if (!bus && i2c_new_master_bus(&bus_settings, &bus) != ESP_OK) {
            return 0;
        }
        if (i2c_master_bus_add_device(bus, &settings, &device) != ESP_OK) {
            device = 0;
        }
    }
    return device != 0;
}

uint32_t imu_bus_read(uint8_t first, uint8_t *to, uint32_t count)
{
    return start() && i2c_master_transmit_receive(device, &first, 1, to, count, TIMEOUT_MS) == ESP_OK;
}

uint32_t imu_bus_write(uint8_t first, const uint8_t *from, uint32_t count)
{
    uint8_t bytes[1 + MAX_BYTES];
    if (count > MAX_BYTES || !start()) {
        return 0;
    }
    bytes[0] = first;
    for (uint32_t k = 0; k < count; k++) {
        bytes[1 + k] = from[k];
    }
    return i2c_master_transmit(device, bytes, count + 1, TIMEOUT_MS) == ESP_OK;
}

void imu_bus_wait(uint32_t milliseconds) { vTaskDelay(pdMS_TO_TICKS(milliseconds) + 1); }
