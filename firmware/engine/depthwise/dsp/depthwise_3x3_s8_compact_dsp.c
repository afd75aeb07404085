/* DEPTHWISE_CONV_2D, int8, 3x3, with little code: four channels and two rows of outputs at a time. */
#include "depthwise_3x3_s8_compact_dsp.h"

enum { GROUP = AR_DEPTHWISE_3X3_COMPACT_GROUP };

/* Where the pixels of two rows are read from and written to. */
typedef struct {
    const int8_t *from[2];
    int32_t step[2]; /* bytes from one pixel to the next; 0 if all pixels of the row are padding */
    int32_t *to;
    int32_t gap;  /* bytes from one column to the next */
    int32_t size; /* bytes from one channel to the next */
} pixel_rows;

/* Widens `count` pixels of both rows to the columns of a group. The bytes after the last channel may be those of the next
 * pixel. Their outputs are not stored. */
static __attribute__((noinline)) void widen_pixels(pixel_rows *rows, int32_t count)
{
    if (count == 0) {
        return;
    }
    const int8_t *first = rows->from[0], *second = rows->from[1];
    int32_t *to = rows->to;
#ifdef __ARM_FEATURE_DSP
    int32_t a, b, even, odd, word;
    __asm__(
        "1:\n"
        "ldr %[a], [%[first]]\n add %[first], %[step0]\n"
        "ldr %[b], [%[second]]\n add %[second], %[step1]\n"
        "sxtb16 %[even], %[a]\n sxtb16 %[a], %[a], ror #8\n"
        "sxtb16 %[odd], %[b]\n sxtb16 %[b], %[b], ror #8\n"
        "pkhbt %[word], %[even], %[odd], lsl #16\n pkhtb %[even], %[odd], %[even], asr #16\n"
        "str %[word], [%[to]]\n"
        "pkhbt %[word], %[a], %[b], lsl #16\n pkhtb %[a], %[b], %[a], asr #16\n"
        "str %[word], [%[to], %[size]]\n"
        "add %[word], %[to], %[size], lsl #1\n add %[to], %[gap]\n"
        "str %[even], [%[word]]\n"
        "str %[a], [%[word], %[size]]\n"
        "subs %[count], #1\n"
        "bne 1b\n"
        : [first] "+r"(first), [second] "+r"(second), [to] "+r"(to), [count] "+r"(count), [a] "=&r"(a),
          [b] "=&r"(b), [even] "=&r"(even), [odd] "=&r"(odd), [word] "=&r"(word)
        : [step0] "r"(rows->step[0]), [step1] "r"(rows->step[1]), [gap] "r"(rows->gap), [size] "r"(rows->size)
        : "cc", "memory");
#else
    for (; count != 0; count--, first += rows->step[0], second += rows->step[1], to += rows->gap / 4) {
        for (int32_t i = 0; i < GROUP; i++) {
            to[i * rows->size / 4] = (int32_t)((uint32_t)(int32_t)second[i] << 16 | (uint16_t)first[i]);
        }
    }
#endif
    rows->from[0] = first;
    rows->from[1] = second;
    rows->to = to;
}

/* Widens `count` pixels of padding. */
static __attribute__((noinline)) void widen_padding(const uint32_t *padding, pixel_rows *rows, int32_t count)
{
    rows->from[0] = rows->from[1] = (const int8_t *)padding;
    rows->step[0] = rows->step[1] = 0;
    widen_pixels(rows, count);
}

/* Widens the rows y and y + 1 of the image, with their padding, to the columns of a group. There are `columns` of them. */
static void add_rows(const ar_depthwise_3x3_compact_params *p, const int8_t *image, int32_t y,
                     int32_t columns, pixel_rows *rows)
{
    const uint32_t padding = (uint8_t)p->zero_point * 0x01010101u;
    widen_padding(&padding, rows, p->pad_left);
    for (int32_t i = 0; i < 2; i++, y++) {
        if ((uint32_t)y < p->in_h) {
            rows->from[i] = image + y * p->in_w * p->channels;
            rows->step[i] = p->channels;
        }
    }
    const int32_t rest = columns - p->pad_left;
    const int32_t count = rest < p->in_w ? rest : p->in_w;
    widen_pixels(rows, count);
    widen_padding(&padding, rows, rest - count);
}

/* Returns twice the weights `low` and `high`, each in a halfword. */
static inline uint32_t pair(int32_t low, int32_t high) { return (uint32_t)high << 17 | (uint16_t)(2 * low); }

/* Sets the values of channel c that are the same for all rows of outputs. */
static void set_channel(const ar_depthwise_3x3_compact_params *p, int32_t c,
                        ar_depthwise_3x3_compact_rows *rows)
{
    const uint32_t word = p->bias[c];
    const int8_t *w = p->weights + 9 * c;
    int32_t sum = 0;
    for (int32_t k = 0; k < 3; k++, w += 3) {
        sum += w[0] + w[1] + w[2];
        rows->weights[k][0] = pair(w[0], w[1]);
        rows->weights[k][1] = pair(w[1], w[2]);
    }
    rows->bias = 2 * (ar_compact_bias(&p->format, word) - sum * p->zero_point);
    rows->scale = ar_compact_scale_of(&p->format, word, p->bias + p->channels, c);
    rows->channels = p->channels;
    rows->out = p->output + c;
}

void ar_depthwise_3x3_s8_compact_dsp(const ar_depthwise_3x3_compact_params *p)
{
    const int32_t stride = p->stride;
    const int32_t words = stride + 1;
    const int32_t out_row = p->out_w * p->channels;
    const int32_t width = p->out_w * stride;
    const int32_t columns = width + 3 - stride;
    const int32_t size = columns * words + (p->out_h - 1) / 2 * stride;
    pixel_rows pixels;
    pixels.gap = 4 * words;
    pixels.size = 4 * size;
    for (int32_t c = 0; c < p->channels; c += GROUP) {
        const int32_t count = p->channels - c < GROUP ? p->channels - c : GROUP;
        ar_depthwise_3x3_compact_rows group[GROUP];
        for (int32_t i = 0; i < count; i++) {
            set_channel(p, c + i, &group[i]);
        }
        int32_t *to = p->scratch;
        const int32_t *x = to; /* the first windows of the first channel */
        int32_t y = -p->pad_top;
        for (int32_t left = p->out_h; left > 0; left -= 2) {
            for (; to <= x + stride; to++, y += 2) {
                pixels.to = to;
                add_rows(p, p->input + c, y, columns, &pixels);
            }
            const int32_t *first = x;
            for (ar_depthwise_3x3_compact_rows *rows = group; rows != group + count; rows++, first += size) {
                rows->x = first;
                rows->end = first + width * words;
                rows->next_row = left > 1 ? out_row : 0;
                ar_depthwise_3x3_compact_rows_s8_dsp(rows, stride);
                rows->out += 2 * out_row;
            }
            x += stride;
        }
    }
}
