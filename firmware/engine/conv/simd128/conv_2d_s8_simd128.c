/* CONV_2D, int8, for WebAssembly's 128-bit SIMD: copies the rows under a row of windows, then multiplies four windows at
 * a time.
 *
 * In most functions `dot` tells the form of the copies: AR_DOT_NONE for int16, otherwise bytes. */
#include "conv_2d_s8_simd128.h"

#include "relaxed_dot.h"
#include "widen_simd128.h"

/* The lines of a row of windows, from top to bottom. */
typedef struct {
    const int16_t *line[AR_CONV_2D_SIMD128_ROWS];
} window_lines;

/* Returns what an input is xor'ed with: 128 is added to bytes that are read as unsigned. */
static inline int8_t mask_of(ar_dot dot) { return dot == AR_DOT_UNSIGNED ? -128 : 0; }

/* Copies `count` inputs to element `at` of a line. */
static inline void copy_inputs(int16_t *line, int32_t at, const int8_t *from, int32_t count, ar_dot dot)
{
    if (dot == AR_DOT_NONE) {
        ar_widen(line + at, from, count);
    } else {
        ar_flip((int8_t *)line + at, from, count, mask_of(dot));
    }
}

/* Writes the value of the padding to `count` elements of a line from element `at` on. */
static inline void add_padding(const ar_conv_2d_simd128_params *p, int16_t *line, int32_t at, int32_t count,
                               ar_dot dot)
{
    if (dot == AR_DOT_NONE) {
        ar_fill_s16(line + at, p->padding, count);
    } else {
        int8_t *to = (int8_t *)line + at;
        for (int32_t i = 0; i < count; i++) {
            to[i] = (int8_t)(p->padding ^ mask_of(dot));
        }
    }
}

/* Copies a row of the image, 0 for a row outside of it, with its padding. */
static inline void copy_line(const ar_conv_2d_simd128_params *p, const int8_t *row, int16_t *line, ar_dot dot)
{
    const int32_t in_c = p->in_c, columns = ((int32_t)p->line - AR_CONV_2D_SIMD128_SLACK) / in_c;
    if (row == 0) {
        add_padding(p, line, 0, columns * in_c, dot);
        return;
    }
    const int32_t left = p->pad_left < columns ? p->pad_left : columns;
    const int32_t inside = columns - left < p->in_w ? columns - left : p->in_w;
    add_padding(p, line, 0, left * in_c, dot);
    copy_inputs(line, left * in_c, row, inside * in_c, dot);
    add_padding(p, line, (left + inside) * in_c, (columns - left - inside) * in_c, dot);
}

/* The windows of a row, in one of both forms. */
typedef struct {
    ar_windows_s16 s16;
#if defined(__wasm_relaxed_simd__)
    ar_windows_s8 s8;
#endif
} row_windows;

/* Returns the windows on these lines. */
static inline void find_windows(const ar_conv_2d_simd128_params *p, const window_lines *lines,
                                row_windows *windows, ar_dot dot)
{
    const uint32_t taps = p->gemm.segments / p->k_h; /* segments of a line: 1, or one for each tap */
    const uint32_t tap = p->dilation_w * p->in_c;
#if defined(__wasm_relaxed_simd__)
    if (dot != AR_DOT_NONE) {
        windows->s8.step = p->stride_w * p->in_c;
        for (uint32_t s = 0; s < p->gemm.segments; s++) {
            windows->s8.segment[s] = (const int8_t *)lines->line[s / taps] + s % taps * tap;
        }
        return;
    }
#endif
    (void)dot;
    windows->s16.step = p->stride_w * p->in_c;
    for (uint32_t s = 0; s < p->gemm.segments; s++) {
        windows->s16.segment[s] = lines->line[s / taps] + s % taps * tap;
    }
}

