/* The bus between the processor and a motion sensor: I2C, or SPI. The program provides these functions.
 *
 * On SPI, the functions set bit 7 of the register's number for reading. A BMI270 then sends one byte more before the
 * first one, which the functions drop. */
#ifndef ARENITE_IMU_BUS_H
#define ARENITE_IMU_BUS_H

#include <stdint.h>

/* Reads `count` bytes, beginning at a register. Returns 1, or 0 if the chip does not answer. */
uint32_t imu_bus_read(uint8_t first, uint8_t *to, uint32_t count);

/* Writes `count` bytes, beginning at a register. Returns 1, or 0 if the chip does not answer. */
uint32_t imu_bus_write(uint8_t first, const uint8_t *from, uint32_t count);

/* Waits at least this long. It is called only while a sensor starts. */
void imu_bus_wait(uint32_t milliseconds);

#endif
