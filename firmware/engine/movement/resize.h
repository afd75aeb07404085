/* RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR, NHWC. */
#ifndef ARENITE_RESIZE_H
#define ARENITE_RESIZE_H

#include <stdint.h>

/* One direction: output position v is at (v * step + start) / 1024 in the input. */
typedef struct {
    int32_t step, start;
    uint16_t in_size, out_size;
} ar_resize_axis;

typedef struct {
    const void *input;
    void *output;
    ar_resize_axis y, x;
    uint16_t batches, depth;
} ar_resize_bilinear_params;

void ar_resize_bilinear_s8(const ar_resize_bilinear_params *p);
void ar_resize_bilinear_s16(const ar_resize_bilinear_params *p);

typedef struct {
    const void *input;
    void *output;
    const uint16_t *rows, *columns; /* input row and column of each output row and column */
    uint32_t pixel;                 /* bytes */
    uint16_t batches, in_h, in_w, out_h, out_w;
} ar_resize_nearest_params;

void ar_resize_nearest(const ar_resize_nearest_params *p);

/* The two input positions around an output position, and its distance from the first one, in 1/1024.
 *
 * Before the first pixel the distance is negative, because LiteRT's reference extrapolates there.
 */
typedef struct {
    int32_t low, high, distance;
} ar_resize_point;

static inline ar_resize_point ar_resize_at(const ar_resize_axis *a, int32_t v)
{
    const int32_t at = v * a->step + a->start;
    ar_resize_point point;

    point.low = at < 0 ? 0 : at >> 10;
    point.high = (at + 1023) >> 10;
    if (point.high >= a->in_size) {
        point.high = a->in_size - 1;
    }
    point.distance = at - point.low * 1024;
    return point;
}

#endif
