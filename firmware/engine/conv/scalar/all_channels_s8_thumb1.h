/* The function all_channels of conv_2d_s8_scalar.c for Arm cores with few 32-bit instructions (Armv6-M and Armv8-M
 * Baseline): 34 instructions for 16 products, and about 170 for the four outputs of a channel. All channels of four
 * pixels are one piece of assembly, because between two channels GCC would move every register to the stack and back. */
#ifndef ARENITE_ALL_CHANNELS_S8_THUMB1_H
#define ARENITE_ALL_CHANNELS_S8_THUMB1_H

#include <stdint.h>

#include "affine_output_thumb1.h"
#include "conv_2d_scalar.h"

/* What the assembly reads and writes in memory. It uses the offsets of the members, so their order matters. */
struct ar_channels_work {
    const uint32_t *x;         /*  0: the packed windows */
    const uint32_t *start;     /*  4: the initial values of the short sums, which follow the windows */
    uint32_t both;             /*  8: the initial value of `both` */
    const uint8_t *runs;       /* 12: the next run */
    uint32_t extra;            /* 16: the number of bytes that are read after a channel's weights */
    uint32_t run;              /* 20: the present run */
    const int32_t *bias;       /* 24: of the next channel */
    const int32_t *multiplier; /* 28: of the next channel */
    int8_t *out;               /* 32: the output of the next channel for the first pixel */
    int32_t step[3];           /* 36: the distance to the next pixel, 0 if there is none */
    int32_t back;              /* 48: the distance from the last pixel to the next channel's first output */
    int32_t rounding;          /* 52: see ar_affine */
    int32_t shift;             /* 56: see ar_affine */
    const uint8_t *w;          /* 60: the weights of the next channel */
    int32_t channels;          /* 64: the number of channels that are left */
    int32_t two_sided;         /* 68: see ar_affine */
};

/* Adds the products of one tap to the short sums r4 and r5 of the two pixel pairs. `at` is the tap's index in the short
 * sum. */
#define TAP(at)                   \
    "ldmia r1!, {r2, r3}\n\t"     \
    "ldrb r7, [r0, #" #at "]\n\t" \
    "muls r2, r7\n\t"             \
    "adds r4, r4, r2\n\t"         \
    "muls r3, r7\n\t"             \
    "adds r5, r5, r3\n\t"

/* Adds the short sums to the totals: both in r8 and r9, high in r10 and r11. */
#define ADD_SUMS           \
    "add r8, r4\n\t"       \
    "asrs r4, r4, #16\n\t" \
    "add r10, r4\n\t"      \
    "add r9, r5\n\t"       \
    "asrs r5, r5, #16\n\t" \
    "add r11, r5\n\t"

/* Loads into r2 the sum of the first pixel of a pair, or of the second. */
#define FIRST_PIXEL(both, high) \
    "mov r2, " both "\n\t"      \
    "mov r3, " high "\n\t"      \
    "lsls r3, r3, #16\n\t"      \
    "subs r2, r2, r3\n\t"
#define SECOND_PIXEL(high) "mov r2, " high "\n\t"

/* Writes the outputs of the four pixels. r8 is free as soon as the first sum is in r2. */
#define OUTPUTS(correct)                                                                     \
    FIRST_PIXEL("r8", "r10")                                                                 \
    "mov r3, lr\n\t"                                                                         \
    "ldr r3, [r3, #52]\n\t"                                                                  \
    "mov r8, r3\n\t" AR_OUTPUT_THUMB1(correct) AR_NEXT_OUTPUT_THUMB1(36) SECOND_PIXEL("r10") \
        AR_OUTPUT_THUMB1(correct) AR_NEXT_OUTPUT_THUMB1(40) FIRST_PIXEL("r9", "r11")         \
            AR_OUTPUT_THUMB1(correct) AR_NEXT_OUTPUT_THUMB1(44) SECOND_PIXEL("r11")          \
                AR_OUTPUT_THUMB1(correct)

/* Computes all channels of `work`. In the loops over taps, r0 is the address of the weights, r1 that of the words x, r6
 * that of the initial values, r12 the end of the run, and lr the address of `work`. */
