/* FULLY_CONNECTED, int8, with little code: two units at a time. Rounds once; the generator has proven that this gives
 * LiteRT's outputs. */
#include "fully_connected_s8_compact_dsp.h"

#include "fixed_point.h"
#include "sxtb16.h"

/* The sums of the two units of a pair: 256 * (sum of the first unit) + (sum of the second unit), and the latter. */
typedef struct {
    int32_t both, second;
} pair_sums;

/* Adds the products of `rounds` * 8 inputs. */
static inline pair_sums add_products(pair_sums sums, const int32_t *words, const int32_t *x, int32_t rounds)
{
#ifdef __ARM_FEATURE_DSP
/* Multiplies four inputs with the weights of both units. */
#define FOUR                                                                                \
    "ldrd r4, r5, [%[words]], #8\n ldrd r6, r8, [%[x]], #8\n"                               \
    "smlad %[both], r4, r6, %[both]\n sxtb16 r4, r4\n smlad %[second], r4, r6, %[second]\n" \
    "smlad %[both], r5, r8, %[both]\n sxtb16 r5, r5\n smlad %[second], r5, r8, %[second]\n"
    __asm__("1:\n" FOUR FOUR "subs %[rounds], #1\n bne 1b\n"
            : [both] "+r"(sums.both), [second] "+r"(sums.second), [words] "+r"(words), [x] "+r"(x),
              [rounds] "+r"(rounds)
            :
            : "r4", "r5", "r6", "r8", "cc", "memory");
#undef FOUR
#else
    for (const int32_t *end = words + 4 * rounds; words != end; words++, x++) {
        sums.both = ar_add_products16(sums.both, *words, *x);
        sums.second = ar_add_products16(sums.second, ar_sxtb16((uint32_t)*words), *x);
    }
#endif
    return sums;
}

/* Writes the output of unit c to out[c]. */
static void store(const ar_fully_connected_compact_params *p, int32_t c, int32_t sum, int8_t *out)
{
    const int32_t k = p->per_channel ? c : 0;
    const int32_t v = ar_requant_once(sum, p->multiplier[k], p->shift[k]) + p->output_zero;
    out[c] = (int8_t)ar_clamp(v, INT8_MIN, INT8_MAX);
}

void ar_fully_connected_s8_compact_dsp(const ar_fully_connected_compact_params *p)
{
    const int32_t zeros = ar_sxtb16((uint8_t)p->input_zero * 0x00010001u);
    const int8_t *in = p->input;
    int8_t *out = p->output;
    for (uint32_t n = p->batches; n != 0; n--, in += p->depth, out += p->units) {
        int32_t *x = p->scratch;
        for (int32_t i = 0; i < p->depth; i += 4, x += 2) {
            uint32_t bytes; /* the last ones may be after the row; their weights are 0 */
            __builtin_memcpy(&bytes, in + i, 4);
            x[0] = ar_subtract16(ar_sxtb16(bytes), zeros);
            x[1] = ar_subtract16(ar_sxtb16_ror8(bytes), zeros);
        }
        const int32_t *pair = p->pairs;
        for (int32_t c = 0; c < p->units; c += 2, pair += 2 + 4 * p->rounds) {
            const pair_sums sums =
                add_products((pair_sums){pair[0], pair[1]}, pair + 2, p->scratch, p->rounds);
            store(p, c, (int32_t)((uint32_t)sums.both - (uint32_t)sums.second) >> 8, out);
            if (c + 1 < p->units) {
                store(p, c + 1, sums.second, out);
            }
        }
    }
}
