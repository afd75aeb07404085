/* DEPTHWISE_CONV_2D, int8, for WebAssembly's 128-bit SIMD: eight channels at a time. Two taps are interleaved, so that
 * i32x4.dot_i16x8 adds the products of both. */
#include "depthwise_conv_2d_s8_simd128.h"

#include "widen_simd128.h"

typedef struct {
    const int16_t *row[AR_DEPTHWISE_SIMD128_TAPS]; /* the lines of a window, from top to bottom */
} window_lines;

#if defined(__wasm_simd128__)

/* Adds the products of two taps. `low` and `high` are the weights of the first and the last four channels. */
#define ADD_TAPS(a, b, tap0, tap1, low, high)                                                                \
    do {                                                                                                     \
        const v128_t x0 = (tap0), x1 = (tap1);                                                               \
        a = wasm_i32x4_add(a,                                                                                \
                           wasm_i32x4_dot_i16x8(wasm_i16x8_shuffle(x0, x1, 0, 8, 1, 9, 2, 10, 3, 11), low)); \
        b = wasm_i32x4_add(                                                                                  \
            b, wasm_i32x4_dot_i16x8(wasm_i16x8_shuffle(x0, x1, 4, 12, 5, 13, 6, 14, 7, 15), high));          \
    } while (0)

/* Computes eight channels of an output row, from channel c on, for windows of 3 x 3 or 1 x 9 without horizontal
 * dilation: three runs of three neighboring taps begin at `runs`. `form` is a constant at each call, so that the
 * compiler can leave out code. */
__attribute__((always_inline)) static inline void row_of_nine(const ar_depthwise_simd128_params *p,
                                                              const int16_t *const *runs, uint32_t c,
                                                              const int8_t *weights, int8_t *out,
                                                              ar_wide_form form)
{
    const uint32_t channels = p->channels, step = p->stride_w * channels;
    v128_t w[10];
    for (uint32_t k = 0; k < 10; k++) {
        w[k] = wasm_i16x8_load8x8(weights + 8 * k);
    }
    const v128_t bias0 = wasm_v128_load(p->requant.bias + c);
    const v128_t bias1 = wasm_v128_load(p->requant.bias + c + 4);
    const struct ar_wide_lanes lanes = ar_wide_load(&p->requant, c, form);
    const int16_t *r0 = runs[0] + c, *r1 = runs[1] + c, *r2 = runs[2] + c;
    int8_t *to = out + c;
    for (uint32_t x = p->out_w; x != 0; x--, to += channels) {
        v128_t a = bias0, b = bias1;
        ADD_TAPS(a, b, wasm_v128_load(r0), wasm_v128_load(r0 + channels), w[0], w[1]);
        ADD_TAPS(a, b, wasm_v128_load(r0 + 2 * channels), wasm_v128_load(r1), w[2], w[3]);
        ADD_TAPS(a, b, wasm_v128_load(r1 + channels), wasm_v128_load(r1 + 2 * channels), w[4], w[5]);
        ADD_TAPS(a, b, wasm_v128_load(r2), wasm_v128_load(r2 + channels), w[6], w[7]);
        ADD_TAPS(a, b, wasm_v128_load(r2 + 2 * channels), wasm_i32x4_const_splat(0), w[8], w[9]);
        ar_store_low_bytes(to, ar_wide_eight(&lanes, a, b, form), channels - c);
        r0 += step;
        r1 += step;
        r2 += step;
    }
}

/* Computes eight channels of an output row for any window, see row_of_nine. `tap` has the address of each tap of the first
 * window, for an even number of taps. */
__attribute__((always_inline)) static inline void row_any(const ar_depthwise_simd128_params *p,
                                                          const int16_t *const *tap, uint32_t c,
                                                          const int8_t *weights, int8_t *out,
                                                          ar_wide_form form)
{
    const uint32_t channels = p->channels, step = p->stride_w * channels;
    const uint32_t taps = (uint32_t)p->k_h * p->k_w;
    const v128_t bias0 = wasm_v128_load(p->requant.bias + c);
    const v128_t bias1 = wasm_v128_load(p->requant.bias + c + 4);
    const struct ar_wide_lanes lanes = ar_wide_load(&p->requant, c, form);
    int8_t *to = out + c;
    uint32_t at = c;
    for (uint32_t x = p->out_w; x != 0; x--, to += channels, at += step) {
        v128_t a = bias0, b = bias1;
        const int8_t *w = weights;
        for (uint32_t t = 0; t < taps; t += 2, w += 16) {
            ADD_TAPS(a, b, wasm_v128_load(tap[t] + at), wasm_v128_load(tap[t + 1] + at),
                     wasm_i16x8_load8x8(w), wasm_i16x8_load8x8(w + 8));
        }
        ar_store_low_bytes(to, ar_wide_eight(&lanes, a, b, form), channels - c);
    }
}

