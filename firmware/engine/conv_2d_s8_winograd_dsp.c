/* CONV_2D, int8, 3 x 3 taps at stride 1: tiles of two outputs, transformed and multiplied three at a time. */
#include "conv_2d_s8_winograd_dsp.h"

#include "affine_requant.h"
#include "winograd3_s8_dsp.h"

#ifdef __ARM_FEATURE_DSP
static inline uint32_t even_bytes(uint32_t word)
{
    __asm__("sxtb16 %0, %1" : "=r"(word) : "r"(word));
    return word;
}

static inline uint32_t odd_bytes(uint32_t word)
{
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(word) : "r"(word));
    return word;
}

static inline uint32_t add_halves(uint32_t a, uint32_t b)
{
    __asm__("sadd16 %0, %1, %2" : "=r"(a) : "r"(a), "r"(b));
    return a;
}

static inline uint32_t subtract_halves(uint32_t a, uint32_t b)
{
    __asm__("ssub16 %0, %1, %2" : "=r"(a) : "r"(a), "r"(b));
    return a;
}
#else
static inline uint32_t halves(int32_t low, int32_t high)
{
    return ((uint32_t)low & 0xFFFFu) | (uint32_t)high << 16;
}
static inline int32_t low_half(uint32_t word) { return (int16_t)(word & 0xFFFFu); }
static inline int32_t high_half(uint32_t word) { return (int16_t)(word >> 16); }

static inline uint32_t even_bytes(uint32_t word)
{
    return halves((int8_t)(word & 255u), (int8_t)((word >> 16) & 255u));
}

static inline uint32_t odd_bytes(uint32_t word) { return even_bytes(word >> 8); }

static inline uint32_t add_halves(uint32_t a, uint32_t b)
{
    return halves(low_half(a) + low_half(b), high_half(a) + high_half(b));
}

static inline uint32_t subtract_halves(uint32_t a, uint32_t b)
{
    return halves(low_half(a) - low_half(b), high_half(a) - high_half(b));
}
#endif

/* One row of four columns, of `pixel` bytes each, into the four planes of one tile. */
static uint32_t *transform(const int8_t *in, int32_t pixel, uint32_t *x, int32_t plane)
{
    for (const int8_t *const end = in + pixel; in != end; in += 4) {
        uint32_t d[4];
        __builtin_memcpy(&d[0], in, 4);
        __builtin_memcpy(&d[1], in + pixel, 4);
        __builtin_memcpy(&d[2], in + 2 * pixel, 4);
        __builtin_memcpy(&d[3], in + 3 * pixel, 4);
        const uint32_t e1 = even_bytes(d[1]), e2 = even_bytes(d[2]);
        x[0] = add_halves(e1, e2);
        x[plane] = subtract_halves(e2, e1);
        x[2 * plane] = subtract_halves(even_bytes(d[0]), e2);
        x[3 * plane] = subtract_halves(e1, even_bytes(d[3]));
        const uint32_t o1 = odd_bytes(d[1]), o2 = odd_bytes(d[2]);
        x += 3; /* the next two inputs, of the same tile */
        x[0] = add_halves(o1, o2);
        x[plane] = subtract_halves(o2, o1);
        x[2 * plane] = subtract_halves(odd_bytes(d[0]), o2);
        x[3 * plane] = subtract_halves(o1, odd_bytes(d[3]));
        x += 3;
    }
    return x;
}

/* Row `y` of the image with its padding; rows and columns outside hold the zero point. */
static void padded_row(const ar_conv_2d_winograd_params *p, const int8_t *image, int32_t y, int8_t *to)
{
    const int32_t in_c = p->in_c;
    const int32_t bytes = (p->out_w + 2) * in_c;
    int32_t at = 0;
    if (y >= 0 && y < p->in_h) {
        const int8_t *from = image + y * p->in_w * in_c;
        const int32_t end = (p->pad_left + p->in_w) * in_c;
        for (; at < p->pad_left * in_c; at += 4) {
            __builtin_memset(to + at, p->zero_point, 4);
        }
        for (; at < end && at < bytes; at += 4, from += 4) {
            __builtin_memcpy(to + at, from, 4);
        }
    }
    for (; at < bytes; at += 4) {
        __builtin_memset(to + at, p->zero_point, 4);
    }
}

static void image_of(const ar_conv_2d_winograd_params *p, const int8_t *image, int8_t *out)
{
    const int32_t in_c = p->in_c;
    const int32_t row = (p->out_w + 2) * in_c;
    const int32_t across = p->out_w / 2; /* tiles in a row */
    const int32_t tiles = across * p->out_h;
    const int32_t plane = 18 * in_c / 4; /* words */
    uint32_t *const x = p->scratch;
    int8_t *const lines = (int8_t *)(x + 4 * plane); /* the padded row k at slot k % 4 */
    int32_t ready = 0;                               /* padded rows that have been made */
    ar_winograd_s8_dsp d;
    d.rounding = p->rounding;
    d.shift = p->shift;
    d.tile = 2 * p->out_c;
    d.x = (const int32_t *)x;
    d.groups = in_c / 4;
    d.pair = p->filters;
    d.end = p->filters + p->out_c / 2 * (2 + 12 * in_c);
    d.requant = p->requant;
    for (int32_t done = 0; done < tiles; done += 3) {
        /* The last three tiles may have been computed in part already. */
        const int32_t first = done + 3 <= tiles ? done : tiles - 3;
        for (int32_t k = 0; k < 3; k++) {
            const int32_t y = (first + k) / across;
            const int32_t column = 2 * ((first + k) - y * across);
            uint32_t *to = x + k;
            for (; ready < y + 3; ready++) {
                padded_row(p, image, ready - p->pad_top, lines + (ready & 3) * row);
            }
            for (int32_t ky = y; ky < y + 3; ky++) {
                to = transform(lines + (ky & 3) * row + column * in_c, in_c, to, plane);
            }
        }
        d.out = out + first * d.tile;
        ar_winograd3_s8_dsp(&d);
    }
    ar_clamp_s8(out, tiles * d.tile, p->act_min, p->act_max);
}

void ar_conv_2d_s8_winograd_dsp(const ar_conv_2d_winograd_params *p)
{
    for (int32_t b = 0; b < p->batches; b++) {
        image_of(p, p->input + b * p->in_h * p->in_w * p->in_c,
                 p->output + b * p->out_h * p->out_w * p->out_c);
    }
}
