/* The bus of a motion sensor with the Pico SDK: I2C.
 *
 * Compiled and linked with the SDK; never run on a board. */
#include "app_pins.h"
#include "imu_bus.h"
#include <hardware/gpio.h>
#include <hardware/i2c.h>
#include <pico/time.h>

enum { TIMEOUT_US = 20000, MAX_BYTES = 32 }; /* that a driver writes at once */

static void start(void)
{
    static uint8_t is_started;
    if (!is_started) {
        is_started = 1;
        i2c_init(IMU_I2C, 400000);
        gpio_set_function(IMU_SDA, GPIO_FUNC_I2C);
        gpio_set_function(IMU_SCL, GPIO_FUNC_I2C);
        gpio_pull_up(IMU_SDA);
        gpio_pull_up(IMU_SCL);
    }
}

uint32_t imu_bus_read(uint8_t first, uint8_t *to, uint32_t count)
{
    start();
    return i2c_write_timeout_us(IMU_I2C, IMU_ADDRESS, &first, 1, true, TIMEOUT_US) == 1 &&
           i2c_read_timeout_us(IMU_I2C, IMU_ADDRESS, to, count, false, TIMEOUT_US) == (int)count;
}

uint32_t imu_bus_write(uint8_t first, const uint8_t *from, uint32_t count)
{
    uint8_t bytes[1 + MAX_BYTES];
    if (count > MAX_BYTES) {
        return 0;
    }
    start();
    bytes[0] = first;
    for (uint32_t k = 0; k < count; k++) {
        bytes[1 + k] = from[k];
    }
    return i2c_write_timeout_us(IMU_I2C, IMU_ADDRESS, bytes, count + 1u, false, TIMEOUT_US) == (int)count + 1;
}

void imu_bus_wait(uint32_t milliseconds) { sleep_ms(milliseconds); }