/* Computes the outputs of `count` pixels. */
static inline void multiply(const ar_conv_2d_simd128_params *p, const row_windows *windows, uint32_t count,
                            int8_t *out, ar_dot dot)
{
    const uint32_t step = p->stride_w * p->in_c;
    for (uint32_t x = 0; x < count; x += 4, out += 4 * p->gemm.out_c) {
        const uint32_t pixels = count - x < 4 ? count - x : 4;
#if defined(__wasm_relaxed_simd__)
        if (dot != AR_DOT_NONE) {
            ar_gemm_s8_relaxed(&p->gemm, &windows->s8, x * step, pixels, dot == AR_DOT_UNSIGNED, out);
            continue;
        }
#endif
        (void)dot;
        ar_gemm_s8_simd128(&p->gemm, &windows->s16, x * step, pixels, out);
    }
}

/* Returns whether the filters have one tap at stride 1. */
static inline int is_pointwise(const ar_conv_2d_simd128_params *p)
{
    return p->k_h == 1 && p->k_w == 1 && p->stride_h == 1 && p->stride_w == 1;
}

/* Computes `count` neighboring pixels, for filters of one tap at stride 1. A block of pixels is copied before its outputs
 * are written, so they may overwrite it. */
static inline void pointwise(const ar_conv_2d_simd128_params *p, const int8_t *in, uint32_t count,
                             int8_t *out, ar_dot dot)
{
    const window_lines lines = {{p->lines}};
    row_windows windows;
    find_windows(p, &lines, &windows, dot);
    while (count != 0) {
        const uint32_t pixels = count < 4 ? count : 4;
        copy_inputs(p->lines, 0, in, (int32_t)(pixels * p->in_c), dot);
        multiply(p, &windows, pixels, out, dot);
        in += pixels * p->in_c;
        out += pixels * p->gemm.out_c;
        count -= pixels;
    }
}

/* Computes one output row. */
static inline void compute_row(const ar_conv_2d_simd128_params *p, const int8_t *const *rows, int8_t *out,
                               ar_dot dot)
{
    if (is_pointwise(p)) {
        pointwise(p, rows[0], p->out_w, out, dot);
        return;
    }
    window_lines lines;
    for (uint32_t k = 0; k < p->k_h; k++) {
        int16_t *line = p->lines + k * p->line;
        copy_line(p, rows[k], line, dot);
        lines.line[k] = line;
    }
    row_windows windows;
    find_windows(p, &lines, &windows, dot);
    multiply(p, &windows, p->out_w, out, dot);
}

static inline void compute(const ar_conv_2d_simd128_params *p, ar_dot dot)
{
    if (is_pointwise(p)) {
        pointwise(p, p->input, (uint32_t)p->batches * p->out_h * p->out_w, p->output, dot);
        return;
    }
    const int32_t in_row = p->in_w * p->in_c, span = (p->k_h - 1) * p->dilation_h + 1; /* number of lines */
    const int8_t *image = p->input;
    int8_t *out = p->output;
    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * in_row) {
        int32_t next = -p->pad_top; /* the next row to copy; row r is in line (r + pad_top) % span */
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->gemm.out_c) {
            const int32_t first = y * p->stride_h - p->pad_top;
            window_lines lines;
            next = next < first ? first : next;
            for (; next < first + span; next++) {
                const int8_t *row = next < 0 || next >= p->in_h ? 0 : image + next * in_row;
                copy_line(p, row, p->lines + (uint32_t)((next + p->pad_top) % span) * p->line, dot);
            }
            for (int32_t k = 0; k < p->k_h; k++) {
                const int32_t r = first + k * p->dilation_h + p->pad_top;
                lines.line[k] = p->lines + (uint32_t)(r % span) * p->line;
            }
            row_windows windows;
            find_windows(p, &lines, &windows, dot);
            multiply(p, &windows, p->out_w, out, dot);
        }
    }
}

void ar_conv_2d_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out)
{
#if defined(__wasm_relaxed_simd__)
    const ar_dot dot = ar_dot_of_processor();
    if (dot != AR_DOT_NONE) {
        compute_row(params, rows, out, dot);
        return;
    }
#endif
    compute_row(params, rows, out, AR_DOT_NONE);
}

void ar_conv_2d_s8_simd128(const ar_conv_2d_simd128_params *p)
{
#if defined(__wasm_relaxed_simd__)
    const ar_dot dot = ar_dot_of_processor();
    if (dot != AR_DOT_NONE) {
        compute(p, dot);
        return;
    }
#endif
    compute(p, AR_DOT_NONE);
}
