/* A motion sensor: an accelerometer and a gyroscope whose samples wait in the chip's own FIFO. One of mpu6050.c,
 * lsm6ds3.c, lsm6dso.c and bmi270.c is linked.
 *
 * A frame has IMU_AXES samples: acceleration x, y, z, then rotation x, y, z. app_pins.h sets the ranges. In those
 * of 4 g and of 1000 degrees per second, 1 g is 8192 and a degree per second is 32.8; with the chips of
 * STMicroelectronics, 8197 and 28.6. Twice the range halves the values. */
#ifndef ARENITE_IMU_CHIP_H
#define ARENITE_IMU_CHIP_H

#include <stdint.h>

enum { IMU_AXES = 6 };

/* What imu_start() and imu_read() return. */
enum {
    IMU_OK,
    IMU_NO_ANSWER,  /* the bus has no answer: check power, wires and address */
    IMU_OTHER_CHIP, /* another chip answered */
    IMU_RATE,       /* the chip has no rate within 5 % of the wanted one */
    IMU_FIRMWARE,   /* the chip did not accept its configuration (BMI270) */
    IMU_OVERFLOW    /* samples were lost in the chip; its FIFO is empty now */
};

/* Starts the chip with `rate` frames per second. */
uint32_t imu_start(uint32_t rate);

/* Reads up to `most` frames that wait in the chip. `count` becomes their number; it is 0 unless IMU_OK is returned. */
uint32_t imu_read(int16_t *frames, uint32_t most, uint32_t *count);

#endif
