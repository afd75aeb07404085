/* DEPTHWISE_CONV_2D, int8, stride 1, of images with a single row: widens the row of four channels, and computes their
 * outputs. The header describes both layouts. */
#include "depthwise_one_row_s8_dsp.h"

#include "sxtb16.h"

#define GROUP 4   /* channels that are widened together */
#define OUTPUTS 6 /* of a block */

/* Widens `count` pairs of pixels of four channels: a word of each pair in every channel's line. The pixels are `step`
 * bytes apart. */
static inline void widen_pairs(int32_t *to, int32_t words, const int8_t *in, int32_t step, int32_t count)
{
    int32_t *second = to + 2 * words;
    for (const int32_t *const end = to + count; to != end; to++, second++) {
        uint32_t a, b;
        __builtin_memcpy(&a, in, 4);
        __builtin_memcpy(&b, in + step, 4);
        in += 2 * step;
        const uint32_t low = (a & 0xFFFFu) | b << 16; /* channels 0 and 1 of both pixels */
        const uint32_t high = a >> 16 | (b & 0xFFFF0000u);
        to[0] = ar_sxtb16(low);
        to[words] = ar_sxtb16_ror8(low);
        second[0] = ar_sxtb16(high);
        second[words] = ar_sxtb16_ror8(high);
    }
}

/* Widens the row of four channels. `in` is the first channel of the row's first pixel. */
static void widen_lines(const ar_depthwise_one_row_params *p, const int8_t *in)
{
    const int32_t channels = p->channels;
    int32_t *to = p->scratch;
    const uint32_t padding = (uint8_t)p->zero_point * 0x01010101u;
    int32_t at = -p->pad;
    for (int32_t left = (p->pixels + 1) / 2; left > 0;) {
        int32_t count = (p->width - at) / 2; /* pairs that are inside the row */
        count = at < 0 || count < 1 ? 0 : count < left ? count : left;
        if (count) {
            widen_pairs(to, p->words, in + at * channels, channels, count);
        } else {
            uint32_t pair[2] = {padding, padding};
            for (int32_t k = 0; k < 2; k++) {
                if (at + k >= 0 && at + k < p->width) {
                    __builtin_memcpy(&pair[k], in + (at + k) * channels, 4);
                }
            }
            count = 1;
            widen_pairs(to, p->words, (const int8_t *)pair, 4, 1);
        }
        to += count;
        at += 2 * count;
        left -= count;
    }
}

void ar_depthwise_one_row_s8_dsp(const ar_depthwise_one_row_params *p)
{
    const int32_t channels = p->channels;
    const int32_t constants = 3 + 6 * p->rounds;
    ar_dw_one_row row;
    row.rounding = p->rounding;
    row.back = 12 * p->rounds - 4;
    row.pixel = channels;
    row.lines = p->scratch;
    row.line = 4 * p->words;
    row.rounds = p->rounds;
    row.blocks = p->out_w / OUTPUTS;
    row.part = p->out_w - row.blocks * OUTPUTS;
    row.channels = GROUP;
    for (int32_t b = 0; b < p->batches; b++) {
        for (int32_t c = 0; c < channels; c += GROUP) {
            const int32_t from = c + GROUP > channels ? channels - GROUP : c; /* some are computed twice */
            row.out = p->output + b * p->out_w * channels + from;
            row.taps = p->taps + from * constants;
            widen_lines(p, p->input + b * p->width * channels + from);
            ar_depthwise_lines_s8_dsp(&row);
        }
    }
}
