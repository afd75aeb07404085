/* RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR, NHWC. */
#ifndef ARENITE_RESIZE_H
#define ARENITE_RESIZE_H

#include <stdint.h>

/* One direction, rows or columns: output position v corresponds to input position (v * step + start) / 1024. */
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
    const uint16_t *rows, *columns; /* the input row or column of each output row or column */
    uint32_t pixel;                 /* bytes of a pixel */
    uint16_t batches, in_h, in_w, out_h, out_w;
} ar_resize_nearest_params;

void ar_resize_nearest(const ar_resize_nearest_params *p);

/* The two input positions around an output position, and the distance of the output position from `low`, in 1/1024.
 *
 * The distance is negative before the first pixel, because LiteRT's reference kernel extrapolates there.
 */
typedef struct {
    int32_t low, high, distance;
} ar_resize_point;

/* Returns the point of output position v. */
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
