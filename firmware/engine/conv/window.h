/* Finds the taps of a sliding window that are inside the image, so that kernels skip padding once per window and not
 * for each product. */
#ifndef ARENITE_WINDOW_H
#define ARENITE_WINDOW_H

#include <stdint.h>

/* The taps from `first` to `end` - 1 along one axis. */
typedef struct {
    int32_t first, end;
} ar_taps;

/* Returns which of `taps` taps are inside [0, size). Tap k is at position origin + k * dilation. */
static inline ar_taps ar_taps_inside(int32_t origin, int32_t taps, int32_t dilation, int32_t size)
{
    ar_taps inside = {0, taps};
    while (inside.first < taps && origin + inside.first * dilation < 0) {
        inside.first++;
    }
    while (inside.end > inside.first && origin + (inside.end - 1) * dilation >= size) {
        inside.end--;
    }
    return inside;
}

#endif
