/* The steps of an LSTM cell that the plain and the layer-normalised kernel share. */
#ifndef ARENITE_LSTM_CELL_H
#define ARENITE_LSTM_CELL_H

#include "lstm.h"

/* The sum of one gate for cell `c`, before normalisation and activation. */
int16_t ar_lstm_gate_sum(const ar_lstm_params *p, const ar_lstm_gate *gate, uint32_t c, const int8_t *input,
                         const int8_t *output_state, int16_t cell);

/* The new state of a cell. */
int16_t ar_lstm_update(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t forget,
                       int16_t modulation);

/* The hidden value of a cell: output gate times tanh(cell). */
int8_t ar_lstm_hidden(const ar_lstm_params *p, int16_t cell, int16_t input, int16_t output_gate);

/* From the hidden values of one step to output state and output. */
void ar_lstm_output(const ar_lstm_params *p, const int8_t *hidden, int8_t *output_state, int8_t *output);

#endif
