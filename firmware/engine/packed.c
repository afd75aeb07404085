/* Weights from codes of 1, 2, 4 or 8 bits, with a bit for each weight that is not 0 where many are. */
#include "packed.h"

void ar_unpack(const ar_packed *p, ar_packed_place *place, int8_t *to, int32_t count)
{
    const uint32_t bits = 8u >> p->per_byte;
    const uint32_t code_mask = (1u << bits) - 1u;
    const uint32_t byte_mask = (1u << p->per_byte) - 1u;
    uint32_t at = place->weights;
    uint32_t next = place->codes;

    for (; count > 0; count--, at++) {
        int8_t weight = 0;
        if (!p->present || (p->present[at >> 3] >> (at & 7u) & 1u)) {
            const uint32_t code =
                (uint32_t)p->codes[next >> p->per_byte] >> (next & byte_mask) * bits & code_mask;
            weight = p->values ? p->values[code] : (int8_t)code;
            next++;
        }
        *to++ = weight;
    }
    place->weights = at;
    place->codes = next;
}
