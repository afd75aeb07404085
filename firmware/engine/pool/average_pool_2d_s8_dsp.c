/* AVERAGE_POOL_2D, int8, for windows of at most 256 pixels. It computes four channels at a time, with two 16-bit
 * sums in a word. The sum of 256 bytes fits in 16 bits, so the results are the same as those of
 * average_pool_2d_s8.c. */
#include "pool_2d.h"

#include "fixed_point.h"

/* Return `sums` after adding two bytes of `w` to its two halfwords: add_even adds bytes 0 and 2, add_odd bytes 1
 * and 3. */
#ifdef __ARM_FEATURE_DSP

static inline uint32_t add_even(uint32_t sums, uint32_t w)
{
    __asm__("sxtab16 %0, %0, %1" : "+r"(sums) : "r"(w));
    return sums;
}

static inline uint32_t add_odd(uint32_t sums, uint32_t w)
{
    __asm__("sxtab16 %0, %0, %1, ror #8" : "+r"(sums) : "r"(w));
    return sums;
}

#else

static inline uint32_t add_even(uint32_t sums, uint32_t w)
{
    const uint32_t high = (sums >> 16) + (uint32_t)(int8_t)(w >> 16);
    return high << 16 | (uint16_t)(sums + (uint32_t)(int8_t)w);
}

static inline uint32_t add_odd(uint32_t sums, uint32_t w) { return add_even(sums, w >> 8); }

#endif

/* Returns the output for a sum of `count` pixels. It is not inlined, because it is called in five places. */
__attribute__((noinline)) static int8_t mean(const ar_pool_2d_params *p, int32_t sum, int32_t count)
{
    sum += sum > 0 ? count / 2 : -(count / 2);
    return (int8_t)ar_clamp(sum / count, p->act_min, p->act_max);
}

/* Computes all channels of one output. `in` is the first channel of the window's first pixel; the window has `rows`
 * rows and `columns` columns inside the image. */
static void window(const ar_pool_2d_params *p, const int8_t *in, int32_t rows, int32_t columns, int8_t *out)
{
    const int32_t channels = p->channels;
    const int32_t next_row = (p->in_w - columns) * channels;
    const int32_t count = rows * columns;
    int32_t c = 0;
    for (; c + 4 <= channels; c += 4, in += 4, out += 4) {
        uint32_t even = 0, odd = 0;
        const int8_t *at = in;
        for (int32_t y = rows; y != 0; y--, at += next_row) {
            for (int32_t x = columns; x != 0; x--, at += channels) {
                uint32_t w;
                __builtin_memcpy(&w, at, 4);
                even = add_even(even, w);
                odd = add_odd(odd, w);
            }
        }
        out[0] = mean(p, (int16_t)even, count);
        out[1] = mean(p, (int16_t)odd, count);
        out[2] = mean(p, (int16_t)(even >> 16), count);
        out[3] = mean(p, (int16_t)(odd >> 16), count);
    }
    for (; c < channels; c++) {
        const int8_t *at = in++;
        int32_t sum = 0;
        for (int32_t y = rows; y != 0; y--, at += next_row) {
            for (int32_t x = columns; x != 0; x--, at += channels) {
                sum += *at;
            }
        }
        *out++ = mean(p, sum, count);
    }
}

void ar_average_pool_2d_s8_dsp(const ar_pool_2d_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t y = 0; y < p->out_h; y++) {
            for (int32_t x = 0; x < p->out_w; x++, out += p->channels) {
                const ar_pool_window w = ar_pool_clip(p, y, x);
                window(p, image + (w.y0 * p->in_w + w.x0) * p->channels, w.y1 - w.y0, w.x1 - w.x0, out);
            }
        }
        image += p->in_h * p->in_w * p->channels;
    }
}
