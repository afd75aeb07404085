/* Weights in half bytes, made whole in scratch memory for the kernel that runs next: eight with about ten instructions. */
#include "unpack4.h"

void ar_unpack4(const ar_unpack4_params *p)
{
    const uint32_t halves = 0x0F0F0F0Fu;
    const uint32_t add = p->add;
    const uint32_t flip = p->flip;
    const uint32_t *from = p->from;
    uint32_t *to = p->to;

    for (uint32_t row = 0; row < p->rows; row++) {
        for (uint32_t k = 0; k < p->head; k++) {
            *to++ = *from++;
        }
        /* No byte carries into the next: 15 + 127 is less than 256, and adding 128 is flipping a bit. */
        uint32_t left = p->count;
        for (; left >= 4; left -= 4, from += 2, to += 4) {
            const uint32_t a = from[0];
            const uint32_t b = from[1];
            to[0] = ((a & halves) + add) ^ flip;
            to[1] = ((a >> 4 & halves) + add) ^ flip;
            to[2] = ((b & halves) + add) ^ flip;
            to[3] = ((b >> 4 & halves) + add) ^ flip;
        }
        for (; left >= 2; left -= 2) {
            const uint32_t a = *from++;
            *to++ = ((a & halves) + add) ^ flip;
            *to++ = ((a >> 4 & halves) + add) ^ flip;
        }
        if (left) {
            *to++ = ((*from++ & halves) + add) ^ flip;
        }
    }
}
