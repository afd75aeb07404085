/* UNIDIRECTIONAL_SEQUENCE_LSTM with int8 activations and weights, and an int16 cell state. */
#ifndef ARENITE_LSTM_H
#define ARENITE_LSTM_H

#include <stdint.h>

/* One gate. Its sum, in Q3.12, adds the scaled products of the input and its weights, of the output state and its
 * weights, and optionally of the cell state and its weights (the peephole). Optionally, the sums are then
 * normalized over the layer. The biases include the zero points of the input and of the output state. */
typedef struct {
    /* [cells][inputs]; 0 if this is an input gate that is computed as 1 - forget gate. */
    const int8_t *input_weights;
    const int8_t *recurrent_weights; /* [cells][outputs] */
    const int32_t *input_bias;       /* [cells] */
    const int32_t *recurrent_bias;   /* [cells] */
    const int16_t *peephole;         /* [cells]; 0 if there is no peephole */
    const int16_t *norm;      /* [cells] coefficients; only ar_lstm_norm_s8 uses the fields `norm...` */
    const int32_t *norm_bias; /* [cells] */
    int32_t input_multiplier, recurrent_multiplier, peephole_multiplier, norm_multiplier;
    int32_t variance_guard; /* used in place of a variance of 0 */
    int8_t input_shift, recurrent_shift, peephole_shift, norm_shift;
} ar_lstm_gate;

enum { AR_LSTM_INPUT, AR_LSTM_FORGET, AR_LSTM_CELL, AR_LSTM_OUTPUT };

typedef struct {
    const int8_t *input;            /* rows of `inputs` values, in the order of batch_step and time_step */
    int8_t *output;                 /* rows of `outputs` values in the same order */
    int8_t *output_state;           /* [batches][outputs] */
    int16_t *cell_state;            /* [batches][cells] */
    int8_t *hidden;                 /* [cells]: scratch, only with a projection */
    int16_t *gates_scratch;         /* [3][cells]: scratch, only for ar_lstm_norm_s8 */
    const int8_t *projection;       /* [outputs][cells]; 0: no projection, outputs = cells */
    const int32_t *projection_bias; /* [outputs] */
    ar_lstm_gate gate[4];
    int32_t hidden_multiplier, projection_multiplier;
    /* The distances from one batch to the next and from one time step to the next, in rows of inputs or outputs. */
    uint32_t batch_step, time_step;
    uint16_t batches, steps, inputs, cells, outputs;
    uint16_t peephole_cells;                  /* the peephole acts on the first `peephole_cells` cells */
    int16_t hidden_offset, output_zero_point; /* added to the scaled hidden values and projections */
    int16_t cell_clip;                        /* largest magnitude of the cell state; 0: no limit */
    int8_t output_clip; /* largest magnitude of the output, only with a projection; 0: no limit */
    int8_t hidden_shift, projection_shift;
    int8_t cell_integer_bits; /* integer bits of the cell state's fixed-point format, -15 to 16 */
    /* 0: the input gate is used in place of tanh(cell), as in LiteRT. firmware/generator/lower/recurrent/lstm.py
     * describes when. */
    uint8_t has_tanh;
} ar_lstm_params;

/* Compute all time steps of all batches: without and with layer normalization. */
void ar_lstm_s8(const ar_lstm_params *p);
void ar_lstm_norm_s8(const ar_lstm_params *p);

#endif
