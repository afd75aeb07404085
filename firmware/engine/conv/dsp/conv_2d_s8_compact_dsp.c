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

/* The window whose inputs are widened next. */
typedef struct {
    const int8_t *image;
    int32_t left,
        top; /* its first byte within a row of the image, and its first row; negative if it is padding */
    int32_t right; /* number of its row's windows that are left, with itself */
    int32_t below; /* number of rows of windows that are left in the image, with its own */
} window;

/* Widens the inputs of the window for one pixel of a block. Rows that are not completely inside the image are copied
 * first, with their padding. The last group of a row may have up to three bytes after it, which are multiplied with
 * weights of zero. */
static void widen_window(const ar_conv_2d_compact_params *p, const window *w, int32_t *to)
{
    const int32_t zeros = (int32_t)((uint32_t)(uint16_t)-p->zero_point * 0x00010001u);
    const int32_t end = p->in_w * p->in_c;
    const int32_t run = p->k_w * p->in_c;
    const int32_t groups = p->groups;
    const int32_t next_row = end - 4 * groups;
    const int8_t *from = w->image + w->top * end + w->left;
    int32_t top = w->top;
    int32_t n = p->k_h;
    const int32_t across = w->left >= 0 && w->left + run <= end;
    if (across && top >= 0 && top + n <= p->in_h) {
        widen(from, n, groups, next_row, to, zeros);
        return;
    }
    for (; n != 0; n--, top++, from += end) {
        const int32_t inside = (uint32_t)top < p->in_h;
        const int8_t *row = from;
        if (!across || !inside) {
            row = p->scratch;
            const uint32_t width = inside ? (uint32_t)end : 0;
            for (int32_t i = 0; i < run; i++) {
                p->scratch[i] = (uint32_t)(w->left + i) < width ? from[i] : p->zero_point;
            }
        }
        to = widen(row, 1, groups, 0, to, zeros);
    }
}

/* Starts a row of windows. */
static void start_row(const ar_conv_2d_compact_params *p, window *w)
{
    w->left = -p->pad_left * p->in_c;
    w->right = p->out_w;
}

/* Starts an image. */
static void start_image(const ar_conv_2d_compact_params *p, window *w)
{
    w->top = -p->pad_top;
    w->below = p->out_h;
}

static void advance(const ar_conv_2d_compact_params *p, window *w)
{
    w->left += p->stride_w * p->in_c;
    if (--w->right == 0) {
        start_row(p, w);
        w->top += p->stride_h;
        if (--w->below == 0) {
            start_image(p, w);
            w->image += p->in_h * p->in_w * p->in_c;
        }
    }
}

void ar_conv_2d_s8_compact_dsp(const ar_conv_2d_compact_params *p)
{
    const int32_t groups = p->k_h * p->groups;
    int32_t *const widened = (int32_t *)(void *)(p->scratch + 4 * p->groups);
    int8_t *out = p->output;
    window w;
    w.image = p->input;
    start_row(p, &w);
    start_image(p, &w);
    for (int32_t left = p->pixels; left != 0;) {
        int32_t blocks = left / AR_COMPACT_PIXELS;
        blocks = blocks > p->blocks ? p->blocks : blocks;
        /* The last one or two pixels are computed alone, as all three pixels of a block. */
        const int32_t step = blocks != 0;
        blocks += !step;
        int32_t *to = widened;
        for (int32_t b = blocks; b != 0; b--, to += (2 * groups - 1) * AR_COMPACT_PIXELS) {
            for (int32_t i = AR_COMPACT_PIXELS; i != 0; i--, to++) {
                widen_window(p, &w, to);
                if (step || i == 1) {
                    advance(p, &w);
                }
            }
        }
        ar_compact_work work;
        work.filters = p->filters;
        work.groups = groups;
        work.out = out;
        work.x = widened;
        work.end = to;
        work.pixel = step * p->out_c;
        work.table = p->format.table;
        work.pairs = p->out_c / 2;
        work.spare = p->format.spare;
        work.room = 32u - p->format.spare;
        work.mask = (1u << p->format.shift_bits) - 1u;
        work.shift_bits = p->format.shift_bits;
        work.dropped = p->format.dropped;
        work.shift_base = p->format.shift_base;
        work.zero_twice = p->format.zero_twice;
        ar_compact_pairs_s8_dsp(&work);
        const int32_t done = step ? AR_COMPACT_PIXELS * blocks : 1;
        out += done * p->out_c;
        left -= done;
    }
}
