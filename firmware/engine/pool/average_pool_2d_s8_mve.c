/* AVERAGE_POOL_2D, int8, for Helium: the mean of those pixels of the window that are inside the image, rounded to
 * nearest, ties away from zero. */
#include "pool_2d_s8_mve.h"

#include "fixed_point.h"

enum { LANES = 8 }; /* channels that are computed at a time */

#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

/* Adds `count` pixels, which are `step` bytes apart, to `sums`, for at most the first `channels` channels. A sum of 255
 * pixels fits in int16. */
static inline void add_pixels(int16_t *sums, const int8_t *pixel, int32_t count, int32_t step,
                              int32_t channels)
{
    const mve_pred16_t lanes = vctp16q((uint32_t)channels);
    int16x8_t sum = vldrhq_s16(sums);
    if (channels >= LANES) {
        for (; count > 0; count--, pixel += step) {
            sum = vaddq_s16(sum, vldrbq_s16(pixel));
        }
    }
    for (; count > 0; count--, pixel += step) {
        sum = vaddq_s16(sum, vldrbq_z_s16(pixel, lanes));
    }
    vstrhq_s16(sums, sum);
}

/* Adds the first `count` pixels of a row to `sums`, for all channels. */
static inline void add_row(int32_t *sums, const int8_t *row, int32_t count, int32_t channels)
{
    for (int32_t c = 0; c < channels; c += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(channels - c));
        const int8_t *pixel = row + c;
        int32x4_t sum = vldrwq_z_s32(sums + c, lanes);
        for (int32_t x = count; x > 0; x--, pixel += channels) {
            sum = vaddq_s32(sum, vldrbq_z_s32(pixel, lanes));
        }
        vstrwq_p_s32(sums + c, sum, lanes);
    }
}

#else

static inline void add_pixels(int16_t *sums, const int8_t *pixel, int32_t count, int32_t step,
                              int32_t channels)
{
    for (; count > 0; count--, pixel += step) {
        for (int32_t c = 0; c < LANES && c < channels; c++) {
            sums[c] = (int16_t)(sums[c] + pixel[c]);
        }
    }
}

static inline void add_row(int32_t *sums, const int8_t *row, int32_t count, int32_t channels)
{
    for (int32_t i = 0; i < count * channels; i++) {
        sums[i % channels] += row[i];
    }
}

#endif

/* Returns the output for a sum of `count` pixels. */
static int8_t mean(const ar_pool_2d_params *p, int32_t sum, int32_t count)
{
    sum += sum > 0 ? count / 2 : -(count / 2);
    return (int8_t)ar_clamp(sum / count, p->act_min, p->act_max);
}

/* Returns whether the rows `first` to `last` - 1 follow each other in memory. */
static int32_t is_contiguous(const int8_t *const *rows, int32_t first, int32_t last, int32_t row_bytes)
{
    for (int32_t k = first + 1; k < last; k++) {
        if (rows[k] != rows[k - 1] + row_bytes) {
            return 0;
        }
    }
    return 1;
}

void ar_average_pool_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_pool_2d_mve_params *m = params;
    const ar_pool_2d_params *p = &m->pool;
    const int32_t channels = p->channels;

    /* Rows [top, bottom) of the windows are inside the image. */
    int32_t top = 0, bottom = p->k_h;
    while (top < bottom && rows[top] == 0) {
        top++;
    }
    while (bottom > top && rows[bottom - 1] == 0) {
        bottom--;
    }

    for (int32_t x = 0; x < p->out_w; x++) {
        const ar_pool_window w = ar_pool_clip(p, 0, x);
        const int32_t width = w.x1 - w.x0;
        const int32_t count = (bottom - top) * width;
        /* A window as wide as the image is one row if its rows follow each other. */
        const int32_t is_one_row = width == p->in_w && is_contiguous(rows, top, bottom, width * channels);
        const int32_t end = is_one_row ? top + 1 : bottom;
        for (int32_t c = 0; c < channels; c += LANES) {
            int16_t sums[LANES] = {0};
            for (int32_t k = top; k < end; k++) {
                const int8_t *pixel = rows[k] + w.x0 * channels + c;
                add_pixels(sums, pixel, is_one_row ? count : width, channels, channels - c);
            }
            for (int32_t i = 0; i < LANES && i < channels - c; i++) {
                *out++ = mean(p, sums[i], count);
            }
        }
    }
}

void ar_average_pool_2d_s8_mve(const ar_pool_2d_mve_params *p)
{
    ar_pool_2d_mve_rows(p, ar_average_pool_2d_s8_mve_row);
}

void ar_average_pool_2d_s8_mve_add(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_pool_2d_mve_params *m = params;
    const ar_pool_2d_params *p = &m->pool;

    add_row(p->sums, rows[0], p->in_w, p->channels);
    if (out != 0) {
        for (int32_t c = 0; c < p->channels; c++) {
            out[c] = mean(p, p->sums[c], p->in_h * p->in_w);
        }
    }
}
