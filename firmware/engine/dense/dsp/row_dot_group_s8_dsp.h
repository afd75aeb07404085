/* The inner product of row_dot_s8_dsp.h in assembly, for the kernels that multiply a row of inputs with quads of int8
 * filters. A and B are the sums of the two channels of a pair, P is `products`:
 *  r0-r3: filter words                                   r8-r11: input words
 *  r4 and r5: 256 * A + B and B + P of the first pair    r6 and r7: 256 * A + B and B + P of the second pair
 *  r12: address of the next inputs                       lr: address of the next filter words
 */
#ifndef ARENITE_ROW_DOT_GROUP_S8_DSP_H
#define ARENITE_ROW_DOT_GROUP_S8_DSP_H

#define SMLAD(sum, w, x) "smlad " sum ", " w ", " x ", " sum "\n"
#define SXTAB16(w, x) "sxtab16 " w ", " x ", " w "\n"
/* Multiplies four inputs with the filters of both pairs. No instruction needs the result of the one before it, which comes
 * late on some cores. */
#define FOUR(x0, x1)                                                                                  \
    "ldm lr!, {r0-r3}\n" SMLAD("r4", "r0", x0) SMLAD("r6", "r1", x0) SMLAD("r4", "r2", x1)            \
        SMLAD("r6", "r3", x1) SXTAB16("r0", x1) SXTAB16("r1", x1) SXTAB16("r2", x0) SXTAB16("r3", x0) \
            SMLAD("r5", "r0", "r2") SMLAD("r7", "r1", "r3")
/* Multiplies a group of eight inputs. It has 23 instructions of 4 bytes, so the address at which the loop is entered
 * can be computed from the number of groups. */
#define GROUP "ldm r12!, {r8-r11}\n" FOUR("r8", "r9") FOUR("r10", "r11")

#endif
