/* The steps of an LSTM cell that the plain and the layer-normalized kernel share. */
#ifndef ARENITE_LSTM_CELL_H
#define ARENITE_LSTM_CELL_H

#include "lstm.h"

/* Returns the sum of one gate for cell `c`, before normalization and activation. */
int16_t ar_lstm_gate_sum(const ar_lstm_params *p, const ar_lstm_gate *gate, uint32_t c, const int8_t *input,
                         const int8_t *output_state, int16_t cell);

/* Returns the new state of a cell. */
int16_t ar_lstm_update(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t forget,
                       int16_t modulation);

/* Returns the hidden value of a cell: output gate times tanh(cell). */
int8_t ar_lstm_hidden(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t output_gate);

/* Computes output state and output from the hidden values of one step. */
void ar_lstm_output(const ar_lstm_params *p, const int8_t *hidden, int8_t *output_state, int8_t *output);

#endif
