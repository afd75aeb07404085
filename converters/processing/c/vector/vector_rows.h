/* Vector code for rows whose outputs have one or two taps. It computes eight outputs at a time; see image_host.h. */
#ifndef ARENITE_VECTOR_ROWS_H
#define ARENITE_VECTOR_ROWS_H

#include "image_host.h"
#include "vector.h"

#ifdef AR_VECTOR

/* `keep`: how a weighted sum becomes a buffered value, see KEEP in image_row.h. AR_SINGLE stores the byte of a single
 * tap without a weight. */
enum { AR_OPENCV, AR_EXACT, AR_BYTES, AR_SINGLE };
/* `layout`: the layout of the pixels in memory: packed pixels, chroma in a plane of pairs, or chroma in two planes. */
enum { AR_PACKED, AR_PAIRED, AR_APART };
/* `kind`: the kind of pixel. It determines the bytes of an output after they were sorted by `order`. The first four
 * bytes are in `low`, the others in `high`. A prime marks the second tap, and - is a zero.
 *
 *     yuv:     y u y' u' | v - v' -
 *     colours: r g r' g' | b - b' -
 *     565:     low high low' high'
 *     luma:    y - y' -
 */
enum { AR_YUV, AR_COLOURS, AR_565, AR_LUMA };

/* Computes red, green and blue of both taps, 16 bits each, from y, u and v. The sums are those of yuv.h, with their
 * constant terms combined. */
AR_INLINE void ar_vector_yuv(v8 low, v8 high, v8 out[3])
{
    const int32_t cy = 1220542, rv = 1673527, gv = 852492, gu = 409993, bu = 2116026, half = 1 << 19;
    const v8 ys = v8_max16(v8_and(low, v8_all(0x00ff00ff)), v8_all16(16));
    const v8 us = v8_srl16(low, 8);
    const v8 first = v8_all(0xffff), none = v8_all(0), most = v8_all16(255);
    v8 r[2], g[2], b[2];
    for (int tap = 0; tap < 2; tap++) {
        const v8 y = v8_mul(tap ? v8_srl(ys, 16) : v8_and(ys, first), v8_all(cy));
        const v8 u = tap ? v8_srl(us, 16) : v8_and(us, first);
        const v8 v = tap ? v8_srl(high, 16) : v8_and(high, first);
        const v8 greens = v8_add(v8_mul(v, v8_all(gv)), v8_mul(u, v8_all(gu)));
        r[tap] = v8_add(y, v8_add(v8_mul(v, v8_all(rv)), v8_all(half - 16 * cy - 128 * rv)));
        g[tap] = v8_sub(v8_add(y, v8_all(half - 16 * cy + 128 * (gv + gu))), greens);
        b[tap] = v8_add(y, v8_add(v8_mul(u, v8_all(bu)), v8_all(half - 16 * cy - 128 * bu)));
    }
    out[0] = v8_min16(v8_max16(v8_halves(v8_sra(r[0], 20), v8_sra(r[1], 4)), none), most);
    out[1] = v8_min16(v8_max16(v8_halves(v8_sra(g[0], 20), v8_sra(g[1], 4)), none), most);
    out[2] = v8_min16(v8_max16(v8_halves(v8_sra(b[0], 20), v8_sra(b[1], 4)), none), most);
}

/* Computes red, green and blue of two pixels per lane, 16 bits each, from their RGB565 words. */
AR_INLINE void ar_vector_565(v8 words, v8 out[3])
{
    const v8 r = v8_srl16(words, 11), g = v8_and(v8_srl16(words, 5), v8_all16(63));
    const v8 b = v8_and(words, v8_all16(31));
    out[0] = v8_or(v8_shl16(r, 3), v8_srl16(r, 2));
    out[1] = v8_or(v8_shl16(g, 2), v8_srl16(g, 4));
    out[2] = v8_or(v8_shl16(b, 3), v8_srl16(b, 2));
}

