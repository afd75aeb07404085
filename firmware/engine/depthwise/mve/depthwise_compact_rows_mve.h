/* Divides a depthwise convolution into runs of neighboring outputs: see depthwise_compact_mve.h. */
#ifndef ARENITE_DEPTHWISE_COMPACT_ROWS_MVE_H
#define ARENITE_DEPTHWISE_COMPACT_ROWS_MVE_H

#include "depthwise_compact_mve.h"
#include "vector_s8_mve.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
enum { TAPS_AT_ONCE = 4 };
#else
enum { TAPS_AT_ONCE = 1 };
#endif

/* Writes to `tap` the addresses of the inputs of the output whose window begins in row `top` and column `left`. Those of
 * taps outside the image are `padding`. A function of its own, because its loop needs most registers. */
static __attribute__((noinline)) void set_taps(const ar_compact_layer_mve *p, const int8_t **tap, int32_t top,
                                               int32_t left, const int8_t *padding)
{
    const int32_t in_w = p->in_w, channels = p->in_c, k_w = p->k_w;
    const int8_t *at = p->input + (top * in_w + left) * channels;
    const int8_t **end = tap + p->k_h * k_w;
    for (; tap != end; tap += k_w, top++, at += in_w * channels) {
        const uint32_t width = (uint32_t)top < p->in_h ? (uint32_t)in_w : 0;
        for (int32_t j = 0; j < k_w; j += TAPS_AT_ONCE) {
#if defined(__ARM_FEATURE_MVE)
            const uint32x4_t column = vidupq_n_u32((uint32_t)j, 1);
            const uint32x4_t address = vmlaq_n_u32(vdupq_n_u32((uint32_t)at), column, (uint32_t)channels);
            const mve_pred16_t outside = vcmpcsq_n_u32(vaddq_n_u32(column, (uint32_t)left), width);
            const uint32x4_t chosen = vpselq_u32(vdupq_n_u32((uint32_t)padding), address, outside);
            vstrwq_p_u32((uint32_t *)(void *)(tap + j), chosen, vctp32q((uint32_t)(k_w - j)));
#else
            tap[j] = (uint32_t)(left + j) < width ? at + j * channels : padding;
#endif
        }
    }
}

/* Computes the layer with `run`, which computes neighboring outputs. A firmware has only one of these functions as a rule,
 * so the compiler puts its address into the calls. */
static inline void ar_depthwise_compact_mve(const ar_compact_layer_mve *p,
                                            void (*run)(const ar_depthwise_compact_run *))
{
    const int32_t channels = p->in_c, in_w = p->in_w, stride = p->stride_w, padded = (channels + 15) & ~15;
    const int32_t is_seamless = stride == 1 && channels < 16 && (channels & (channels - 1)) == 0;
    const int32_t last = in_w - p->k_w; /* the last position of a window that ends inside the row */
    const int8_t **taps = (const int8_t **)(void *)(p->scratch + padded * AR_COMPACT_CHANNEL_MVE);
    ar_depthwise_compact_run d;
    d.tap_count = p->k_h * p->k_w;
    int8_t *padding = (int8_t *)(taps + d.tap_count);
    d.taps = taps;
    d.out = p->output;
    d.zero = ar_compact_zero(p);
    d.weights = (const int8_t *)(const void *)p->weights;
    d.records = p->scratch;

    ar_unpack_channels_mve(p, 16, d.tap_count * padded);
    if (p->has_padding) {
        ar_fill_s8_mve(padding, p->input_zero, in_w * channels + 15);
    }
    int32_t top = -p->pad_top;
    for (int32_t y = p->out_h; y > 0; y--, top += p->stride_h) {
        int32_t first = -p->pad_left; /* the first column of the window */
        for (int32_t left = p->out_w; left > 0;) {
            int32_t count = 1;
            if (first >= 0 && first <= last) {
                count = (last - first) / stride + 1;
                count = count < left ? count : left;
            }
            set_taps(p, taps, top, first, padding);
            first += count * stride;
            left -= count;
            d.channels = channels;
            d.tap_step = stride * channels - padded;
            d.out_step = channels - padded;
            int32_t bytes = count * channels;
            d.out_end = d.out + bytes;
            if (is_seamless && bytes > 16) {
                /* Sixteen bytes are computed like one output with sixteen channels. The last ones may overlap those
                 * before them, because the channels repeat in the block. */
                d.channels = 16;
                d.tap_step = d.out_step = 0;
                d.out_end = d.out + ((bytes - 1) & ~15);
                run(&d);
                for (int32_t t = 0; t < d.tap_count; t++) {
                    taps[t] += bytes - 16;
                }
                d.out += bytes - 16;
                d.out_end = d.out + 16;
                bytes = 16;
            }
            run(&d);
            d.out += bytes;
        }
    }
}

#endif
