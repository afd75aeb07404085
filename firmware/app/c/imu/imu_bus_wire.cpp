/* The bus of a motion sensor in the Arduino framework: I2C with the library Wire. IMU_WIRE is Wire, or another bus of the
 * board. With the core of STM32, IMU_SDA and IMU_SCL choose its pins.
 *
 * Compiled and linked with the core of the SAMD21; never run on a board. */
#include <Arduino.h>
#include <Wire.h>

extern "C" {
#include "app_pins.h"
#include "imu_bus.h"
}

static void start()
{
    static bool is_started = false;
    if (!is_started) {
#if defined(IMU_SDA) && defined(ARDUINO_ARCH_STM32)
        IMU_WIRE.setSDA(IMU_SDA);
        IMU_WIRE.setSCL(IMU_SCL);
#endif
        IMU_WIRE.begin();
        IMU_WIRE.setClock(400000);
        is_started = true;
    }
}

uint32_t imu_bus_read(uint8_t first, uint8_t *to, uint32_t count)
{
    start();
    IMU_WIRE.beginTransmission(IMU_ADDRESS);
    IMU_WIRE.write(first);
    if (IMU_WIRE.endTransmission(false) != 0 ||
        (uint32_t)IMU_WIRE.requestFrom(IMU_ADDRESS, (int)count) != count) {
        return 0;
    }
    while (count--) {
        *to++ = (uint8_t)IMU_WIRE.read();
    }
    return 1;
}

uint32_t imu_bus_write(uint8_t first, const uint8_t *from, uint32_t count)
{
    start();
    IMU_WIRE.beginTransmission(IMU_ADDRESS);
    return IMU_WIRE.write(first) == 1 && IMU_WIRE.write(from, (size_t)count) == count &&
           IMU_WIRE.endTransmission() == 0;
}

void imu_bus_wait(uint32_t milliseconds) { delay(milliseconds); }