static __attribute__((noinline)) void ar_all_channels(struct ar_channels_work *work)
{
    register struct ar_channels_work *r0 __asm__("r0") = work;
    __asm__ volatile(
        ".syntax unified\n\t"
        "mov lr, r0\n"
        "1:\n\t" /* a channel */
        "mov r7, lr\n\t"
        "ldr r0, [r7, #60]\n\t"
        "ldr r1, [r7, #0]\n\t"
        "ldr r6, [r7, #4]\n\t"
        "ldr r2, [r7, #8]\n\t"
        "mov r8, r2\n\t"
        "mov r9, r2\n\t"
        "movs r2, #0\n\t"
        "mov r10, r2\n\t"
        "mov r11, r2\n"
        "2:\n\t" /* a run */
        "ldr r2, [r7, #12]\n\t"
        "ldrb r3, [r2]\n\t"
        "adds r2, #1\n\t"
        "str r2, [r7, #12]\n\t"
        "str r3, [r7, #20]\n\t"
        "lsls r2, r3, #27\n\t"
        "lsrs r2, r2, #22\n\t" /* 32 bytes of words for each quad */
        "beq 4f\n\t"
        "adds r2, r2, r1\n\t"
        "mov r12, r2\n"
        "3:\n\t" /* a quad */
        "ldmia r6!, {r4, r5}\n\t" TAP(0) TAP(1) TAP(2)
            TAP(3) "adds r0, #4\n\t" ADD_SUMS "cmp r1, r12\n\t"
                   "bne 3b\n\t"
                   "mov r7, lr\n\t"
                   "ldr r3, [r7, #20]\n"
                   "4:\n\t"
                   "lsrs r3, r3, #5\n\t"
                   "beq 6f\n\t"
                   "lsls r2, r3, #15\n\t" /* the initial 2^15 of the second sum of each quad */
                   "mov r4, r8\n\t"
                   "subs r4, r4, r2\n\t"
                   "mov r8, r4\n\t"
                   "mov r4, r9\n\t"
                   "subs r4, r4, r2\n\t"
                   "mov r9, r4\n\t"
                   "lsls r2, r3, #3\n\t"
                   "adds r6, r6, r2\n\t" /* short sums of two taps do not read these values */
                   "lsls r2, r3, #5\n\t"
                   "adds r2, r2, r1\n\t"
                   "mov r12, r2\n"
                   "5:\n\t" /* half a quad; its initial values are those of ar_start_of */
                   "ldmia r1!, {r2, r3, r4, r5}\n\t"
                   "subs r1, #16\n\t"
                   "adds r4, r4, r2\n\t"
                   "adds r5, r5, r3\n\t"
                   "lsls r4, r4, #7\n\t"
                   "lsls r5, r5, #7\n\t"
                   "movs r2, #128\n\t"
                   "lsls r2, r2, #8\n\t"
                   "subs r4, r2, r4\n\t"
                   "subs r5, r2, r5\n\t" TAP(0) TAP(
                       1) "adds r0, #2\n\t" ADD_SUMS "cmp r1, r12\n\t"
                          "bne 5b\n\t"
                          "mov r7, lr\n"
                          "6:\n\t"
                          "ldr r2, [r7, #4]\n\t"
                          "cmp r1, r2\n\t"
                          "bne 2b\n\t"
                          "ldr r2, [r7, #16]\n\t"
                          "subs r0, r0, r2\n\t"
                          "str r0, [r7, #60]\n\t"
                          "ldr r0, [r7, #56]\n\t"
                          "ldr r1, [r7, #32]\n\t"
                          "ldr r2, [r7, #28]\n\t"
                          "ldmia r2!, {r6}\n\t"
                          "str r2, [r7, #28]\n\t"
                          "ldr r2, [r7, #24]\n\t"
                          "ldmia r2!, {r3}\n\t"
                          "str r2, [r7, #24]\n\t"
                          "mov r12, r3\n\t"
                          "ldr r2, [r7, #68]\n\t"
                          "lsrs r7, r6, #16\n\t"
                          "uxth r6, r6\n\t"
                          "cmp r2, #0\n\t"
                          "beq 9f\n\t" /* a conditional branch does not reach the code behind the outputs */
                          "b 10f\n"
                          "9:\n\t" OUTPUTS("") "b 11f\n"
                                               "10:\n\t" OUTPUTS(AR_TWO_SIDED_THUMB1) "\n"
                                                                                      "11:\n\t"
                                                                                      "mov r7, lr\n\t"
                                                                                      "ldr r2, [r7, #48]\n\t"
                                                                                      "adds r1, r1, r2\n\t"
                                                                                      "str r1, [r7, #32]\n\t"
                                                                                      "ldr r2, [r7, #64]\n\t"
                                                                                      "subs r2, #1\n\t"
                                                                                      "str r2, [r7, #64]\n\t"
                                                                                      "beq 12f\n\t"
                                                                                      "b 1b\n"
                                                                                      "12:"
        : "+r"(r0)
        :
        : "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
}

/* Computes all channels of `pixels` neighboring pixels from their packed windows `x`, and writes them to `out`. */
static void all_channels(const ar_conv_2d_scalar_params *p, int32_t pixels, const uint32_t *x, int8_t *out)
{
    const uint32_t taps = (uint32_t)p->k_h * p->k_w * p->in_c;
    const uint32_t quads = (taps + 3) / 4;
    const int32_t out_c = p->out_c, shift = p->requant.shift;
    struct ar_channels_work work = {
        x,
        x + 4 * AR_PAIRS * quads,
        0u - (quads << 15),
        p->runs,
        4 * quads - taps,
        0,
        p->bias,
        p->multiplier,
        out,
        {pixels > 1 ? out_c : 0, pixels > 2 ? out_c : 0, pixels > 3 ? out_c : 0},
        1 - (pixels - 1) * out_c,
        (2 * p->requant.zero_point + 1) * (1 << (shift - 1)),
        shift,
        p->weights,
        out_c,
        p->requant.two_sided,
    };
    ar_all_channels(&work);
}

#undef TAP
#undef ADD_SUMS
#undef FIRST_PIXEL
#undef SECOND_PIXEL
#undef OUTPUTS

#endif
