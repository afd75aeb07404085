/* The bus between the processor and a camera's chip: SCCB, which is I2C without a repeated start. The program provides
 * these functions. CAMERA_ADDRESS in app_pins.h is the chip's address. */
#ifndef ARENITE_CAMERA_BUS_H
#define ARENITE_CAMERA_BUS_H

#include <stdint.h>

/* Sends up to 4 bytes: the register's number, higher byte first, and its value. Returns 1, or 0 if the chip does not
 * answer. */
uint32_t camera_bus_write(const uint8_t *bytes, uint32_t count);

/* Reads a byte, after a number of `count` bytes was sent and the bus was released. Returns 1, or 0 if the chip does not
 * answer. */
uint32_t camera_bus_read(const uint8_t *number, uint32_t count, uint8_t *to);

/* Waits at least this long. It is called only while a camera starts. */
void camera_bus_wait(uint32_t milliseconds);

#endif
