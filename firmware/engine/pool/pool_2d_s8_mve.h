/* AVERAGE_POOL_2D and MAX_POOL_2D for Helium, int8, NHWC. Each lane computes one channel. */
#ifndef ARENITE_POOL_2D_S8_MVE_H
#define ARENITE_POOL_2D_S8_MVE_H

#include "pool_2d.h"

typedef struct {
    ar_pool_2d_params pool; /* for average pooling, k_h * k_w is at most 255 */
    const int8_t **rows;    /* scratch: [k_h] addresses of input rows */
} ar_pool_2d_mve_params;

void ar_average_pool_2d_s8_mve(const ar_pool_2d_mve_params *p);
void ar_max_pool_2d_s8_mve(const ar_pool_2d_mve_params *p);

/* Compute one output row, see ar_row_fn in stream.h. `rows` has k_h input rows; a row outside the image is 0. */
void ar_average_pool_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out);
void ar_max_pool_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out);

/* Computes the same as ar_average_pool_2d_s8_add; `params` is an ar_pool_2d_mve_params. */
void ar_average_pool_2d_s8_mve_add(const void *params, const int8_t *const *rows, int8_t *out);

typedef void (*ar_pool_2d_mve_row_fn)(const void *params, const int8_t *const *rows, int8_t *out);

/* Computes all output rows, one after the other, with the function `row`. */
static inline void ar_pool_2d_mve_rows(const ar_pool_2d_mve_params *p, ar_pool_2d_mve_row_fn row)
{
    const ar_pool_2d_params *pool = &p->pool;
    const int32_t in_row = pool->in_w * pool->channels;
    const int8_t *image = pool->input;
    int8_t *out = pool->output;

    for (int32_t b = 0; b < pool->batches; b++, image += pool->in_h * in_row) {
        for (int32_t y = 0; y < pool->out_h; y++, out += pool->out_w * pool->channels) {
            int32_t at = y * pool->stride_h - pool->pad_top;
            for (int32_t k = 0; k < pool->k_h; k++, at++) {
                p->rows[k] = at < 0 || at >= pool->in_h ? 0 : image + at * in_row;
            }
            row(p, p->rows, out);
        }
    }
}

#endif
