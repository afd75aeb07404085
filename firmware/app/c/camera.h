/* The rows of a camera on their way from its driver to the application.
 *
 * One driver is linked: a C file of its own, written for one family of chips, which defines camera_start() and
 * camera_poll(). It hands over each row as it arrives, from an interrupt or from camera_poll(): it writes the pixels to
 * camera_place() and calls camera_arrived(). The application reads them with camera_oldest(). No function waits. A frame
 * is never in memory as a whole.
 *
 * app_settings.h has CAMERA_WIDTH, CAMERA_HEIGHT and CAMERA_ROW_BYTES of a frame, CAMERA_FRAME_US from frame to frame and
 * CAMERA_ROW_US from row to row, in microseconds. */
#ifndef ARENITE_CAMERA_H
#define ARENITE_CAMERA_H

#include <stdint.h>

typedef struct {
    uint32_t frame; /* number of the frame, from 0 on; frames of which no row arrived count */
    uint32_t row;   /* number of the row in its frame */
    uint32_t ticks; /* port_ticks() when the row was complete */
    uint8_t *pixels;
} camera_row;

/* Starts the camera. Returns 0, or a number that the driver's file explains. */
uint32_t camera_start(void);

/* Hands over the rows that arrived since the last call. A driver with an interrupt has nothing to do here. */
void camera_poll(void);

/* Called by the driver: returns memory for CAMERA_ROW_BYTES bytes, or 0 if CAMERA_ROOM rows wait. Then the next row is
 * lost; the application notices by the numbers of the rows that follow. */
uint8_t *camera_place(void);

/* Called by the driver: the row at camera_place() is complete. */
void camera_arrived(uint32_t frame, uint32_t row, uint32_t ticks);

/* Returns 1 and the oldest row that waits, or 0. Its pixels stay valid until camera_release(). */
uint32_t camera_oldest(camera_row *row);
void camera_release(void);

#endif
