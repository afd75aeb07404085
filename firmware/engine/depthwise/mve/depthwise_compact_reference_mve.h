/* Computes neighboring outputs of a depthwise convolution in plain C: see depthwise_compact_mve.h. */
#ifndef ARENITE_DEPTHWISE_COMPACT_REFERENCE_MVE_H
#define ARENITE_DEPTHWISE_COMPACT_REFERENCE_MVE_H

#include "depthwise_compact_mve.h"
#include "depthwise_s8_mve.h"
#include "fixed_point.h"

static inline void ar_depthwise_compact_reference(const ar_depthwise_compact_run *d)
{
    const int32_t padded = (d->channels + 15) / 16 * 16;
    int32_t at = 0; /* from the taps of the first output to those of this one */
    for (int8_t *out = d->out; out != d->out_end; out += padded + d->out_step, at += padded + d->tap_step) {
        for (int32_t c = 0; c < d->channels; c++) {
            const int32_t lane = c % 16, place = ar_depthwise_place(lane);
            const int8_t *record = d->records + c / 16 * (16 * AR_COMPACT_CHANNEL_MVE);
            const int32_t *words = (const int32_t *)(const void *)record;
            const int8_t *w = d->weights + c / 16 * 16 * d->tap_count;
            uint32_t sum = (uint32_t)words[place];
            for (int32_t t = 0; t < d->tap_count; t++) {
                sum += (uint32_t)(d->taps[t][at + c] * w[16 * t + lane]);
            }
            const int32_t scaled =
                ar_requant((int32_t)sum, words[16 + place], record[128 + place]) + (int16_t)d->zero;
            out[c] = (int8_t)ar_clamp(scaled, INT8_MIN, INT8_MAX);
        }
    }
}

#endif
