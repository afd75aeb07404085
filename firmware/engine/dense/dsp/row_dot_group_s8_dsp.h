/* The inner product of row_dot_s8_dsp.h in assembly, for the kernels that multiply a row of inputs with quads of int8
 * filters. A and B are the sums of the two channels of a pair, P is `products`:
 *  r0-r3: filter words                                   r8-r11: input words
 *  r4 and r5: 256 * A + B and B + P of the first pair    r6 and r7: 256 * A + B and B + P of the second pair
 *  r12: address of the next inputs                       lr: address of the next filter words
 */
#ifndef ARENITE_ROW_DOT_GROUP_S8_DSP_H
#define ARENITE_ROW_DOT_GROUP_S8_DSP_H

/* Multiplies the filter words `w0` and `w1` of a pair with the input words `x0` and `x1`. */
#define PAIR(w0, w1, x0, x1, both, b)                                                       \
    "smlad " both ", " w0 ", " x0 ", " both "\n smlad " both ", " w1 ", " x1 ", " both "\n" \
    "sxtab16 " w0 ", " x1 ", " w0 "\n sxtab16 " w1 ", " x0 ", " w1 "\n smlad " b ", " w0 ", " w1 ", " b "\n"
/* Multiplies four inputs with the filters of both pairs. */
#define FOUR(x0, x1) \
    "ldm lr!, {r0-r3}\n" PAIR("r0", "r2", x0, x1, "r4", "r5") PAIR("r1", "r3", x0, x1, "r6", "r7")
/* Multiplies a group of eight inputs. It has 23 instructions of 4 bytes, so the address at which the loop is entered
 * can be computed from the number of groups. */
#define GROUP "ldm r12!, {r8-r11}\n" FOUR("r8", "r9") FOUR("r10", "r11")

#endif
