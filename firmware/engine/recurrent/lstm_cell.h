/* The steps of an LSTM cell that the plain and the layer-normalized kernel share. */
#ifndef ARENITE_LSTM_CELL_H
#define ARENITE_LSTM_CELL_H

#include "lstm.h"

/* Returns the sum of one gate for cell number c, whose state is `cell`, before normalization and activation. */
int16_t ar_lstm_gate_sum(const ar_lstm_params *p, const ar_lstm_gate *gate, uint32_t c, const int8_t *input,
                         const int8_t *output_state, int16_t cell);

/* Returns the new state of a cell from its state `cell`, its input gate and its forget gate. `modulation` is the
 * tanh of the cell gate's sum. */
int16_t ar_lstm_update(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t forget,
                       int16_t modulation);

/* Returns the hidden value of a cell, which is the output gate times tanh(cell), or times the input gate if p->has_tanh
 * is 0. */
int8_t ar_lstm_hidden(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t output_gate);

/* Computes the output state and the output (the same values) from the hidden values of one time step. */
void ar_lstm_output(const ar_lstm_params *p, const int8_t *hidden, int8_t *output_state, int8_t *output);

#endif
