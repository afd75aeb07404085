/* FULLY_CONNECTED, int8, with little code: two units at a time. Rounds once; the generator has proven that this gives
 * LiteRT's outputs. */
#include "fully_connected_s8_compact_dsp.h"

#include "affine_requant.h"
#include "sxtb16.h"

#ifndef __ARM_FEATURE_DSP
#include "dot_s8_plain.h"
#endif

/* The sums of the two units of a pair: 256 * (sum of the first unit) + (sum of the second unit), and the latter plus the
 * products of inputs. */
typedef struct {
    int32_t both, second;
} pair_sums;

/* Adds the products of `rounds` * 8 inputs. The second sum is an inner product of Winograd (1968), see row_dot_s8_dsp.h. */
static inline pair_sums add_products(pair_sums sums, const int32_t *words, const int32_t *x, int32_t rounds)
{
#ifdef __ARM_FEATURE_DSP
/* Multiplies four inputs with the weights of both units. */
#define FOUR(w0, w1, x0, x1)                                                            \
    "smlad %[both], " w0 ", " x0 ", %[both]\n smlad %[both], " w1 ", " x1 ", %[both]\n" \
    "sxtab16 " w0 ", " x1 ", " w0 "\n sxtab16 " w1 ", " x0 ", " w1 "\n"                 \
    "smlad %[second], " w0 ", " w1 ", %[second]\n"
    __asm__("1:\n"
            "ldm %[words]!, {r2-r5}\n ldm %[x]!, {r6, r8, r9, r10}\n" FOUR("r2", "r3", "r6", "r8")
                FOUR("r4", "r5", "r9", "r10") "subs %[rounds], #1\n bne 1b\n"
            : [both] "+r"(sums.both), [second] "+r"(sums.second), [words] "+r"(words), [x] "+r"(x),
              [rounds] "+r"(rounds)
            :
            : "r2", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "cc", "memory");
#undef FOUR
#else
    for (const int32_t *end = words + 4 * rounds; words != end; words += 2, x += 2) {
        sums.both = ar_add_products16(ar_add_products16(sums.both, words[0], x[0]), words[1], x[1]);
        sums.second = ar_add_products16(sums.second, ar_dot_add_low_bytes(x[1], words[0]),
                                        ar_dot_add_low_bytes(x[0], words[1]));
    }
#endif
    return sums;
}

/* Returns the output of unit c. All right shifts are at least 33, so the lower half of the product does not matter. */
static __attribute__((noinline)) int8_t output_of(const ar_fully_connected_compact_params *p, int32_t c,
                                                  int32_t sum)
{
    c = p->per_channel ? c : 0;
    const int32_t half = -2 - p->shift[c];
    const int32_t high = ar_mul_high(sum, p->multiplier[c]);
    return (int8_t)ar_saturate_s8(((high + (1 << half)) >> (half + 1)) + p->output_zero);
}

void ar_fully_connected_s8_compact_dsp(const ar_fully_connected_compact_params *p)
{
    const int32_t zeros = ar_sxtb16((uint8_t)p->input_zero * 0x00010001u);
    const int8_t *in = p->input;
    int8_t *out = p->output;
    for (uint32_t n = p->batches; n != 0; n--, in += p->depth) {
        int32_t *x = p->scratch;
        int32_t products = 0;
        int32_t *const last = x + 4 * p->rounds - 2; /* these four inputs may be after the row */
        last[0] = last[1] = 0;
        for (int32_t i = 0; i < p->depth; i += 4, x += 2) {
            uint32_t bytes; /* the last ones may be after the row; their weights are 0 */
            __builtin_memcpy(&bytes, in + i, 4);
            x[0] = ar_subtract16(ar_sxtb16(bytes), zeros);
            x[1] = ar_subtract16(ar_sxtb16_ror8(bytes), zeros);
            products = ar_add_products16(products, x[0], x[1]);
        }
        const int32_t *pair = p->pairs;
        for (int32_t c = 0; c < p->units; pair += 2 + 4 * p->rounds) {
            const pair_sums sums =
                add_products((pair_sums){pair[0], pair[1]}, pair + 2, p->scratch, p->rounds);
            const int32_t second = (int32_t)((uint32_t)sums.second - (uint32_t)products);
            *out++ = output_of(p, c++, (int32_t)((uint32_t)sums.both - (uint32_t)second) >> 8);
            if (c < p->units) {
                *out++ = output_of(p, c++, second);
            }
        }
    }
}
