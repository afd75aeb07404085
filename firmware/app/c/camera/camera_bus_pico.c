/* The bus of a camera's chip with the Pico SDK: I2C at 100 kHz.
 *
 * Compiled and linked with the SDK; never run on a board. */
#include "app_pins.h"
#include "camera_bus.h"
#include <hardware/gpio.h>
#include <hardware/i2c.h>
#include <pico/time.h>

enum { TIMEOUT_US = 20000 };

static void start(void)
{
    static uint8_t is_started;
    if (!is_started) {
        is_started = 1;
        i2c_init(CAMERA_I2C, 100000);
        gpio_set_function(CAMERA_SDA, GPIO_FUNC_I2C);
        gpio_set_function(CAMERA_SCL, GPIO_FUNC_I2C);
        gpio_pull_up(CAMERA_SDA);
        gpio_pull_up(CAMERA_SCL);
    }
}

uint32_t camera_bus_write(const uint8_t *bytes, uint32_t count)
{
    start();
    return i2c_write_timeout_us(CAMERA_I2C, CAMERA_ADDRESS, bytes, count, false, TIMEOUT_US) == (int)count;
}

uint32_t camera_bus_read(const uint8_t *number, uint32_t count, uint8_t *to)
{
    return camera_bus_write(number, count) &&
           i2c_read_timeout_us(CAMERA_I2C, CAMERA_ADDRESS, to, 1, false, TIMEOUT_US) == 1;
}

void camera_bus_wait(uint32_t milliseconds) { sleep_ms(milliseconds); }
