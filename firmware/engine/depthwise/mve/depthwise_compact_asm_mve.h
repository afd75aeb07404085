/* Assembly that the kernels for small flash share. depthwise_asm_s8_mve.h has the rest and describes the registers; here,
 * the biases are before the scales. */
#ifndef ARENITE_DEPTHWISE_COMPACT_ASM_MVE_H
#define ARENITE_DEPTHWISE_COMPACT_ASM_MVE_H

#include "depthwise_asm_s8_mve.h"

#define START_RECORD           \
    "vldrw.32 q4, [r7], #16\n" \
    "vldrw.32 q5, [r7], #16\n" \
    "vldrw.32 q6, [r7], #16\n" \
    "vldrw.32 q7, [r7], #16\n"

#endif
