/* Unpacks the constants of a layer's channels, four at a time on Helium: see compact_layer_mve.h. */
#include "compact_layer_mve.h"

#if defined(__ARM_FEATURE_MVE)

#pragma GCC diagnostic ignored "-Wunused-parameter" /* the assembly uses them */

/* The stack that the function uses, in bytes; object_files.py reads this symbol. The stack has nine registers, and q4 to
 * q6. */
__asm__(".set ar_stack_ar_unpack_channels_mve, 88");

/* Registers: r1: lanes   r2: channels   r3: words   r4: table   r5: the next four biases   r6: spare   r7: -spare
 *   r8: spare - 32   r9: dropped bits less the bits of a shift   r10: end of the record's shifts   r11: the channel
 *   r12: the first channel of the record   lr: the next four shifts
 *   q0: words   q1: entries of the table   q4: places of four neighboring channels in a record   q5: -shift_base
 *   q6: the bits of a shift */
__attribute__((naked)) void ar_unpack_channels_mve(const ar_compact_layer_mve *p, int32_t lanes,
                                                   int32_t weight_bytes)
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "vpush {d8-d13}\n"
        "ldrd r5, r3, [r0, #8]\n" /* scratch, weights */
        "adds r2, #3\n"
        "bic r2, #3\n"
        "add r3, r2\n"
        "adr r2, 7f\n"
        "cmp r1, #4\n"
        "it ne\n"
        "addne r2, #4\n"
        "vldrb.u32 q4, [r2]\n"
        "ldrh r2, [r0, #30]\n" /* out_c */
        "adds r4, r2, #3\n"
        "bic r4, #3\n"
        "add r4, r3, r4, lsl #2\n"
        "ldrb r6, [r0, #16]\n" /* spare, shift_base, dropped */
        "ldrb r7, [r0, #17]\n"
        "ldrb r8, [r0, #18]\n"
        "rsbs r7, r7, #0\n"
        "vdup.32 q5, r7\n"
        "cmp r6, #0\n" /* a multiplier has 30 bits below its leading one; an entry has 32 or 16 + spare bits */
        "ite eq\n"
        "moveq r9, #2\n"
        "subne r9, r6, #14\n"
        "add r9, r8\n"
        "movs r7, #1\n"
        "lsls r7, r7, r9\n"
        "subs r7, #1\n"
        "vdup.32 q6, r7\n"
        "sub r9, r8, r9\n"
        "sub r8, r6, #32\n"
        "rsbs r7, r6, #0\n"
        "mov r11, #0\n"
        "mov r12, #0\n"

        "1:\n" /* a record */
        "subs r0, r2, #4\n"
        "cmp r1, #4\n"
        "bne 2f\n"
        "cmp r11, r0\n"
        "it gt\n"
        "movgt r11, r0\n"
        "2:\n"
        "add lr, r5, r1, lsl #3\n"
        "add r10, lr, r1, lsr #2\n"
        "3:\n" /* four channels */
        "add r0, r3, r11, lsl #2\n"
        "vldrw.32 q0, [r0]\n"
        "add r0, r4, r11, lsl #1\n"
        "cbz r6, 4f\n"
        "vldrh.u32 q1, [r0]\n"
        "vmov q2, q0\n"
        "vshl.u32 q2, r8\n"
        "vshl.i32 q2, q2, #16\n"
        "vorr q1, q1, q2\n"
        "b 5f\n"
        "4:\n"
        "add r0, r0, r11, lsl #1\n"
        "vldrw.32 q1, [r0]\n"
        "5:\n"
        "vshl.u32 q0, r6\n"
        "vshl.s32 q0, r7\n"
        "vstrw.32 q0, [r5, q4, uxtw #2]\n"
        "vand q3, q1, q6\n"
        "veor q1, q1, q3\n"
        "vshl.u32 q1, r9\n"
        "vorr.i32 q1, #0x40000000\n"
        "add r0, r5, r1, lsl #2\n"
        "vstrw.32 q1, [r0, q4, uxtw #2]\n"
        "vsub.i32 q3, q5, q3\n"
        "vstrb.32 q3, [lr, q4]\n"
        "adds r5, #4\n"
        "add lr, #1\n"
        "add r11, #4\n"
        "cmp r11, r2\n"
        "it ge\n"
        "movge r11, #0\n"
        "cmp lr, r10\n"
        "bne 3b\n"
        "add r5, r5, r1, lsl #3\n"
        "add r12, r1\n"
        "cmp r12, r2\n"
        "blt 1b\n"
        "vpop {d8-d13}\n"
        "pop {r4-r11, pc}\n"
        ".align 2\n"
        "7:\n"
        ".byte 0, 1, 2, 3, 0, 8, 4, 12\n");
}

#else

void ar_unpack_channels_mve(const ar_compact_layer_mve *p, int32_t lanes, int32_t weight_bytes)
{
    /* The places of four neighboring channels in a record; those of the next four follow them. */
    static const uint8_t all_places[2][4] = {{0, 1, 2, 3}, {0, 8, 4, 12}};
    const uint8_t *places = all_places[lanes / 16];
    const int32_t channels = p->out_c, spare = p->spare, dropped = p->dropped;
    const uint32_t *words = p->weights + (weight_bytes + 3) / 4;
    const void *table = words + (channels + 3) / 4 * 4;
    /* A multiplier has 30 bits below its leading one. */
    const int32_t shift_bits = (spare != 0 ? 16 + spare : 32) - (30 - dropped);
    int32_t *record = (int32_t *)(void *)p->scratch;
    int32_t c = 0;
    for (int32_t first = 0; first < channels; first += lanes) {
        int8_t *shifts = (int8_t *)(record + 2 * lanes);
        if (lanes == 4 && first + 4 > channels) {
            c = channels - 4;
        }
        for (int32_t k = 0; k < lanes / 4; k++, shifts++, record++) {
            for (int32_t i = 0; i < 4; i++) {
                const uint32_t word = words[c + i];
                uint32_t bits;
                if (spare != 0) {
                    bits = ((const uint16_t *)table)[c + i] | word >> (32 - spare) << 16;
                } else {
                    bits = ((const uint32_t *)table)[c + i];
                }
                const uint32_t right = p->shift_base + (bits & ((1u << shift_bits) - 1u));
                record[places[i]] = (int32_t)(word << spare) >> spare;
                record[lanes + places[i]] = (int32_t)(bits >> shift_bits << dropped | 0x40000000u);
                shifts[places[i]] = (int8_t)-(int32_t)right;
            }
            c = c + 4 < channels ? c + 4 : 0;
        }
        record += 2 * lanes;
    }
}

#endif
