/* Sigmoid and tanh in 16-bit fixed point, as gemmlowp defines them and LSTM cells use them.
 *
 * (LOGISTIC and TANH operators are defined by tables instead.) Qm.n: m integer bits, n fraction bits.
 */
#ifndef ARENITE_GATE_S16_H
#define ARENITE_GATE_S16_H

#include <stdint.h>

/* Returns 1 / (1 + exp(-x)), x in Q3.12, result in Q0.15. */
int16_t ar_sigmoid_s16(int16_t x);

/* Returns tanh(x), x with `integer_bits` integer bits (0 to 6), result in Q0.15. */
int16_t ar_tanh_s16(int16_t x, int integer_bits);

#endif
