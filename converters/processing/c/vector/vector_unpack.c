/* Unpack a part of a source row to planes of red, green and blue, or to a plane of grey, for rows whose outputs read
 * more than two pixels. They are unpacked in blocks of 16 pixels; the last block may overlap the block before it. */
#include "vector_rows.h"

#ifdef AR_VECTOR

/* Does what ar_vector_yuv does, for two adjacent pixels per lane that share u and v. */
AR_INLINE void ar_vector_shared(v8 luma, v8 u, v8 v, v8 out[3])
{
    const int32_t cy = 1220542, rv = 1673527, gv = 852492, gu = 409993, bu = 2116026, half = 1 << 19;
    const v8 ys = v8_max16(luma, v8_all16(16)), none = v8_all(0), most = v8_all16(255);
    const v8 a = v8_mul(v8_and(ys, v8_all(0xffff)), v8_all(cy)), b = v8_mul(v8_srl(ys, 16), v8_all(cy));
    const v8 greens = v8_add(v8_mul(v, v8_all(gv)), v8_mul(u, v8_all(gu)));
    const v8 more[3] = {
        v8_add(v8_mul(v, v8_all(rv)), v8_all(half - 16 * cy - 128 * rv)),
        v8_sub(v8_all(half - 16 * cy + 128 * (gv + gu)), greens),
        v8_add(v8_mul(u, v8_all(bu)), v8_all(half - 16 * cy - 128 * bu)),
    };
    for (int c = 0; c < 3; c++) {
        const v8 both = v8_halves(v8_sra(v8_add(a, more[c]), 20), v8_sra(v8_add(b, more[c]), 4));
        out[c] = v8_min16(v8_max16(both, none), most);
    }
}

/* The formats: AR_RGB3 and AR_RGB4 have three or four bytes per pixel in any order; AR_WORDS and AR_SWAPPED are RGB565
 * with the low or the high byte first. */
enum {
    AR_YUYV,
    AR_UYVY,
    AR_NV12,
    AR_NV21,
    AR_YU12,
    AR_YV12,
    AR_RGB3,
    AR_RGB4,
    AR_WORDS,
    AR_SWAPPED,
    AR_GREY1
};

/* Does what ar_unpack in image_host.h describes. `plane` is the distance between two planes. */
AR_INLINE void ar_vector_unpack(const ar_picture *from, uint32_t y, uint32_t x, uint32_t count, uint8_t *to,
                                uint32_t plane, int format)
{
    const v8 low = v8_all(0xffff), bytes = v8_all(0x00ff00ff);
    const int apart = format == AR_YU12 || format == AR_YV12;
    const uint32_t first = format == AR_YV12 ? 2 : 1, second = 3 - first;
    const uint8_t *line = from->plane[0] + (uint64_t)y * from->stride[0];
    const uint8_t *us = 0, *vs = 0;
    if (format == AR_NV12 || format == AR_NV21 || apart) {
        us = from->plane[first] + (uint64_t)(y >> 1) * from->stride[first];
        vs = apart ? from->plane[second] + (uint64_t)(y >> 1) * from->stride[second] : us;
    }
    for (uint32_t k = 0; k < count; k += 16) {
        const uint32_t o = k + 16 > count ? count - 16 : k, at = x + o;
        uint8_t *out = to + o;
        v8 colours[3];
        if (format == AR_GREY1) {
            v8_store_16(out, v8_load_16(line + at));
            continue;
        }
        if (format == AR_RGB3) {
            ar_split_3(line + 3u * at, out, out + plane, out + 2 * plane);
            continue;
        }
        if (format == AR_RGB4) {
            ar_split_4(line + 4u * at, out, out + plane, out + 2 * plane);
            continue;
        }
        if (format == AR_WORDS || format == AR_SWAPPED) {
            const v8 words = v8_load(line + 2u * at);
            ar_vector_565(format == AR_WORDS ? words : v8_or(v8_shl16(words, 8), v8_srl16(words, 8)),
                          colours);
        } else if (format == AR_YUYV || format == AR_UYVY) {
            const v8 words = v8_load(line + 2u * at);
            const v8 even = v8_and(words, bytes), odd = v8_srl16(words, 8);
            const v8 chroma = format == AR_YUYV ? odd : even;
            ar_vector_shared(format == AR_YUYV ? even : odd, v8_and(chroma, low), v8_srl(chroma, 16),
                             colours);
        } else if (apart) {
            ar_vector_shared(v8_load_16(line + at), v8_load_8(us + (at >> 1)), v8_load_8(vs + (at >> 1)),
                             colours);
        } else {
            const v8 chroma = v8_load_16(us + at);
            const v8 one = v8_and(chroma, low), other = v8_srl(chroma, 16);
            ar_vector_shared(v8_load_16(line + at), format == AR_NV12 ? one : other,
                             format == AR_NV12 ? other : one, colours);
        }
        for (uint32_t c = 0; c < 3; c++) {
            v8_store_16(out + c * plane, colours[c]);
        }
    }
}

#define AR_UNPACK(NAME, FORMAT)                                                                     \
    AR_TARGET void ar_unpack_##NAME(const ar_picture *from, uint32_t y, uint32_t x, uint32_t count, \
                                    uint8_t *to, uint32_t plane);                                   \
    AR_TARGET void ar_unpack_##NAME(const ar_picture *from, uint32_t y, uint32_t x, uint32_t count, \
                                    uint8_t *to, uint32_t plane)                                    \
    {                                                                                               \
        ar_vector_unpack(from, y, x, count, to, plane, FORMAT);                                     \
    }
AR_UNPACK(yuyv, AR_YUYV)
AR_UNPACK(uyvy, AR_UYVY)
AR_UNPACK(nv12, AR_NV12)
AR_UNPACK(nv21, AR_NV21)
AR_UNPACK(yu12, AR_YU12)
AR_UNPACK(yv12, AR_YV12)
AR_UNPACK(3, AR_RGB3)
AR_UNPACK(4, AR_RGB4)
AR_UNPACK(rgb565, AR_WORDS)
AR_UNPACK(rgb565be, AR_SWAPPED)
AR_UNPACK(grey, AR_GREY1)

#endif
