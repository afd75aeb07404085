/* Functions that copy, fill and clamp exactly `count` bytes: sixteen at a time on Helium, in plain loops on other
 * cores. */
#ifndef ARENITE_VECTOR_S8_MVE_H
#define ARENITE_VECTOR_S8_MVE_H

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE)

/* In the loops below, WLSTP or DLSTP and LETP disable the lanes after the last byte in the last round. WLSTP also
 * skips the loop for 0 bytes. */
static inline void ar_copy_s8_mve(int8_t *out, const int8_t *in, int32_t count)
{
    __asm__ volatile("wlstp.8 lr, %[count], 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%[in]], #16\n"
                     "vstrb.8 q0, [%[out]], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : [out] "+r"(out), [in] "+r"(in)
                     : [count] "r"(count)
                     : "lr", "q0", "memory");
}

/* Copies `bytes` (at least 1) bytes from `offset` in each of `count` (at least 1) rows. The bytes of the first row are
 * written to `out`, those of each following row `step` bytes after those of the previous row. */
static inline void ar_copy_rows_s8_mve(int8_t *out, int32_t step, const int8_t *const *rows, int32_t count,
                                       int32_t offset, int32_t bytes)
{
    const int8_t *from;
    int8_t *to;
    if (bytes <= 16) {
        uint16_t lanes; /* the predicate register VPR, which VCTP sets */
        __asm__ volatile("vctp.8 %[bytes]\n"
                         "dls lr, %[count]\n"
                         "1:\n"
                         "ldr %[from], [%[rows]], #4\n"
                         "add %[from], %[offset]\n"
                         "vpstt\n"
                         "vldrbt.8 q0, [%[from]]\n"
                         "vstrbt.8 q0, [%[out]]\n"
                         "add %[out], %[step]\n"
                         "le lr, 1b\n"
                         : [out] "+r"(out), [rows] "+r"(rows), [from] "=&r"(from), [lanes] "=&Up"(lanes)
                         : [step] "r"(step), [count] "r"(count), [offset] "r"(offset), [bytes] "r"(bytes)
                         : "lr", "q0", "memory");
        return;
    }
    __asm__ volatile(
        "1:\n"
        "ldr %[from], [%[rows]], #4\n"
        "mov %[to], %[out]\n"
        "add %[from], %[offset]\n"
        "dlstp.8 lr, %[bytes]\n"
        "2:\n"
        "vldrb.8 q0, [%[from]], #16\n"
        "vstrb.8 q0, [%[to]], #16\n"
        "letp lr, 2b\n"
        "add %[out], %[step]\n"
        "subs %[count], #1\n"
        "bne 1b\n"
        : [out] "+r"(out), [rows] "+r"(rows), [from] "=&r"(from), [to] "=&r"(to), [count] "+r"(count)
        : [step] "r"(step), [offset] "r"(offset), [bytes] "r"(bytes)
        : "lr", "q0", "cc", "memory");
}

/* Copies `bytes` bytes (at least 1) of each of `rows` rows, which are `from_step` bytes apart, to places that are
 * `to_step` bytes apart. */
static inline void ar_copy_columns_s8_mve(int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step,
                                          int32_t rows, int32_t bytes)
{
    for (int32_t at = 0; at < bytes; at += 16) {
        /* The last sixteen bytes may overlap those before them. */
        const int32_t begin = at + 16 > bytes && bytes >= 16 ? bytes - 16 : at;
        int8_t *out = to + begin;
        const int8_t *in = from + begin;
        if (bytes >= 16) {
            __asm__ volatile("dls lr, %[rows]\n"
                             "1:\n"
                             "vldrb.8 q0, [%[in]]\n"
                             "add %[in], %[from_step]\n"
                             "vstrb.8 q0, [%[out]]\n"
                             "add %[out], %[to_step]\n"
                             "le lr, 1b\n"
                             : [out] "+r"(out), [in] "+r"(in)
                             : [rows] "r"(rows), [from_step] "r"(from_step), [to_step] "r"(to_step)
                             : "lr", "q0", "memory");
        } else {
            __asm__ volatile(
                "vctp.8 %[bytes]\n"
                "dls lr, %[rows]\n"
                "1:\n"
                "vpstt\n"
                "vldrbt.8 q0, [%[in]]\n"
                "vstrbt.8 q0, [%[out]]\n"
                "add %[in], %[from_step]\n"
                "add %[out], %[to_step]\n"
                "le lr, 1b\n"
                : [out] "+r"(out), [in] "+r"(in)
                : [rows] "r"(rows), [from_step] "r"(from_step), [to_step] "r"(to_step), [bytes] "r"(bytes)
                : "lr", "q0", "memory");
        }
    }
}

static inline void ar_fill_s8_mve(int8_t *out, int32_t value, int32_t count)
{
    __asm__ volatile("vdup.8 q0, %1\n"
                     "wlstp.8 lr, %2, 2f\n"
                     "1:\n"
                     "vstrb.8 q0, [%0], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : "+r"(out)
                     : "r"(value), "r"(count)
                     : "lr", "q0", "memory");
}

static inline void ar_clamp_s8_mve(int8_t *out, int32_t low, int32_t high, int32_t count)
{
    __asm__ volatile("vdup.8 q1, %1\n"
                     "vdup.8 q2, %2\n"
                     "wlstp.8 lr, %3, 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [%0]\n"
                     "vmax.s8 q0, q0, q1\n"
                     "vmin.s8 q0, q0, q2\n"
                     "vstrb.8 q0, [%0], #16\n"
                     "letp lr, 1b\n"
                     "2:\n"
                     : "+r"(out)
                     : "r"(low), "r"(high), "r"(count)
                     : "lr", "q0", "q1", "q2", "memory");
}

#else

static inline void ar_copy_s8_mve(int8_t *out, const int8_t *in, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        out[i] = in[i];
    }
}

static inline void ar_copy_rows_s8_mve(int8_t *out, int32_t step, const int8_t *const *rows, int32_t count,
                                       int32_t offset, int32_t bytes)
{
    for (; count > 0; count--, rows++, out += step) {
        for (int32_t i = 0; i < bytes; i++) {
            out[i] = rows[0][offset + i];
        }
    }
}

static inline void ar_copy_columns_s8_mve(int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step,
                                          int32_t rows, int32_t bytes)
{
    for (int32_t y = 0; y < rows; y++) {
        for (int32_t i = 0; i < bytes; i++) {
            to[y * to_step + i] = from[y * from_step + i];
        }
    }
}

static inline void ar_fill_s8_mve(int8_t *out, int32_t value, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        out[i] = (int8_t)value;
    }
}

static inline void ar_clamp_s8_mve(int8_t *out, int32_t low, int32_t high, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        out[i] = (int8_t)(out[i] < low ? low : out[i] > high ? high : out[i]);
    }
}

#endif

#endif
