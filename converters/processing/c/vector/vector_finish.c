/* Vector code for ar_finish_affine if no channel is repeated and all shifts are at least 33, so that only the high 32
 * bits of a product are needed. It converts 24 values at a time; a line has at least 24. */
#include "image_host.h"
#include "vector.h"

#ifdef AR_VECTOR

AR_TARGET void ar_vector_finish_affine(const ar_image *p, const void *line, void *to);
AR_TARGET void ar_vector_finish_affine(const ar_image *p, const void *line, void *to)
{
    const int32_t *levels = ((const ar_host_image *)(const void *)p)->levels;
    const uint32_t values = (uint32_t)p->canvas_width * p->channels;
    const v8 zero = v8_all(p->affine.zero_point), least = v8_all(p->affine.low),
             most = v8_all(p->affine.high);
    for (uint32_t k = 0; k < values; k += 24) {
        const uint32_t block = k + 24 > values ? values - 24 : k;
        for (uint32_t part = 0; part < 24; part += 8) {
            const uint32_t at = block + part;
            const v8 moved = v8_sub(v8_load((const uint32_t *)line + at), v8_load(levels + part));
            const v8 times = v8_load(levels + 24 + part);
            if (p->element_bytes == 4) {
                v8_store_real((float *)to + at, moved, times);
                continue;
            }
            const v8 high = v8_add(v8_high(moved, times), v8_load(levels + 48 + part));
            const v8 stored = v8_add(v8_sra_by(high, v8_load(levels + 72 + part)), zero);
            const v8 kept = v8_min(v8_max(stored, least), most);
            if (p->element_bytes == 1) {
                v8_store_1((uint8_t *)to + at, kept);
            } else {
                v8_store16((uint16_t *)to + at, v8_and(kept, v8_all(0xffff)));
            }
        }
    }
}

#endif
