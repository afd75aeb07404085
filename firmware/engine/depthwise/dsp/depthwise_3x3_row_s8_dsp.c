/* DEPTHWISE_CONV_2D, int8, 3x3, stride 1: computes a single output row, four channels (a group) at a time. The header
 * describes the memory layouts. */
#include "depthwise_3x3_row_s8_dsp.h"

#define WORDS 12 /* words that a block has for each channel */

static int32_t low(int32_t word) { return (int16_t)(uint16_t)word; }
static int32_t high(int32_t word) { return (int16_t)((uint32_t)word >> 16); }

/* Handles input row k (0 or 2) as padding: adds the products of its weights and `zero_point` to the bias, and sets its
 * weights in the table to 0. */
static void fold_into_bias(ar_dw_columns *table, int32_t k, int32_t zero_point)
{
    for (int32_t c = 0; c < AR_DW_GROUP; c++) {
        ar_dw_columns *t = &table[c];
        int32_t sum = low(t->pair[0]) + high(t->pair[0]) + high(t->pair[1]);
        if (k == 2) {
            t->pair[0] = t->pair[1] = 0;
        } else {
            sum = 0;
            for (int32_t i = 0; i < 3; i++) {
                sum += k ? high(t->column[i]) : low(t->column[i]);
                t->column[i] &= (int32_t)(k ? 0xffffu : 0xffff0000u);
            }
        }
        t->bias += sum * zero_point;
    }
}

void ar_depthwise_3x3_s1_s8_dsp_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_3x3_dsp_params *p = params;
    const int32_t channels = p->channels;
    ar_dw_columns *table = p->scratch;
    int32_t *block = (int32_t *)(table + AR_DW_GROUP);
    ar_dw_strip s;
    s.rounding = p->rounding;
    s.pixel = channels;
    s.third = 3 * channels - 1;
    s.end = table + AR_DW_GROUP;
    s.out = out;
    s.width = -p->in_w * channels;
    for (int32_t k = 0; k < 3; k++) {
        s.row[k] = (rows[k] ? rows[k] : rows[1]) - s.width;
    }
    s.block = block;
    s.block_end = block + 8;
    s.pairs = (uintptr_t)s.block_end - (uintptr_t)block / 2;
    s.padding = (int32_t)((uint8_t)p->zero_point * 0x01010101u);
    s.first = table;
    s.first_block = block;
    s.full = p->out_w / AR_DW_PIXELS;
    s.part = p->out_w - s.full * AR_DW_PIXELS;
    s.part_offset = (s.part - 1) * channels;
    s.next_block = AR_DW_PIXELS * channels - AR_DW_GROUP;

    for (int32_t c = 0; c < channels; c += AR_DW_GROUP) {
        int32_t from = c;
        if (c > channels - AR_DW_GROUP) {
            /* Read the last four channels. The first `done` of them have already been computed. */
            const int32_t done = c + AR_DW_GROUP - channels;
            from -= done;
            for (int32_t k = 0; k < 3; k++) {
                s.row[k] -= done;
            }
            s.first += done;
            s.first_block += done * WORDS;
            s.next_block += done;
        }
        ar_depthwise_columns_s8_dsp(table, p->weights + from, channels, p->bias + from, p->multiplier + from);
        for (int32_t k = 0; k < 3; k += 2) {
            if (!rows[k]) {
                fold_into_bias(table, k, p->zero_point);
            }
        }
        ar_depthwise_strip_s8_dsp(&s, p->pad_left);
        for (int32_t k = 0; k < 3; k++) {
            s.row[k] += AR_DW_GROUP;
        }
        s.out += AR_DW_GROUP;
    }
}
