/* AVERAGE_POOL_2D and MAX_POOL_2D, NHWC. */
#ifndef ARENITE_POOL_2D_H
#define ARENITE_POOL_2D_H

#include <stdint.h>

typedef struct {
    const void *input; /* [batches][in_h][in_w][channels] */
    void *output;      /* [batches][out_h][out_w][channels] */
    uint16_t batches, in_h, in_w, channels;
    uint16_t out_h, out_w;
    uint16_t k_h, k_w;
    uint16_t pad_top, pad_left;
    uint16_t stride_h, stride_w;
    int16_t act_min, act_max;
    int32_t *sums; /* [channels], only for ar_average_pool_2d_s8_add */
} ar_pool_2d_params;

/* The part of a window that is inside the image: rows [y0, y1), columns [x0, x1). */
typedef struct {
    int32_t y0, y1, x0, x1;
} ar_pool_window;

/* Returns the part inside the image of the window of the output pixel in row y and column x. */
static inline ar_pool_window ar_pool_clip(const ar_pool_2d_params *p, int32_t y, int32_t x)
{
    ar_pool_window w;
    w.y0 = y * p->stride_h - p->pad_top;
    w.x0 = x * p->stride_w - p->pad_left;
    w.y1 = w.y0 + p->k_h < p->in_h ? w.y0 + p->k_h : p->in_h;
    w.x1 = w.x0 + p->k_w < p->in_w ? w.x0 + p->k_w : p->in_w;
    w.y0 = w.y0 < 0 ? 0 : w.y0;
    w.x0 = w.x0 < 0 ? 0 : w.x0;
    return w;
}

void ar_average_pool_2d_s8(const ar_pool_2d_params *p);
void ar_average_pool_2d_s8_dsp(const ar_pool_2d_params *p);
void ar_average_pool_2d_s16(const ar_pool_2d_params *p);
void ar_max_pool_2d_s8(const ar_pool_2d_params *p);
void ar_max_pool_2d_s16(const ar_pool_2d_params *p);

/* Compute one output row, see ar_row_fn in stream.h. */
void ar_average_pool_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out);
void ar_max_pool_2d_s8_row(const void *params, const int8_t *const *rows, int8_t *out);

/* Computes a window over the whole image from one input row per call. `out` is 0 in all calls except the last one. The
 * sums must be 0 before the first call. */
void ar_average_pool_2d_s8_add(const void *params, const int8_t *const *rows, int8_t *out);

#endif
