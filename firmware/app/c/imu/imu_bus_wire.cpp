/* The bus of a motion sensor in the Arduino framework: I2C with the library Wire. */
#include <Arduino.h>
#include <Wire.h>

extern "C" {
#include "app_settings.h"
#include "imu_bus.h"
}

static void start()
{
    static bool is_started = false;
    if (!is_started) {
        Wire.begin();
        Wire.setClock(400000);
        is_started = true;
    }
}

uint32_t imu_bus_read(uint8_t first, uint8_t *to, uint32_t count)
{
    start();
    Wire.beginTransmission(IMU_ADDRESS);
    Wire.write(first);
    if (Wire.endTransmission(false) != 0 || Wire.requestFrom(IMU_ADDRESS, (int)count) != (int)count) {
        return 0;
    }
    while (count--) {
        *to++ = (uint8_t)Wire.read();
    }
    return 1;
}

uint32_t imu_bus_write(uint8_t first, const uint8_t *from, uint32_t count)
{
    start();
    Wire.beginTransmission(IMU_ADDRESS);
    return Wire.write(first) == 1 && Wire.write(from, count) == count && Wire.endTransmission() == 0;
}

void imu_bus_wait(uint32_t milliseconds) { delay(milliseconds); }
