/* Unpacks int4 weights to int8 in scratch memory for the next kernel. Eight weights take about ten instructions. */
#include "unpack4.h"

#if defined(__ARM_FEATURE_MVE)
#include <arm_mve.h>
#endif

void ar_unpack4(const ar_unpack4_params *p)
{
    const uint32_t low_nibbles = 0x0F0F0F0Fu;
    const uint32_t add = p->add;
    const uint32_t flip = p->flip;
    const uint32_t *from = p->from;
    uint32_t *to = p->to;

    for (uint32_t row = 0; row < p->rows; row++) {
        for (uint32_t k = 0; k < p->head; k++) {
            *to++ = *from++;
        }
        /* No carry goes from byte to byte: 15 + 127 is less than 256, and adding 128 is done by flipping a bit. */
        uint32_t left = p->count;
#if defined(__ARM_FEATURE_MVE)
        const uint8x16_t added = vreinterpretq_u8_u32(vdupq_n_u32(add));
        const uint8x16_t flipped = vreinterpretq_u8_u32(vdupq_n_u32(flip));
        for (; left >= 8; left -= 8, from += 4, to += 8) {
            const uint8x16_t both = vreinterpretq_u8_u32(vldrwq_u32(from));
            const uint8x16_t low = vandq_u8(both, vdupq_n_u8(15));
            const uint8x16_t high = vshrq_n_u8(both, 4);
            uint32x4x2_t words;
            words.val[0] = vreinterpretq_u32_u8(veorq_u8(vaddq_u8(low, added), flipped));
            words.val[1] = vreinterpretq_u32_u8(veorq_u8(vaddq_u8(high, added), flipped));
            vst2q_u32(to, words);
        }
#else
        for (; left >= 4; left -= 4, from += 2, to += 4) {
            const uint32_t a = from[0];
            const uint32_t b = from[1];
            to[0] = ((a & low_nibbles) + add) ^ flip;
            to[1] = ((a >> 4 & low_nibbles) + add) ^ flip;
            to[2] = ((b & low_nibbles) + add) ^ flip;
            to[3] = ((b >> 4 & low_nibbles) + add) ^ flip;
        }
#endif
        for (; left >= 2; left -= 2) {
            const uint32_t a = *from++;
            *to++ = ((a & low_nibbles) + add) ^ flip;
            *to++ = ((a >> 4 & low_nibbles) + add) ^ flip;
        }
        if (left) {
            *to++ = ((*from++ & low_nibbles) + add) ^ flip;
        }
    }
}
