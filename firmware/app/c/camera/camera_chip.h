/* The chip of a camera. One of hm01b0.c, ov7670.c, ov2640.c, ov5640.c and gc2145.c is linked.
 *
 * app_settings.h has what the chip must send: rows of CAMERA_CHIP_WIDTH pixels, CAMERA_CHIP_HEIGHT of them, one each
 * CAMERA_CHIP_ROW_US, a frame each CAMERA_FRAME_US, with pixels of the kind CAMERA_CHIP_SENDS. app_pins.h has the
 * frequency of the clock at the chip, CAMERA_CLOCK_HZ. The compiler computes the values of the registers from them. */
#ifndef ARENITE_CAMERA_CHIP_H
#define ARENITE_CAMERA_CHIP_H

#include <stdint.h>

/* What camera_chip_start() returns, and camera_start() too. Numbers from CAMERA_OTHER_PROBLEM on belong to the driver
 * that takes the rows. */
enum {
    CAMERA_OK,
    CAMERA_NO_ANSWER,  /* the bus has no answer: check power, clock, wires and address */
    CAMERA_OTHER_CHIP, /* another chip answered */
    CAMERA_OTHER_PROBLEM
};

/* Finds the chip, and lets it send rows. Prints what is wrong. */
uint32_t camera_chip_start(void);

/* 1 if the pin VSYNC is high while rows are sent, 0 if it is high between two frames. */
extern const uint32_t camera_chip_valid_high;
/* 1 if pixels are valid at the rising edge of the pixel clock, 0 if they are at the falling one. */
extern const uint32_t camera_chip_valid_at_rise;

#endif
