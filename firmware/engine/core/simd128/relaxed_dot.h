/* The dot product of relaxed SIMD: WebAssembly's i32x4.relaxed_dot_i8x16_i7x16_add multiplies 16 pairs of bytes.
 *
 * A processor decides how it reads bytes of the second operand that are not from 0 to 127. Processors with an
 * instruction for such products give one of two exact results, and a test at run time tells which. On all others the
 * kernels multiply 16-bit elements.
 */
#ifndef ARENITE_RELAXED_DOT_H
#define ARENITE_RELAXED_DOT_H

#include <stdint.h>

/* How the second operand is read. AR_DOT_NONE: in a way that is not exact for all bytes. */
typedef enum { AR_DOT_NONE, AR_DOT_SIGNED, AR_DOT_UNSIGNED } ar_dot;

#if defined(__wasm_relaxed_simd__)
#include <wasm_simd128.h>

/* Returns the product of four pairs of bytes a and b. */
static inline int32_t ar_relaxed_product(int8_t a, int8_t b)
{
    volatile int8_t first = a, second = b; /* the compiler must not compute the result */
    return wasm_i32x4_extract_lane(wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_i8x16_splat(first),
                                                                          wasm_i8x16_splat(second),
                                                                          wasm_i32x4_const_splat(0)),
                                   0);
}

/* Returns how this processor reads the second operand. Sums of two products that do not fit into 16 bits find the
 * processors that round or wrap them. */
static inline ar_dot ar_dot_of_processor(void)
{
    if (ar_relaxed_product(-128, -1) == 4 * -128 * 255 && ar_relaxed_product(127, -1) == 4 * 127 * 255) {
        return AR_DOT_UNSIGNED;
    }
    if (ar_relaxed_product(-128, -1) == 4 * 128 && ar_relaxed_product(-128, -128) == 4 * 128 * 128) {
        return AR_DOT_SIGNED;
    }
    return AR_DOT_NONE;
}

#endif

#endif
