/* Cuts the middle of a row, and makes the bytes that the model's preprocessing expects. */
#include "camera_rows.h"
#include "app_settings.h"
#include "camera.h"

#if CAMERA_CHANGE == CAMERA_TO_RGB || CAMERA_CHANGE == CAMERA_TO_BGR
/* Makes three bytes of the two of RGB565, the upper first. The upper bits are repeated in the lower ones. */
static void expand(const uint8_t *from, uint8_t *to)
{
    enum { RED = CAMERA_CHANGE == CAMERA_TO_RGB ? 0 : 2 };
    const uint32_t pixel = (uint32_t)from[0] << 8 | from[1];
    const uint32_t red = pixel >> 11, green = pixel >> 5 & 63u, blue = pixel & 31u;
    to[RED] = (uint8_t)(red << 3 | red >> 2);
    to[1] = (uint8_t)(green << 2 | green >> 4);
    to[2 - RED] = (uint8_t)(blue << 3 | blue >> 2);
}
#endif

static void change(const uint8_t *from, uint8_t *to)
{
#if CAMERA_CHANGE == CAMERA_COPY
    for (uint32_t k = 0; k < CAMERA_ROW_BYTES; k++) {
        to[k] = from[k];
    }
#elif CAMERA_CHANGE == CAMERA_TO_GREY
    for (uint32_t x = 0; x < CAMERA_WIDTH; x++) {
        to[x] = from[2 * x]; /* the chip sends YUYV */
    }
#elif CAMERA_CHANGE == CAMERA_SWAP
    for (uint32_t k = 0; k < CAMERA_ROW_BYTES; k += 2) {
        to[k] = from[k + 1];
        to[k + 1] = from[k];
    }
#else
    for (uint32_t x = 0; x < CAMERA_WIDTH; x++) {
        expand(from + 2 * x, to + 3 * x);
    }
#endif
}

void camera_hand_over(const uint8_t *pixels, uint32_t frame, uint32_t row, uint32_t ticks)
{
    const uint32_t y = row - CAMERA_TOP; /* a row above the first one wraps to a large number */
    if (y >= CAMERA_HEIGHT) {
        return;
    }
    uint8_t *place = camera_place();
    if (place) {
        change(pixels, place);
        camera_arrived(frame, y, ticks);
    }
}
