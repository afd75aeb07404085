/* UNIDIRECTIONAL_SEQUENCE_LSTM, int8 activations and weights, int16 cell state. */
#ifndef ARENITE_LSTM_H
#define ARENITE_LSTM_H

#include <stdint.h>

/* One gate: scaled sums of input and recurrent products, optionally of the cell state, optionally normalized over the
 * layer. The biases contain the zero points of input and output state. Sums are in Q3.12. */
typedef struct {
    const int8_t
        *input_weights; /* [cells][inputs]; 0 if this is an input gate that is computed as 1 - forget gate */
    const int8_t *recurrent_weights; /* [cells][outputs] */
    const int32_t *input_bias;       /* [cells] */
    const int32_t *recurrent_bias;   /* [cells] */
    const int16_t *peephole;         /* [cells]; 0 when absent */
    const int16_t *norm;             /* [cells] coefficients; `norm...` is only used by ar_lstm_norm_s8 */
    const int32_t *norm_bias;        /* [cells] */
    int32_t input_multiplier, recurrent_multiplier, peephole_multiplier, norm_multiplier;
    int32_t variance_guard; /* replaces a variance of 0 */
    int8_t input_shift, recurrent_shift, peephole_shift, norm_shift;
} ar_lstm_gate;

enum { AR_LSTM_INPUT, AR_LSTM_FORGET, AR_LSTM_CELL, AR_LSTM_OUTPUT };

typedef struct {
    const int8_t *input;
    int8_t *output;
    int8_t *output_state;           /* [batches][outputs] */
    int16_t *cell_state;            /* [batches][cells] */
    int8_t *hidden;                 /* [cells] scratch, only with a projection */
    int16_t *gates_scratch;         /* [3][cells], only for ar_lstm_norm_s8 */
    const int8_t *projection;       /* [outputs][cells]; 0 if absent, then outputs = cells */
    const int32_t *projection_bias; /* [outputs] */
    ar_lstm_gate gate[4];
    int32_t hidden_multiplier, projection_multiplier;
    uint32_t batch_step,
        time_step; /* distance between batches and between time steps, in rows of inputs or outputs */
    uint16_t batches, steps, inputs, cells, outputs;
    uint16_t peephole_cells; /* the peephole acts on this many cells */
    int16_t hidden_offset, output_zero_point;
    int16_t cell_clip;  /* 0: none */
    int8_t output_clip; /* 0: none; only for a projection */
    int8_t hidden_shift, projection_shift;
    int8_t cell_integer_bits; /* of the cell state, -15 to 16 */
    uint8_t has_tanh;         /* 0: the input gate is used in place of tanh(cell), see the generator */
} ar_lstm_params;

void ar_lstm_s8(const ar_lstm_params *p);
void ar_lstm_norm_s8(const ar_lstm_params *p);

#endif
