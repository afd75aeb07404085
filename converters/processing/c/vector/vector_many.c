/* Vector code for rows whose outputs read more than two pixels. The part of the row that is read is first
 * unpacked to planes, as image_host.h describes. */
#include "vector_rows.h"

#ifdef AR_VECTOR

/* Converts planes of red, green and blue to a plane of grey. `to` may be one of the three planes. */
AR_INLINE void ar_vector_greyed(const ar_image *p, uint8_t *to, const uint8_t *red, const uint8_t *green,
                                const uint8_t *blue, uint32_t count)
{
    for (uint32_t x = 0; x < count; x++) {
        to[x] = ar_grey(p, red[x], green[x], blue[x]);
    }
}

/* Returns the weighted sums over all taps for eight outputs of one channel. */
AR_INLINE v8 ar_vector_reached(const uint8_t *from, const uint32_t *near, const int16_t *weights,
                               uint32_t blocks)
{
    v8 sums[8];
    for (uint32_t k = 0; k < 8; k++) {
        const uint8_t *at = from + near[k];
        v8 high = v8_all(0), low = v8_all(0);
        for (uint32_t b = 0; b < blocks; b++, at += 16, weights += 32) {
            const v8 pixels = v8_load_16(at);
            high = v8_add(high, v8_dot(pixels, v8_load(weights)));
            low = v8_add(low, v8_dot(pixels, v8_load(weights + 16)));
        }
        sums[k] = v8_add(v8_shl(high, AR_WEIGHT_BITS / 2), low);
    }
    return v8_sums(sums);
}

/* Computes a buffered row. `keep` is AR_BYTES or AR_EXACT (see vector_rows.h). */
AR_INLINE void ar_vector_many(const ar_image *p, const ar_picture *from, uint32_t y, void *to, int keep)
{
    const ar_host_image *h = (const ar_host_image *)(const void *)p;
    const uint32_t channels = ar_working_channels(p), room = h->stretch_room;
    const uint8_t *order = h->colours;
    uint8_t *planes = h->stretch;
    uint32_t starts[3];
    ar_vector_starts(p, starts);
    h->unpack(from, y, h->stretch_from, h->stretch_count, planes, room);
    if (channels == 1 && order[3] == 3) {
        ar_vector_greyed(p, planes, planes + order[0] * room, planes + order[1] * room,
                         planes + order[2] * room, h->stretch_count);
    }
    const int16_t *weights = h->reach;
    for (uint32_t g = 0; g < h->groups; g++, weights += 256 * h->blocks) {
        v8 values[3];
        for (uint32_t c = 0; c < channels; c++) {
            const uint8_t *plane = planes + (channels == 1 ? 0 : order[c]) * room;
            const v8 sum = ar_vector_reached(plane, h->near + 8 * g, weights, h->blocks);
            values[c] = keep == AR_EXACT
                            ? sum
                            : v8_srl(v8_add(sum, v8_all(1 << (AR_WEIGHT_BITS - 1))), AR_WEIGHT_BITS);
        }
        ar_vector_put(to, starts, h->places[g], values, (int)channels, keep);
    }
}

AR_TARGET void ar_vector_many_bytes(const ar_image *p, const ar_picture *from, uint32_t y, void *to);
AR_TARGET void ar_vector_many_bytes(const ar_image *p, const ar_picture *from, uint32_t y, void *to)
{
    ar_vector_many(p, from, y, to, AR_BYTES);
}

AR_TARGET void ar_vector_many_exact(const ar_image *p, const ar_picture *from, uint32_t y, void *to);
AR_TARGET void ar_vector_many_exact(const ar_image *p, const ar_picture *from, uint32_t y, void *to)
{
    ar_vector_many(p, from, y, to, AR_EXACT);
}

#endif
