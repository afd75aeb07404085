/* MAX_POOL_2D, int8, for Helium: the largest of those pixels of the window that are inside the image. */
#include "pool_2d_s8_mve.h"

#include "fixed_point.h"

enum { LANES = 16 }; /* channels that are computed at a time */

#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

/* Sets `out` to the maximum of `out` and `count` pixels, which are `step` bytes apart. This function and the next
 * two write at most LANES channels and not more than `channels` channels. */
static inline void max_pixels(int8_t *out, const int8_t *pixel, int32_t count, int32_t step, int32_t channels)
{
    const mve_pred16_t lanes = vctp8q((uint32_t)channels);
    int8x16_t largest = vldrbq_z_s8(out, lanes);
    for (; count > 0; count--, pixel += step) {
        largest = vmaxq_s8(largest, vldrbq_z_s8(pixel, lanes));
    }
    vstrbq_p_s8(out, largest, lanes);
}

/* Sets the channels of `out` to `value`. */
static inline void set(int8_t *out, int32_t value, int32_t channels)
{
    vstrbq_p_s8(out, vdupq_n_s8((int8_t)value), vctp8q((uint32_t)channels));
}

/* Limits the channels of `out` to at most `high`. */
static inline void limit(int8_t *out, int32_t high, int32_t channels)
{
    const mve_pred16_t lanes = vctp8q((uint32_t)channels);
    vstrbq_p_s8(out, vminq_s8(vldrbq_z_s8(out, lanes), vdupq_n_s8((int8_t)high)), lanes);
}

#else

static inline void max_pixels(int8_t *out, const int8_t *pixel, int32_t count, int32_t step, int32_t channels)
{
    for (; count > 0; count--, pixel += step) {
        for (int32_t c = 0; c < LANES && c < channels; c++) {
            out[c] = pixel[c] > out[c] ? pixel[c] : out[c];
        }
    }
}

static inline void set(int8_t *out, int32_t value, int32_t channels)
{
    for (int32_t c = 0; c < LANES && c < channels; c++) {
        out[c] = (int8_t)value;
    }
}

static inline void limit(int8_t *out, int32_t high, int32_t channels)
{
    for (int32_t c = 0; c < LANES && c < channels; c++) {
        out[c] = (int8_t)(out[c] > high ? high : out[c]);
    }
}

#endif

void ar_max_pool_2d_s8_mve_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_pool_2d_mve_params *m = params;
    const ar_pool_2d_params *p = &m->pool;
    const int32_t channels = p->channels;

    for (int32_t x = 0; x < p->out_w; x++, out += channels) {
        const ar_pool_window w = ar_pool_clip(p, 0, x);
        for (int32_t c = 0; c < channels; c += LANES) {
            set(out + c, p->act_min, channels - c);
            for (int32_t k = 0; k < p->k_h; k++) {
                if (rows[k] != 0) {
                    const int8_t *pixel = rows[k] + w.x0 * channels + c;
                    max_pixels(out + c, pixel, w.x1 - w.x0, channels, channels - c);
                }
            }
            if (p->act_max < INT8_MAX) {
                limit(out + c, p->act_max, channels - c);
            }
        }
    }
}

void ar_max_pool_2d_s8_mve(const ar_pool_2d_mve_params *p)
{
    ar_pool_2d_mve_rows(p, ar_max_pool_2d_s8_mve_row);
}