/* Returns the grey of both taps, as ar_grey does. The weights are scaled to 16 fractional bits. */
AR_INLINE v8 ar_vector_grey(const ar_image *p, const v8 in[3])
{
    const int more = 16 - p->grey_bits;
    const v8 first = v8_all(0xffff);
    v8 sums[2];
    for (int tap = 0; tap < 2; tap++) {
        sums[tap] = v8_all(1 << 15);
        for (int c = 0; c < 3; c++) {
            const v8 value = tap ? v8_srl(in[c], 16) : v8_and(in[c], first);
            sums[tap] = v8_add(sums[tap], v8_mul(value, v8_all(p->grey[c] << more)));
        }
    }
    return v8_halves(v8_srl(sums[0], 16), sums[1]);
}

/* Returns the buffered values of eight outputs of one channel. `taps` has the two taps of each output. */
AR_INLINE v8 ar_vector_weighed(v8 taps, const uint32_t *weights, int keep)
{
    if (keep == AR_SINGLE) {
        return v8_and(taps, v8_all(0xffff));
    }
    const v8 high = v8_dot(taps, v8_load(weights));
    const v8 sum = v8_add(v8_shl(high, AR_WEIGHT_BITS / 2), v8_dot(taps, v8_load(weights + 8)));
    if (keep == AR_OPENCV) { /* weights of 11 bits have only a low part */
        return v8_srl(v8_dot(taps, v8_load(weights + 8)), 4);
    }
    return keep == AR_EXACT ? sum : v8_srl(v8_add(sum, v8_all(1 << (AR_WEIGHT_BITS - 1))), AR_WEIGHT_BITS);
}

/* Stores the values of one group of outputs, for three channels or one, in the buffered row `to`. `place` is the first
 * output of the group, and `starts` has the starts of the channels' planes. */
AR_INLINE void ar_vector_put(void *to, const uint32_t starts[3], uint32_t place, const v8 *values,
                             int channels, int keep)
{
    if (keep == AR_OPENCV || keep == AR_EXACT) {
        for (int c = 0; c < channels; c++) {
            if (keep == AR_OPENCV) {
                v8_store16((uint16_t *)to + starts[c] + place, values[c]);
            } else {
                v8_store((uint32_t *)to + starts[c] + place, values[c]);
            }
        }
    } else if (channels == 1) {
        v8_store_1((uint8_t *)to + place, values[0]);
    } else {
        const v8 first = starts[0] ? values[2] : values[0], last = starts[0] ? values[0] : values[2];
        v8_store_3((uint8_t *)to + 3 * place, v8_or(first, v8_or(v8_shl(values[1], 8), v8_shl(last, 16))));
    }
}

/* Computes where the planes of red, green and blue start in a buffered row. For rows of bytes, whose channels are
 * interleaved, only the order of the starts is used: it is the order of the channels in a pixel. */
AR_INLINE void ar_vector_starts(const ar_image *p, uint32_t starts[3])
{
    const uint32_t plane = p->across.outputs, last = p->working == AR_BGR;
    starts[0] = last ? 2 * plane : 0;
    starts[1] = plane;
    starts[2] = last ? 0 : 2 * plane;
}

