/* DEPTHWISE_CONV_2D, int8, with little code: four channels at a time. */
#include "depthwise_conv_2d_s8_compact_dsp.h"

enum { GROUP = AR_DEPTHWISE_COMPACT_GROUP };

/* Widens a row of the image to the columns of a group, with its padding, or a row of padding if `from` is 0. */
static __attribute__((noinline)) void add_row(const ar_depthwise_compact_params *p, const int8_t *from,
                                              int16_t *to)
{
    const int32_t gap = p->k_h;
    const int32_t size = p->size;
    const int32_t channels = p->channels;
    const uint32_t padding = (uint8_t)p->zero_point * 0x01010101u;
    const uint32_t inside = from ? p->in_w : 0;
    int16_t *third = to + 2 * size;
    uint32_t x = 0u - p->pad_left;
    for (int32_t n = p->columns; n != 0; n--, x++, to += gap, third += gap) {
        /* The bytes after the last channel may be those of the next pixel. Their outputs are not stored. */
        uint32_t bytes = padding;
        if (x < inside) {
            __builtin_memcpy(&bytes, from, 4);
            from += channels;
        }
        to[0] = (int8_t)bytes;
        to[size] = (int8_t)(bytes >> 8);
        third[0] = (int8_t)(bytes >> 16);
        third[size] = (int8_t)(bytes >> 24);
    }
}

/* Computes `count` channels of one image. `group` has the values that are the same for all rows of outputs. */
static void compute_channels(const ar_depthwise_compact_params *p, ar_depthwise_compact_row *group,
                             int32_t count, const int8_t *image)
{
    int16_t *columns = p->scratch;
    int32_t at = -p->pad_top; /* the next row of the image */
    int32_t end = at + p->k_h;
    for (int32_t y = p->out_h; y != 0; y--, end += p->stride_h) {
        for (; at < end; at++, columns++) {
            const int32_t inside = at >= 0 && at < p->in_h;
            add_row(p, inside ? image + at * p->in_w * p->channels : 0, columns + p->k_h - 1);
        }
        for (int32_t i = 0; i < count; i++) {
            group[i].x = columns - 1 + i * p->size;
            ar_depthwise_compact_row_s8_dsp(&group[i]);
            group[i].out += p->out_w * p->channels;
        }
    }
}

void ar_depthwise_conv_2d_s8_compact_dsp(const ar_depthwise_compact_params *p)
{
    const int32_t taps = p->k_h * p->k_w;
    const int8_t *w = p->weights;
    for (int32_t c = 0; c < p->channels; c += GROUP) {
        const int32_t count = p->channels - c < GROUP ? p->channels - c : GROUP;
        ar_depthwise_compact_row group[GROUP];
        int16_t *weights = p->scratch + p->size - 2 * p->pairs;
        for (int32_t i = 0; i < count; i++, weights += p->size) {
            const uint32_t word = p->bias[c + i];
            int32_t bias = ar_compact_bias(&p->format, word);
            weights[2 * p->pairs - 1] = 0; /* not a tap if their number is odd */
            for (int32_t k = 0; k < taps; k++, w++) {
                bias -= *w * p->zero_point;
                weights[k] = (int16_t)(2 * *w);
            }
            ar_depthwise_compact_row *row = &group[i];
            row->out = p->output + c + i;
            row->count = p->out_w;
            row->step = 2 * p->stride_w * p->k_h;
            row->bias = 2 * bias;
            row->scale = ar_compact_scale_of(&p->format, word, p->bias + p->channels, c + i);
            row->channels = p->channels;
            row->weights = weights;
            row->pairs = p->pairs;
        }
        const int8_t *image = p->input + c;
        for (int32_t b = p->batches; b != 0; b--, image += p->in_h * p->in_w * p->channels) {
            compute_channels(p, group, count, image);
        }
    }
}
