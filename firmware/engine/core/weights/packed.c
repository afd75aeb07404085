/* Unpacks weights from codes of 1, 2, 4 or 8 bits. If many weights are 0, a bit per weight says which ones have a
 * code. */
#include "packed.h"

void ar_unpack(const ar_packed *p, ar_packed_place *place, int8_t *to, int32_t count)
{
    const uint32_t bits = 8u >> p->log2_codes_per_byte;
    const uint32_t code_mask = (1u << bits) - 1u;
    const uint32_t byte_mask = (1u << p->log2_codes_per_byte) - 1u;
    const int8_t *const values = p->values;
    const int8_t *const end = to + count;
    uint32_t next = place->codes;
    const uint8_t *codes = p->codes + ((next + byte_mask) >> p->log2_codes_per_byte);
    /* The codes of the current byte that have not been read yet, the next code in the low bits. */
    uint32_t window = next & byte_mask ? (uint32_t)codes[-1] >> (next & byte_mask) * bits : 0;

    if (!p->present) {
        while (to != end) {
            if ((next++ & byte_mask) == 0) {
                window = *codes++;
            }
            *to++ = values[window & code_mask];
            window >>= bits;
        }
    } else {
        uint32_t at = place->weights;
        for (; to != end; at++) {
            int8_t weight = 0;
            if (p->present[at >> 3] >> (at & 7u) & 1u) {
                if ((next++ & byte_mask) == 0) {
                    window = *codes++;
                }
                weight = values ? values[window & code_mask] : (int8_t)window;
                window >>= bits;
            }
            *to++ = weight;
        }
        place->weights = at;
    }
    place->codes = next;
}
