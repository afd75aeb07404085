/* Widens a row of bytes to int16, in the layout of row_dot_s8_dsp.h. */
#ifndef ARENITE_WIDEN_ROW_DSP_H
#define ARENITE_WIDEN_ROW_DSP_H

#include "sxtb16.h"

/* Widens the four bytes at `in`, which need no alignment: bytes 0 and 2 to x[0], bytes 1 and 3 to x[1]. */
static inline void widen_word(int32_t *x, const int8_t *in)
{
    uint32_t word;
    __builtin_memcpy(&word, in, 4);
    x[0] = ar_sxtb16(word);
    x[1] = ar_sxtb16_ror8(word);
}

/* Widens `left` bytes from `in` to `x`. Zeros fill up the last group of eight. Returns the sum of the products of bytes 0
 * and 1, bytes 2 and 3, and so on, modulo 2^32. The compiler omits its computation if it is not used. */
static inline int32_t widen_row(int32_t *x, const int8_t *in, int32_t left)
{
    int32_t products = 0;
#ifdef __ARM_FEATURE_DSP
    for (const int32_t *const end = x + left / 8 * 4; x != end;) { /* 11 instructions for 8 bytes */
        /* The registers ascend for STM. r7 is not among them, because clang may use it as the frame pointer. */
        register int32_t x0 __asm__("r4");
        register int32_t x1 __asm__("r5");
        register int32_t x2 __asm__("r6");
        register int32_t x3 __asm__("r8");
        __asm__("ldr r4, [%0], #4\n ldr r6, [%0], #4\n"
                "sxtb16 r5, r4, ror #8\n sxtb16 r8, r6, ror #8\n sxtb16 r4, r4\n sxtb16 r6, r6\n"
                "stm %1!, {r4, r5, r6, r8}\n"
                : "+r"(in), "+r"(x), "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3)
                :
                : "memory");
        products = ar_add_products16(ar_add_products16(products, x0, x1), x2, x3);
    }
    left &= 7;
#else
    for (; left >= 8; left -= 8, in += 8, x += 4) {
        widen_word(x, in);
        widen_word(x + 2, in + 4);
        products = ar_add_products16(ar_add_products16(products, x[0], x[1]), x[2], x[3]);
    }
#endif
    if (left) {
        int8_t last[8] = {0};
        for (int32_t i = 0; i < left; i++) {
            last[i] = in[i];
        }
        widen_word(x, last);
        widen_word(x + 2, last + 4);
        products = ar_add_products16(ar_add_products16(products, x[0], x[1]), x[2], x[3]);
    }
    return products;
}

#endif
