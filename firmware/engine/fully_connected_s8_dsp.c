/* FULLY_CONNECTED with one row, int8: the row is widened once, then multiplied with quads of filters. */
#include "fully_connected_s8_dsp.h"

#include "affine_requant.h"
#include "row_dot_s8_dsp.h"
#include "sxtb16.h"

/* Widen four bytes, which need no alignment. */
static inline void widen_word(int32_t *x, const int8_t *in)
{
    uint32_t word;
    __builtin_memcpy(&word, in, 4);
    x[0] = ar_sxtb16(word);
    x[1] = ar_sxtb16_ror8(word);
}

void ar_fully_connected_s8_dsp(const ar_fully_connected_dsp_params *p)
{
    const int8_t *in = p->input;
    int32_t *x = p->scratch;
    int32_t left = p->depth;
    for (; left >= 8; left -= 8, in += 8, x += 4) {
        widen_word(x, in);
        widen_word(x + 2, in + 4);
    }
    if (left) {
        int8_t last[8] = {0};
        for (int32_t i = 0; i < left; i++) {
            last[i] = in[i];
        }
        widen_word(x, last);
        widen_word(x + 2, last + 4);
    }

    const int32_t quads = p->units / 4;
    const int32_t size = 4 + p->groups * 8;
    ar_row_dot_s8_dsp d = {p->output, p->requant, p->rounding,
                           p->shift,  p->scratch, p->filters + quads * size,
                           p->groups, p->filters};
    if (quads) {
        ar_row_dot4_s8_dsp(&d);
    }
    const int32_t rest = p->units & 3;
    if (rest) { /* the last quad has fewer channels: its outputs go through a buffer */
        int8_t last[4];
        d.out = last;
        d.requant += 6 * quads;
        d.quad = d.end;
        d.end += size;
        ar_row_dot4_s8_dsp(&d);
        for (int32_t i = 0; i < rest; i++) {
            p->output[4 * quads + i] = last[i];
        }
    }
    ar_clamp_s8(p->output, p->units, p->act_min, p->act_max);
}
