/* DEPTHWISE_CONV_2D with a 3x3 window for Arm cores with few 32-bit instructions (Armv6-M and Armv8-M Baseline): about
 * 230 instructions for the 27 products and three outputs of a channel. All channels of three outputs are one piece of
 * assembly, because GCC moves the sums and weights to the stack and back. See depthwise_conv_2d_s8_scalar.c. */
#ifndef ARENITE_DEPTHWISE_3X3_S8_THUMB1_H
#define ARENITE_DEPTHWISE_3X3_S8_THUMB1_H

#include <stdint.h>

#include "affine_output_thumb1.h"
#include "conv_2d_scalar.h"

/* What the assembly reads and writes in memory. It uses the offsets of the members, so their order matters. */
struct ar_depthwise_work {
    const uint8_t *x[3];       /*  0: the first input of the first channel, in each line */
    const int8_t *w;           /* 12: the weights of the next channel */
    uint32_t channel;          /* 16: the number of the present channel */
    uint32_t next;             /* 20: the distance between two columns */
    const int32_t *bias;       /* 24: of the next channel */
    const int32_t *multiplier; /* 28: of the next channel */
    int8_t *out;               /* 32: the last output of the next channel */
    int32_t step[2];           /* 36: the distance to the output before, 0 if the row has no such output */
    int32_t back;      /* 44: the distance from the first output to the last output of the next channel */
    int32_t rounding;  /* 48: see ar_affine */
    int32_t shift;     /* 52: see ar_affine */
    uint32_t channels; /* 56: the number of channels */
    int32_t two_sided; /* 60: see ar_affine */
};

/* Loads the three weights of a row of the window into r0 to r2, and the address of the row's input into r5. */
#define ROW(line)                  \
    "movs r0, #0\n\t"              \
    "ldrsb r0, [r6, r0]\n\t"       \
    "movs r1, #1\n\t"              \
    "ldrsb r1, [r6, r1]\n\t"       \
    "movs r2, #2\n\t"              \
    "ldrsb r2, [r6, r2]\n\t"       \
    "adds r6, #3\n\t"              \
    "ldr r5, [r7, #" #line "]\n\t" \
    "ldr r4, [r7, #16]\n\t"        \
    "adds r5, r5, r4\n\t"

#define LOAD "ldrb r3, [r5]\n\t" /* the input of a column */
#define COLUMN LOAD "add r5, r11\n\t"

/* Adds the product of the input and the weight w to a sum. LAST destroys the input. */
#define ADD(w, sum)      \
    "mov r4, r3\n\t"     \
    "muls r4, " w "\n\t" \
    "add " sum ", r4\n\t"
#define LAST(w, sum)     \
    "muls r3, " w "\n\t" \
    "add " sum ", r3\n\t"

/* Adds the products of a row to the sums r10, r9 and r8 of three neighboring outputs, at stride 1 and at stride 2. */
#define ROW_1(line)                                                                                          \
    ROW(line)                                                                                                \
    COLUMN LAST("r0", "r10") COLUMN ADD("r0", "r9") LAST("r1", "r10") COLUMN ADD("r0", "r8") ADD("r1", "r9") \
        LAST("r2", "r10") COLUMN ADD("r1", "r8") LAST("r2", "r9") LOAD LAST("r2", "r8")
#define ROW_2(line)                                                                             \
    ROW(line)                                                                                   \
    COLUMN LAST("r0", "r10") COLUMN LAST("r1", "r10") COLUMN ADD("r0", "r9") LAST("r2", "r10")  \
        COLUMN LAST("r1", "r9") COLUMN ADD("r0", "r8") LAST("r2", "r9") COLUMN LAST("r1", "r8") \
            LOAD LAST("r2", "r8")

/* Writes the three outputs, the last one first. An output that the row does not have is overwritten by the next one.
 * r8 is free as soon as the sum of the last output is in r2. */
#define OUTPUTS(correct)                                                     \
    "mov r2, r8\n\t"                                                         \
    "mov r3, lr\n\t"                                                         \
    "ldr r3, [r3, #48]\n\t"                                                  \
    "mov r8, r3\n\t" AR_OUTPUT_THUMB1(correct)                               \
        AR_NEXT_OUTPUT_THUMB1(36) "mov r2, r9\n\t" AR_OUTPUT_THUMB1(correct) \
            AR_NEXT_OUTPUT_THUMB1(40) "mov r2, r10\n\t" AR_OUTPUT_THUMB1(correct)

/* Computes all channels of `work`. `rows` is the code for the three rows of the window. In it, r6 is the address of
 * the weights, r7 and lr are the address of `work`, and r11 is the distance between two columns. */
