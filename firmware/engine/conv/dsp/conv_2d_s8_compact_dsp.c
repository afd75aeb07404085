/* CONV_2D, int8, with little code: widens the windows of a few blocks of pixels, then multiplies them with each pair of
 * filters. */
#include "conv_2d_s8_compact_dsp.h"

#ifndef __ARM_FEATURE_DSP
#include "dot_s8_plain.h"
#endif

/* Widens `groups` (at least 1) groups of four bytes of each of `rows` rows for one pixel of a block. `next_row` is the
 * number of bytes from the end of a row to the beginning of the next one. `zeros` is added to every two values. Returns
 * the address for the next values. */
static __attribute__((noinline)) int32_t *widen(const int8_t *from, int32_t rows, int32_t groups,
                                                int32_t next_row, int32_t *to, int32_t zeros)
{
#ifdef __ARM_FEATURE_DSP
    int32_t left, word, two;
    __asm__("1:\n"
            "mov %[left], %[groups]\n"
            "2:\n"
            "ldr %[word], [%[from]], #4\n"
            "sxtab16 %[two], %[zeros], %[word]\n"
            "str %[two], [%[to]], #12\n" /* 4 * AR_COMPACT_PIXELS */
            "sxtab16 %[two], %[zeros], %[word], ror #8\n"
            "str %[two], [%[to]], #12\n"
            "subs %[left], #1\n"
            "bne 2b\n"
            "add %[from], %[next_row]\n"
            "subs %[rows], #1\n"
            "bne 1b\n"
            : [from] "+r"(from), [to] "+r"(to), [rows] "+r"(rows), [left] "=&r"(left), [word] "=&r"(word),
              [two] "=&r"(two)
            : [zeros] "r"(zeros), [groups] "r"(groups), [next_row] "r"(next_row)
            : "cc", "memory");
#else
    for (; rows != 0; rows--, from += next_row) {
        for (int32_t left = groups; left != 0; left--, from += 4, to += 2 * AR_COMPACT_PIXELS) {
            uint32_t four;
            __builtin_memcpy(&four, from, 4);
            to[0] = ar_dot_add_low_bytes(zeros, (int32_t)four);
            to[AR_COMPACT_PIXELS] = ar_dot_add_low_bytes(zeros, (int32_t)(four >> 8));
        }
    }
#endif
    return to;
}

/* Widens the inputs of a window for one pixel of a block. `top` is its first row and `left` its first byte within a row of
 * the image; they are negative if it begins with padding. Rows that are not completely inside the image are copied first,
 * with their padding. The last group of a row may have up to three bytes after it, which are multiplied with weights of
 * zero. */
static void widen_window(const ar_conv_2d_compact_params *p, const int8_t *image, int32_t top, int32_t left,
                         int32_t *to)
{
    const int32_t zeros = (int32_t)((uint32_t)(uint16_t)-p->zero_point * 0x00010001u);
    const int32_t end = p->in_w * p->in_c;
    const int32_t run = p->k_w * p->in_c;
    const int32_t groups = p->groups;
    const int8_t *from = image + top * end + left;
    int32_t n = p->k_h;
    const int32_t across = left >= 0 && left + run <= end;
    if (across && top >= 0 && top + n <= p->in_h) {
        widen(from, n, groups, end - 4 * groups, to, zeros);
        return;
    }
    for (; n != 0; n--, top++, from += end) {
        const int32_t inside = (uint32_t)top < p->in_h;
        const int8_t *row = from;
        if (!across || !inside) {
            row = p->scratch;
            const uint32_t width = inside ? (uint32_t)end : 0;
            for (int32_t i = 0; i < run; i++) {
                p->scratch[i] = (uint32_t)(left + i) < width ? from[i] : p->zero_point;
            }
        }
        to = widen(row, 1, groups, 0, to, zeros);
    }
}

/* Computes an image. */
static inline void compute(const ar_conv_2d_compact_params *p, const int8_t *image, int8_t *out)
{
    const int32_t groups = p->k_h * p->groups;
    int32_t *const widened = (int32_t *)(void *)(p->scratch + 4 * p->groups);
    const int32_t stride = p->stride_w * p->in_c;
    const int32_t first = -p->pad_left * p->in_c;
    const int32_t end = first + p->out_w * stride;
    int32_t top = -p->pad_top;
    int32_t left = first;
    ar_compact_work work;
    work.filters = p->filters;
    work.groups = groups;
    work.x = widened;
    work.spare = p->format.spare;
    work.room = 32u - p->format.spare;
    work.mask = (1u << p->format.shift_bits) - 1u;
    work.shift_bits = p->format.shift_bits;
    work.dropped = p->format.dropped;
    work.shift_base = p->format.shift_base;
    work.zero_twice = p->format.zero_twice;
    for (int32_t pixels = p->out_h * p->out_w; pixels != 0;) {
        int32_t blocks = pixels / AR_COMPACT_PIXELS;
        blocks = blocks > p->blocks ? p->blocks : blocks;
        /* The last one or two pixels are computed alone, as all three pixels of a block. */
        const int32_t alone = blocks == 0;
        const int32_t done = alone ? 1 : AR_COMPACT_PIXELS * blocks;
        int32_t *to = widened;
        do {
            for (int32_t i = AR_COMPACT_PIXELS; i != 0; i--, to++) {
                widen_window(p, image, top, left, to);
                if (!alone || i == 1) {
                    left += stride;
                    if (left == end) {
                        left = first;
                        top += p->stride_h;
                    }
                }
            }
            to += (2 * groups - 1) * AR_COMPACT_PIXELS;
        } while (--blocks > 0);
        work.out = out;
        work.end = to;
        work.pixel = alone ? 0 : p->out_c;
        work.pairs = p->out_c / 2;
        ar_compact_pairs_s8_dsp(&work);
        out += done * p->out_c;
        pixels -= done;
    }
}

void ar_conv_2d_s8_compact_dsp(const ar_conv_2d_compact_params *p)
{
    const int8_t *image = p->input;
    int8_t *out = p->output;
    for (int32_t n = p->batches; n != 0; n--) {
        compute(p, image, out);
        image += p->in_h * p->in_w * p->in_c;
        out += p->out_h * p->out_w * p->out_c;
    }
}