static void compute_row(const ar_depthwise_simd128_params *p, const window_lines *lines, int8_t *out)
{
    const uint32_t taps = (uint32_t)p->k_h * p->k_w, group = 16 * ((taps + 1) / 2);
    const int8_t *weights = p->weights;
    if (taps == 9 && p->dilation_w == 1 && p->k_h != 9) {
        const uint32_t run = 3 * p->channels;
        const int16_t *const one_line[3] = {lines->row[0], lines->row[0] + run, lines->row[0] + 2 * run};
        const int16_t *const *runs = p->k_h == 1 ? one_line : lines->row;
        for (uint32_t c = 0; c < p->channels; c += 8, weights += group) {
            AR_WIDE_WITH_FORM(&p->requant, c, row_of_nine(p, runs, c, weights, out, form));
        }
        return;
    }
    const int16_t *tap[AR_DEPTHWISE_SIMD128_TAPS + 1];
    for (uint32_t t = 0, y = 0; y < p->k_h; y++) {
        for (uint32_t x = 0; x < p->k_w; x++) {
            tap[t++] = lines->row[y] + x * p->dilation_w * p->channels;
        }
    }
    tap[taps] = tap[0]; /* its weights are 0 */
    for (uint32_t c = 0; c < p->channels; c += 8, weights += group) {
        AR_WIDE_WITH_FORM(&p->requant, c, row_any(p, tap, c, weights, out, form));
    }
}

#else

static void compute_row(const ar_depthwise_simd128_params *p, const window_lines *lines, int8_t *out)
{
    const uint32_t taps = (uint32_t)p->k_h * p->k_w, pairs = (taps + 1) / 2;
    for (uint32_t x = 0; x < p->out_w; x++) {
        for (uint32_t c = 0; c < p->channels; c++) {
            uint32_t acc = (uint32_t)p->requant.bias[c];
            for (uint32_t t = 0; t < taps; t++) {
                const int32_t w = p->weights[((c / 8 * pairs + t / 2) * 8 + c % 8) * 2 + t % 2];
                const uint32_t column = x * p->stride_w + t % p->k_w * p->dilation_w;
                acc += (uint32_t)(lines->row[t / p->k_w][column * p->channels + c] * w);
            }
            *out++ = ar_wide_requant(&p->requant, c, (int32_t)acc);
        }
    }
}

#endif

/* Widens a row of the image, 0 for a row outside of it, with its padding. */
static void widen_line(const ar_depthwise_simd128_params *p, const int8_t *row, int16_t *line)
{
    const int32_t channels = p->channels;
    const int32_t columns = ((int32_t)p->line - 8) / channels;
    if (row == 0) {
        ar_fill_s16(line, p->padding, columns * channels);
        return;
    }
    const int32_t left = p->pad_left < columns ? p->pad_left : columns;
    const int32_t inside = columns - left < p->in_w ? columns - left : p->in_w;
    ar_fill_s16(line, p->padding, left * channels);
    ar_widen(line + left * channels, row, inside * channels);
    ar_fill_s16(line + (left + inside) * channels, p->padding, (columns - left - inside) * channels);
}

void ar_depthwise_conv_2d_s8_simd128_row(const void *params, const int8_t *const *rows, int8_t *out)
{
    const ar_depthwise_simd128_params *p = params;
    window_lines lines;
    for (uint32_t k = 0; k < p->k_h; k++) {
        int16_t *line = p->lines + k * p->line;
        widen_line(p, rows[k], line);
        lines.row[k] = line;
    }
    compute_row(p, &lines, out);
}

void ar_depthwise_conv_2d_s8_simd128(const ar_depthwise_simd128_params *p)
{
    const int32_t in_row = p->in_w * p->channels;
    const int32_t span = (p->k_h - 1) * p->dilation_h + 1; /* number of lines */
    const int8_t *image = p->input;
    int8_t *out = p->output;

    for (int32_t b = 0; b < p->batches; b++, image += p->in_h * in_row) {
        int32_t next = -p->pad_top; /* the next row to widen; row r is in line (r + pad_top) % span */
        for (int32_t y = 0; y < p->out_h; y++, out += p->out_w * p->channels) {
            const int32_t first = y * p->stride_h - p->pad_top;
            window_lines lines;
            next = next < first ? first : next;
            for (; next < first + span; next++) {
                const int8_t *row = next < 0 || next >= p->in_h ? 0 : image + next * in_row;
                widen_line(p, row, p->lines + (uint32_t)((next + p->pad_top) % span) * p->line);
            }
            for (int32_t k = 0; k < p->k_h; k++) {
                const int32_t r = first + k * p->dilation_h + p->pad_top;
                lines.row[k] = p->lines + (uint32_t)(r % span) * p->line;
            }
            compute_row(p, &lines, out);
        }
    }
}
