/* Sigmoid and tanh in 16-bit fixed point, as gemmlowp defines them and LSTM cells use them.
 *
 * (The operators LOGISTIC and TANH are defined by tables instead.) A number in Qm.n has m integer bits and n fraction
 * bits.
 */
#ifndef ARENITE_GATE_S16_H
#define ARENITE_GATE_S16_H

#include <stdint.h>

/* Returns 1 / (1 + exp(-x)) in Q0.15, for x in Q3.12. */
int16_t ar_sigmoid_s16(int16_t x);

/* Returns tanh(x) in Q0.15, for x with `integer_bits` (0 to 6) integer bits. */
int16_t ar_tanh_s16(int16_t x, int integer_bits);

#endif