/* Computes the buffered row of source row y, group by group. */
AR_INLINE void ar_vector_groups(const ar_image *p, const ar_picture *from, uint32_t y, void *to, int keep,
                                int layout, int kind, int channels)
{
    const ar_host_image *h = (const ar_host_image *)(const void *)p;
    const uint32_t half = y >> 1, groups = h->groups;
    const uint8_t *line = from->plane[0] + (uint64_t)y * from->stride[0];
    const uint8_t *us = layout == AR_PACKED ? 0 : from->plane[1] + (uint64_t)half * from->stride[1];
    const uint8_t *vs = layout == AR_APART ? from->plane[2] + (uint64_t)half * from->stride[2] : 0;
    /* Prefetch a later row, because a memory access takes longer than the computation of a row. */
    const uint64_t later = (uint64_t)p->window_y + h->ahead[y - p->window_y];
    const uint8_t *next = from->plane[0] + later * from->stride[0];
    const uint8_t *next_us = layout == AR_PACKED ? 0 : from->plane[1] + (later >> 1) * from->stride[1];
    const uint8_t *next_vs = layout == AR_APART ? from->plane[2] + (later >> 1) * from->stride[2] : 0;
    const uint32_t *near = h->near, *far = h->far, *weights = h->weights, *places = h->places;
    const uint8_t *order = h->order;
    uint32_t prefetched = near[0], prefetched_far = far[0], starts[3];
    ar_vector_starts(p, starts);
    for (uint32_t g = 0; g < groups; g++, near += 8, far += 8, order += 64, weights += 16) {
        uint64_t words[8];
        v8 low, high, colours[3], values[3];
        for (; prefetched <= near[7]; prefetched += 64) {
            __builtin_prefetch(next + prefetched, 0, 2);
        }
        for (; layout != AR_PACKED && prefetched_far <= far[7]; prefetched_far += 64) {
            __builtin_prefetch(next_us + prefetched_far, 0, 2);
            if (layout == AR_APART) {
                __builtin_prefetch(next_vs + prefetched_far, 0, 2);
            }
        }
        for (int k = 0; k < 8; k++) {
            if (layout == AR_PACKED) {
                words[k] = ar_load_8(line + near[k]);
            } else if (layout == AR_PAIRED) {
                words[k] = ar_load_2(line + near[k]) | ar_load_4(us + far[k]) << 16;
            } else {
                words[k] =
                    ar_load_2(line + near[k]) | ar_load_2(us + far[k]) << 16 | ar_load_2(vs + far[k]) << 32;
            }
        }
        v8_words(words, order, &low, &high);
        if (kind == AR_LUMA) {
            colours[0] = low;
        } else if (kind == AR_YUV) {
            ar_vector_yuv(low, high, colours);
        } else if (kind == AR_565) {
            ar_vector_565(low, colours);
        } else {
            colours[0] = v8_and(low, v8_all(0x00ff00ff));
            colours[1] = v8_srl16(low, 8);
            colours[2] = high;
        }
        if (kind != AR_LUMA && channels == 1) {
            colours[0] = ar_vector_grey(p, colours);
        }
        for (int c = 0; c < channels; c++) {
            values[c] = ar_vector_weighed(colours[c], weights, keep);
        }
        ar_vector_put(to, starts, places[g], values, channels, keep);
    }
}

AR_INLINE void ar_vector_row(const ar_image *p, const ar_picture *from, uint32_t y, void *to, int keep,
                             int layout, int kind)
{
    if (kind == AR_LUMA || p->working == AR_GREY) {
        ar_vector_groups(p, from, y, to, keep, layout, kind, 1);
    } else {
        ar_vector_groups(p, from, y, to, keep, layout, kind, 3);
    }
}

#define AR_VECTOR_ROW(KEPT, FAMILY, KEEP, LAYOUT, KIND)                                               \
    AR_TARGET void ar_vector_##KEPT##_##FAMILY(const ar_image *p, const ar_picture *from, uint32_t y, \
                                               void *to);                                             \
    AR_TARGET void ar_vector_##KEPT##_##FAMILY(const ar_image *p, const ar_picture *from, uint32_t y, \
                                               void *to)                                              \
    {                                                                                                 \
        ar_vector_row(p, from, y, to, KEEP, LAYOUT, KIND);                                            \
    }
#define AR_VECTOR_ROWS(FAMILY, LAYOUT, KIND)               \
    AR_VECTOR_ROW(opencv, FAMILY, AR_OPENCV, LAYOUT, KIND) \
    AR_VECTOR_ROW(exact, FAMILY, AR_EXACT, LAYOUT, KIND)   \
    AR_VECTOR_ROW(bytes, FAMILY, AR_BYTES, LAYOUT, KIND)   \
    AR_VECTOR_ROW(single, FAMILY, AR_SINGLE, LAYOUT, KIND)

#endif
#endif
