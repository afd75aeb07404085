/* Vector code for the functions of image_steps.h that resize down a column. The buffered rows are described in
 * image_host.h. */
#include "image_steps.h"
#include "vector.h"

#ifdef AR_VECTOR

/* Returns eight values of OpenCV's bilinear resize. `a` and `b` are the weights of the rows `upper` and `lower`. */
AR_INLINE h8 ar_vector_mixed(const uint16_t *upper, const uint16_t *lower, h8 a, h8 b)
{
    const h8 sum = h8_add(h8_high(h8_load(upper), a), h8_high(h8_load(lower), b));
    return h8_srl(h8_add(sum, h8_all(2)), 2);
}

AR_TARGET void ar_vector_column_opencv(const ar_image *p, const void *rows, uint32_t first,
                                       const int32_t *weights, void *line);
AR_TARGET void ar_vector_column_opencv(const ar_image *p, const void *rows, uint32_t first,
                                       const int32_t *weights, void *line)
{
    const uint32_t n = p->across.outputs, channels = ar_working_channels(p), values = n * channels;
    const uint16_t *older = (const uint16_t *)rows + (p->down.taps == 1 ? 0 : first * values);
    const uint16_t *newer = (const uint16_t *)rows + (p->down.taps == 1 ? 0 : (1 - first) * values);
    const int32_t a = weights[0], b = p->down.taps == 1 ? 0 : weights[1];
    const uint16_t *upper = a < 0 ? newer : older, *lower = b < 0 ? older : newer;
    const h8 over = h8_all((uint16_t)(a < 0 ? -a : a)), under = h8_all((uint16_t)(b < 0 ? -b : b));
    uint8_t *out = line;
    for (uint32_t k = 0; k < n; k += 8) {
        const uint32_t o = k + 8 > n ? n - 8 : k;
        const h8 one = ar_vector_mixed(upper + o, lower + o, over, under);
        if (channels == 1) {
            h8_store_1(out + o, one);
        } else {
            h8_store_3(out + 3 * o, one, ar_vector_mixed(upper + n + o, lower + n + o, over, under),
                       ar_vector_mixed(upper + 2 * n + o, lower + 2 * n + o, over, under));
        }
    }
}

AR_TARGET void ar_vector_column_bytes(const ar_image *p, const void *rows, uint32_t first,
                                      const int32_t *weights, void *line);
AR_TARGET void ar_vector_column_bytes(const ar_image *p, const void *rows, uint32_t first,
                                      const int32_t *weights, void *line)
{
    const uint32_t values = p->across.outputs * ar_working_channels(p), slots = p->down.taps;
    for (uint32_t k = 0; k < values; k += 8) {
        const uint32_t at = k + 8 > values ? values - 8 : k;
        v8 sum = v8_all(1 << (AR_WEIGHT_BITS - 1));
        for (uint32_t t = 0, slot = first; t < slots; t++, slot = slot + 1 == slots ? 0 : slot + 1) {
            const v8 row = v8_load_8((const uint8_t *)rows + slot * values + at);
            sum = v8_add(sum, v8_mul(row, v8_all(weights[t])));
        }
        v8_store_1((uint8_t *)line + at, v8_srl(sum, AR_WEIGHT_BITS));
    }
}

/* Returns eight weighted sums of exact rows with 16 fractional bits, as ar_column_exact does. */
AR_INLINE v8 ar_vector_exact(const uint32_t *at, uint32_t values, uint32_t slots, uint32_t first,
                             const int32_t *weights)
{
    const int below = 2 * AR_WEIGHT_BITS - AR_FRACTION_BITS;
    w8 sum = w8_all((uint64_t)1 << (below - 1));
    for (uint32_t t = 0, slot = first; t < slots; t++, slot = slot + 1 == slots ? 0 : slot + 1) {
        sum = w8_dot(sum, v8_load(at + slot * values), v8_all(weights[t]));
    }
    return w8_from(sum, 2 * AR_WEIGHT_BITS - AR_FRACTION_BITS);
}

AR_TARGET void ar_vector_column_fraction(const ar_image *p, const void *rows, uint32_t first,
                                         const int32_t *weights, void *line);
AR_TARGET void ar_vector_column_fraction(const ar_image *p, const void *rows, uint32_t first,
                                         const int32_t *weights, void *line)
{
    const uint32_t n = p->across.outputs, channels = ar_working_channels(p), values = n * channels;
    for (uint32_t k = 0; k < n; k += 8) {
        const uint32_t o = k + 8 > n ? n - 8 : k;
        uint32_t *out = (uint32_t *)line + channels * o;
        uint32_t made[3][8];
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t *at = (const uint32_t *)rows + c * n + o;
            v8_store(made[c], ar_vector_exact(at, values, p->down.taps, first, weights));
        }
        for (uint32_t x = 0; x < 8; x++) {
            for (uint32_t c = 0; c < channels; c++) {
                *out++ = made[c][x];
            }
        }
    }
}

AR_TARGET void ar_vector_column_rounded(const ar_image *p, const void *rows, uint32_t first,
                                        const int32_t *weights, void *line);
AR_TARGET void ar_vector_column_rounded(const ar_image *p, const void *rows, uint32_t first,
                                        const int32_t *weights, void *line)
{
    const uint32_t n = p->across.outputs, channels = ar_working_channels(p), values = n * channels;
    const v8 odd = v8_all(p->ties_to_even ? 1 : 0), nudge = v8_all(p->ties_to_even ? 2047 : 2048);
    for (uint32_t k = 0; k < n; k += 8) {
        const uint32_t o = k + 8 > n ? n - 8 : k;
        v8 made[3];
        for (uint32_t c = 0; c < channels; c++) {
            const uint32_t *at = (const uint32_t *)rows + c * n + o;
            const v8 exact = ar_vector_exact(at, values, p->down.taps, first, weights);
            const v8 value = v8_srl(v8_add(exact, v8_all(8)), 4);
            const v8 more = v8_add(nudge, v8_and(v8_srl(value, 12), odd));
            made[c] = v8_srl(v8_add(value, more), 12);
        }
        if (channels == 1) {
            v8_store_1((uint8_t *)line + o, made[0]);
        } else {
            const v8 two = v8_or(v8_shl(made[1], 8), v8_shl(made[2], 16));
            v8_store_3((uint8_t *)line + 3 * o, v8_or(made[0], two));
        }
    }
}

#endif
