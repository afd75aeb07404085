/* The bus of a motion sensor in Zephyr: I2C of the devicetree's node with the alias imu-i2c.
 *
 * Never compiled with the headers of the framework, never run on a board. */
#include "app_pins.h"
#include "imu_bus.h"
#include <zephyr/device.h>
#include <zephyr/drivers/i2c.h>
#include <zephyr/kernel.h>

static const struct device *const bus = DEVICE_DT_GET(DT_ALIAS(imu_i2c));

uint32_t imu_bus_read(uint8_t first, uint8_t *to, uint32_t count)
{
    return device_is_ready(bus) && i2c_burst_read(bus, IMU_ADDRESS, first, to, count) == 0;
}

uint32_t imu_bus_write(uint8_t first, const uint8_t *from, uint32_t count)
{
    return device_is_ready(bus) && i2c_burst_write(bus, IMU_ADDRESS, first, from, count) == 0;
}

void imu_bus_wait(uint32_t milliseconds) { k_msleep((int32_t)milliseconds); }
