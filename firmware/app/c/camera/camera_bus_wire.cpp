/* The bus of a camera's chip in the Arduino framework: I2C with the library Wire. CAMERA_WIRE is Wire, or another bus of
 * the board.
 *
 * Compiled with ArduinoCore-mbed; never run on a board. */
#include <Arduino.h>
#include <Wire.h>

extern "C" {
#include "app_pins.h"
#include "camera_bus.h"
}

static void start()
{
    static bool is_started = false;
    if (!is_started) {
        CAMERA_WIRE.begin();
        CAMERA_WIRE.setClock(100000);
        is_started = true;
    }
}

uint32_t camera_bus_write(const uint8_t *bytes, uint32_t count)
{
    start();
    CAMERA_WIRE.beginTransmission(CAMERA_ADDRESS);
    return CAMERA_WIRE.write(bytes, static_cast<size_t>(count)) == count &&
           CAMERA_WIRE.endTransmission() == 0;
}

uint32_t camera_bus_read(const uint8_t *number, uint32_t count, uint8_t *to)
{
    if (!camera_bus_write(number, count) || CAMERA_WIRE.requestFrom(CAMERA_ADDRESS, 1) != 1) {
        return 0;
    }
    *to = static_cast<uint8_t>(CAMERA_WIRE.read());
    return 1;
}

void camera_bus_wait(uint32_t milliseconds) { delay(milliseconds); }
