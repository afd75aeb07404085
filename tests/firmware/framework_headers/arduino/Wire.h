/* A stand-in for Wire.h with the functions of the class HardwareI2C of ArduinoCore-API, and of its base classes, that the
 * buses of sensors call. */
#pragma once
#include <stddef.h>
#include <stdint.h>

class TwoWire
{
  public:
    void begin();
    void setClock(uint32_t hz);
    void beginTransmission(uint8_t address);
    uint8_t endTransmission(bool stop);
    uint8_t endTransmission();
    size_t requestFrom(uint8_t address, size_t count, bool stop);
    size_t requestFrom(uint8_t address, size_t count);
    size_t write(uint8_t byte);
    size_t write(const uint8_t *bytes, size_t count);
    size_t write(
        int byte); /* this one and the next are those of the core for Mbed OS: other types are ambiguous */
    size_t write(const uint8_t *bytes, int count);
    int available();
    int read();
};
extern TwoWire Wire;