#define CHANNELS(rows)                                                                                      \
    __asm__ volatile(".syntax unified\n\t"                                                                  \
                     "mov lr, r0\n\t"                                                                       \
                     "ldr r1, [r0, #20]\n\t"                                                                \
                     "mov r11, r1\n"                                                                        \
                     "1:\n\t" /* a channel */                                                               \
                     "mov r7, lr\n\t"                                                                       \
                     "ldr r6, [r7, #12]\n\t"                                                                \
                     "movs r0, #0\n\t"                                                                      \
                     "mov r8, r0\n\t"                                                                       \
                     "mov r9, r0\n\t"                                                                       \
                     "mov r10, r0\n\t" rows "str r6, [r7, #12]\n\t"                                         \
                     "ldr r0, [r7, #52]\n\t"                                                                \
                     "ldr r1, [r7, #32]\n\t"                                                                \
                     "ldr r2, [r7, #28]\n\t"                                                                \
                     "ldmia r2!, {r6}\n\t"                                                                  \
                     "str r2, [r7, #28]\n\t"                                                                \
                     "ldr r2, [r7, #24]\n\t"                                                                \
                     "ldmia r2!, {r3}\n\t"                                                                  \
                     "str r2, [r7, #24]\n\t"                                                                \
                     "mov r12, r3\n\t"                                                                      \
                     "ldr r2, [r7, #60]\n\t"                                                                \
                     "lsrs r7, r6, #16\n\t"                                                                 \
                     "uxth r6, r6\n\t"                                                                      \
                     "cmp r2, #0\n\t"                                                                       \
                     "beq 9f\n\t" OUTPUTS(AR_TWO_SIDED_THUMB1) "b 10f\n"                                    \
                                                               "9:\n\t" OUTPUTS("") "\n"                    \
                                                                                    "10:\n\t"               \
                                                                                    "mov r7, lr\n\t"        \
                                                                                    "ldr r2, [r7, #44]\n\t" \
                                                                                    "adds r1, r1, r2\n\t"   \
                                                                                    "str r1, [r7, #32]\n\t" \
                                                                                    "ldr r2, [r7, #16]\n\t" \
                                                                                    "adds r2, #1\n\t"       \
                                                                                    "str r2, [r7, #16]\n\t" \
                                                                                    "ldr r3, [r7, #56]\n\t" \
                                                                                    "cmp r2, r3\n\t"        \
                                                                                    "beq 11f\n\t"           \
                                                                                    "b 1b\n"                \
                                                                                    "11:"                   \
                     : "+r"(r0)                                                                             \
                     :                                                                                      \
                     : "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr",     \
                       "cc", "memory")

static __attribute__((noinline)) void ar_channels_stride_1(struct ar_depthwise_work *work)
{
    register struct ar_depthwise_work *r0 __asm__("r0") = work;
    CHANNELS(ROW_1(0) ROW_1(4) ROW_1(8));
}

static __attribute__((noinline)) void ar_channels_stride_2(struct ar_depthwise_work *work)
{
    register struct ar_depthwise_work *r0 __asm__("r0") = work;
    CHANNELS(ROW_2(0) ROW_2(4) ROW_2(8));
}

/* Computes an output row of a layer with stride 1 or 2 from its lines. */
static void ar_compute_row_3x3(const ar_conv_2d_scalar_params *p, const uint8_t *const *lines, int8_t *out)
{
    const int32_t channels = p->out_c, out_w = p->out_w, shift = p->requant.shift;
    const int32_t outputs = out_w < 3 ? out_w : 3;
    const uint32_t step = (uint32_t)p->stride_w * p->in_c;

    for (int32_t x = 0; x < out_w; x += 3) {
        /* The last three outputs may begin earlier and compute some outputs again. */
        const int32_t first = x > out_w - outputs ? out_w - outputs : x;
        const uint32_t at = (uint32_t)first * step;
        struct ar_depthwise_work work = {
            {lines[0] + at, lines[1] + at, lines[2] + at},
            (const int8_t *)p->weights,
            0,
            p->in_c,
            p->bias,
            p->multiplier,
            out + (first + outputs - 1) * channels,
            {outputs > 2 ? -channels : 0, outputs > 1 ? -channels : 0},
            (outputs - 1) * channels + 1,
            (2 * p->requant.zero_point + 1) * (1 << (shift - 1)),
            shift,
            (uint32_t)channels,
            p->requant.two_sided,
        };
        if (p->stride_w == 1) {
            ar_channels_stride_1(&work);
        } else {
            ar_channels_stride_2(&work);
        }
    }
}

#undef ROW
#undef LOAD
#undef COLUMN
#undef ADD
#undef LAST
#undef ROW_1
#undef ROW_2
#undef OUTPUTS
#undef CHANNELS

#endif
