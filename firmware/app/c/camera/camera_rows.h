/* What lies between the rows of a camera's chip and those that the application takes. */
#ifndef ARENITE_CAMERA_ROWS_H
#define ARENITE_CAMERA_ROWS_H

#include <stdint.h>

/* Hands over row `row` of the chip's frame `frame`, which was complete at `ticks`, if the application takes it.
 * `pixels` begins with the pixel of column CAMERA_LEFT.
 * It copies them, so they may change as soon as it returns. */
void camera_hand_over(const uint8_t *pixels, uint32_t frame, uint32_t row, uint32_t ticks);

#endif
