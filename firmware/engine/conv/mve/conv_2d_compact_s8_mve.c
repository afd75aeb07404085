/* CONV_2D, int8, for Helium in builds for small flash: copies all inputs of a column of outputs to a strip, then multiplies
 * its windows like the pixels of a 1 x 1 convolution. */
#include "conv_2d_compact_s8_mve.h"

#include "gemm_compact_s8_mve.h"
#include "vector_s8_mve.h"

/* Copies the first `bytes` bytes (1 to 16) of each of `rows` rows (at least 1). */
static inline void copy_column(int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step,
                               int32_t rows, int32_t bytes)
{
#if defined(__ARM_FEATURE_MVE)
    __asm__ volatile(
        "vctp.8 %[bytes]\n"
        "dls lr, %[rows]\n"
        "1:\n"
        "vpstt\n"
        "vldrbt.8 q0, [%[from]]\n"
        "vstrbt.8 q0, [%[to]]\n"
        "add %[from], %[from_step]\n"
        "add %[to], %[to_step]\n"
        "le lr, 1b\n"
        : [to] "+r"(to), [from] "+r"(from)
        : [rows] "r"(rows), [from_step] "r"(from_step), [to_step] "r"(to_step), [bytes] "r"(bytes)
        : "lr", "q0", "memory");
#else
    ar_copy_columns_s8_mve(to, to_step, from, from_step, rows, bytes);
#endif
}

void ar_conv_2d_compact_s8_mve(const ar_compact_layer_mve *p)
{
    const int32_t in_c = p->in_c, out_c = p->out_c, run = p->k_w * in_c, in_row = p->in_w * in_c;
    const int32_t depth = p->k_h * run, out_row = p->out_w * out_c;
    const int32_t strip_rows = (p->out_h - 1) * p->stride_h + p->k_h;
    const int32_t below = strip_rows - p->pad_top;
    const int32_t rows = below < p->in_h ? below : p->in_h;
    int8_t *strip = p->scratch + (out_c + 3) / 4 * (4 * AR_COMPACT_CHANNEL_MVE);
    ar_gemm_compact_params gemm = {
        .weights = (const int8_t *)(const void *)p->weights,
        .records = (const int32_t *)(const void *)p->scratch,
        .out_c = p->out_c,
        .depth = (uint16_t)depth,
        .zero = ar_compact_zero(p),
        .out_step = (uint32_t)out_c,
    };
    int32_t first = -p->pad_left * in_c; /* offset of the windows in the row */

    ar_unpack_channels_mve(p, 4, out_c * depth);
    if (depth == in_c && (p->stride_h | p->stride_w) == 1) {
        ar_gemm_compact_s8_mve(&gemm, p->input, (uint32_t)in_c, (uint32_t)(p->out_h * p->out_w), p->output);
        return;
    }
    gemm.out_step = (uint32_t)out_row;
    for (int8_t *out = p->output; out < p->output + out_row; out += out_c, first += p->stride_w * in_c) {
        /* Bytes [at, end) of the windows' rows are in the image. */
        int32_t at = first < 0 ? -first : 0;
        const int32_t end = in_row - first < run ? in_row - first : run;
        if (out == p->output || at != 0 || end != run) {
            ar_fill_s8_mve(strip, p->input_zero, strip_rows * run);
        }
        for (; at < end && rows > 0; at += 16) {
            copy_column(strip + p->pad_top * run + at, run, p->input + first + at, in_row, rows,
                        end - at < 16 ? end - at : 16);
        }
        ar_gemm_compact_s8_mve(&gemm, strip, (uint32_t)(p->stride_h * run), p->out_h, out);
    }
}
